// Where a rule would like to know more.
#include "engine/tune/wanted_shapes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

#include "engine/tune/range_knowledge.hpp"
#include "engine/tune/scratch_store.hpp"
#include "tests/tune/copy_kernel.hpp"

namespace hone {
namespace {

constexpr std::int64_t kGeneration = 3;

/// A range of test::copy_kernel() with what was measured of it.
class Known {
 public:
  explicit Known(const char* range, std::size_t most_members = Portfolio::kUsualMembers) : request_(requested(range, most_members)) {}

  void measure(std::int64_t n, std::int64_t wide, double us) {
    Trial trial;
    trial.configuration = {{Value(wide), Value(32)}};
    trial.outcome = Outcome::kOk;
    trial.final_round = true;
    trial.measurement.median_us = us;
    REQUIRE(knowledge_.note({{"n", n}}, spec_, {trial}).ok());
  }
  WantedShapes wanted() {
    static_cast<void>(knowledge_.finish());
    REQUIRE(knowledge_.rule() != nullptr);
    return wanted_shapes(request_, knowledge_, kGeneration);
  }

 private:
  PortfolioRequest requested(const char* range, std::size_t most_members) const {
    PortfolioRequest request;
    request.operation = &operation_;
    request.range = parse_range(spec_, range).value();
    request.dtypes = DType::kF32;
    request.most_members = most_members;
    return request;
  }

  KernelSpec spec_ = test::copy_kernel();
  Operation operation_{spec_.name, {&spec_}, &spec_};
  PortfolioRequest request_;
  ScratchStore scratch_ = ScratchStore::create().value();
  RangeKnowledge knowledge_{request_, scratch_.store()};
};

}  // namespace

TEST_CASE("where no member is legal a shape is unserved, and wants tuning without being named") {
  Known known("n=61..64");
  known.measure(64, 4, 10.0);
  const WantedShapes wanted = known.wanted();
  CHECK(wanted.unserved > 0.4);  // 61, 62 and 63
  CHECK(wanted.unserved < 0.9);
  CHECK(wanted.wants_tuning == wanted.unserved);
  CHECK(wanted.named.empty());
}

TEST_CASE("what was measured is not wanted, however slow the members are there") {
  Known known("n=61..64", 1);
  for (std::int64_t n = 61; n <= 64; ++n) {
    known.measure(n, 1, 10.0);
  }
  known.measure(62, 2, 5.0);
  const WantedShapes wanted = known.wanted();
  CHECK(wanted.unserved == 0.0);
  CHECK(wanted.wants_tuning == 0.0);
  CHECK(wanted.named.empty());
}

TEST_CASE("a handful of the shapes of which a rule knows least are named, the most wanted first and each once") {
  Known known("n=1..65536");
  for (const std::int64_t n : {4, 8, 16, 32}) {
    known.measure(n, 1, n % 16 == 0 ? 10.0 : 14.0);
    known.measure(n, 4, n % 16 == 0 ? 14.0 : 10.0);
  }
  const WantedShapes wanted = known.wanted();
  CHECK(wanted.wants_tuning > 0.1);
  CHECK(wanted.unserved == 0.0);
  REQUIRE(wanted.named.size() == 5);
  std::set<std::int64_t> named;
  for (const WantedShape& one : wanted.named) {
    named.insert(one.shape.front().second);
    CHECK(one.prediction.wants_tuning());
    CHECK(one.prediction.generation == kGeneration);
  }
  CHECK(named.size() == 5);
  const auto need = [](const WantedShape& one) { return one.prediction.slowdown * (1.0 + one.prediction.doubt); };
  CHECK(std::ranges::is_sorted(wanted.named, std::ranges::greater(), need));
}

}  // namespace hone
