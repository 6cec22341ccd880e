// Constraints of the kinds found in kernels, against trying every combination. HONE_LONG_TESTS=1: up to 10^7 combinations each.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "tests/space/described.hpp"
#include "tests/space/long_tests.hpp"
#include "tests/space/oracle.hpp"

namespace {

using namespace hone;
using namespace hone::test;

constexpr std::uint64_t kRealSpaces = 60;

class Kernel {
 public:
  Kernel(std::uint64_t seed, std::size_t combinations) : random_(seed) {
    static const std::vector<std::vector<std::int64_t>> lists{
        powers_of_two(1024), powers_of_two(32),    counting(1, 10),       counting(0, 4), {0, 1},
        {16, 32, 64, 128},   {32, 40, 48, 56, 64}, {1, 2, 3, 4, 6, 8, 12}};
    for (std::size_t size = 1; parameters.size() < 12;) {
      const auto& values = lists[pick(lists.size())];
      if (size * values.size() > combinations) {
        break;
      }
      size *= values.size();
      parameters.push_back(described(fmt::format("x{}", parameters.size()), values));
    }
    for (std::size_t i = 2 + pick(4); i > 0; --i) {
      texts.push_back(constraint());
    }
  }

  std::vector<Parameter> parameters;
  std::vector<std::string> texts;

 private:
  std::size_t pick(std::size_t below) { return static_cast<std::size_t>(random_() % below); }
  std::string any() { return parameters[pick(parameters.size())].name; }

  std::string constraint() {
    const std::string a = any(), b = any(), c = any(), d = any(), e = any();
    switch (pick(10)) {
      case 0:
        return fmt::format("{} * {} <= {}", a, b, 1 << pick(11));
      case 1:
        return fmt::format("{} <= {} * {} <= {}", 1 << pick(5), a, b, 1 << (5 + pick(6)));
      case 2:
        return fmt::format("{} % ({} * {}) == 0", a, b, c);
      case 3:
        return fmt::format("({} * {} + {} * 2) * ({} * {} + {} * 2) * 4 <= {}", a, b, e, c, d, e, 1 << (6 + pick(10)));
      case 4:
        return fmt::format("{} == 0 || {} % {} == 0", a, b, a);
      case 5:
        return fmt::format("not ({} == {} and {} > {})", a, b, c, pick(8));
      case 6:
        return fmt::format("({} * {} + {}) % {} == {}", a, b, c, 2 + pick(6), pick(2));
      case 7:
        return fmt::format("{} % (({} * {}) / {}) == 0", a, b, c, d);
      case 8:
        return fmt::format("min({}, {}) * {} < {} + {}", a, b, c, d, 1 << pick(7));
      default:
        return fmt::format("{} - {} * {} != {} if {} > 1 else {} <= {}", a, b, c, d, e, a, b);
    }
  }

  std::mt19937_64 random_;
};

/// Calls visit(digits, valid) for every combination, in order.
template <class Visit>
void try_all(const Kernel& kernel, const std::vector<Constraint>& constraints, const Visit& visit) {
  Oracle meets_all(kernel.parameters, constraints);
  Digits digits(kernel.parameters.size(), 0);
  for (bool more = true; more;) {
    visit(digits, meets_all(digits));
    more = false;
    for (std::size_t p = digits.size(); p-- > 0 && !more;) {
      digits[p] = static_cast<std::uint16_t>((digits[p] + 1U) % kernel.parameters[p].values.size());
      more = digits[p] != 0;
    }
  }
}

void check(std::uint64_t seed, std::size_t combinations) {
  const Kernel kernel(seed, combinations);
  const std::vector<Constraint> constraints = conditions(kernel.parameters, kernel.texts);
  const auto space = SearchSpace::build(kernel.parameters, constraints, {});
  const bool empty = !space.ok() && space.error().code == ErrorCode::kEmptySpace;
  REQUIRE_MESSAGE((space.ok() || empty), (space.ok() ? "" : space.error().message));
  std::uint64_t valid = 0, wrong = 0;
  Digits back(kernel.parameters.size());
  try_all(kernel, constraints, [&](const Digits& digits, bool is_valid) {
    const auto position = empty ? std::nullopt : space->index(digits);
    wrong += position.has_value() != is_valid ? 1 : 0;
    if (is_valid && position) {
      space->digits(*position, back);
      wrong += back == digits ? 0 : 1;
    }
    valid += is_valid ? 1 : 0;
  });
  CHECK(wrong == 0);
  CHECK((empty ? 0 : static_cast<std::uint64_t>(space->size())) == valid);
}

}  // namespace

TEST_CASE("Spaces under constraints of real kinds hold exactly what trying every combination finds") {
  for (std::uint64_t seed = 0; seed < kRealSpaces; ++seed) {
    CAPTURE(seed);
    check(seed, long_tests() ? 10'000'000 : 5'000);
  }
}
