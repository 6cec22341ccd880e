#pragma once
// Random spaces of many small parameters that conditions tie into few groups, and the list of configurations that a space must agree with.
// Conditions fit into tables of some bits and draw on few patterns of these, so that equal tables over parameters of unlike number meet.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/space/described.hpp"
#include "tests/space/oracle.hpp"
#include "tests/space/random_space.hpp"

namespace hone::test {

class TiedSpace {
 public:
  TiedSpace(std::uint64_t seed, std::size_t most_combinations) : random_(seed) {
    const std::size_t wanted = 3 + below(8);
    for (std::size_t combinations = 1; parameters.size() < wanted;) {
      parameters.push_back(parameter(parameters.size()));
      combinations *= parameters.back().values.size();
      if (combinations > most_combinations) {
        parameters.pop_back();
        break;
      }
    }
    for (std::size_t i = 0; i < 3; ++i) {
      patterns_[i] = random_() & 0xffff;
    }
    for (std::size_t i = 0; i + 1 < parameters.size(); ++i) {  // a chain; some of its links are missing
      if (below(8) != 0) {
        texts.push_back(condition(parameters[i], parameters[i + 1], parameters[(i + 2) % parameters.size()]));
      }
    }
    for (std::size_t i = below(4); i > 0; --i) {
      texts.push_back(below(3) == 0 ? wide_condition() : condition(any(), any(), any()));
    }
  }

  std::vector<Parameter> parameters;
  std::vector<std::string> texts;

 private:
  std::size_t below(std::size_t end) { return pick(random_, end); }
  const Parameter& any() { return parameters[below(parameters.size())]; }

  Parameter parameter(std::size_t number) {
    const auto last = static_cast<std::int64_t>(1 + below(4));
    const std::string name = fmt::format("x{}", number);
    Parameter made;
    switch (below(8)) {
      case 0:
        made = described(name, powers_of_two(std::int64_t{1} << last));
        break;
      case 1:
        made = described(name, counting(-2, last - 2));
        break;
      case 2:
        made = described(name, {3, 5, 7, 11, 12});
        made.values.resize(static_cast<std::size_t>(last) + 1);
        break;
      case 3:
        made = described(name, {0});
        made.kind = ParameterKind::kBoolean;
        made.values = {Value(false), Value(true)};
        break;
      case 4:
        made = described(name, counting(0, last));
        made.kind = ParameterKind::kEnumeration;
        for (std::size_t i = 0; i < made.values.size(); ++i) {
          made.labels.push_back(fmt::format("l{}", i));
        }
        break;
      default:
        made = described(name, counting(0, last));
    }
    return made;
  }

  /// Over a and b, sometimes c; any two of them may be the same.
  std::string condition(const Parameter& one, const Parameter& two, const Parameter& three) {
    const std::string &a = one.name, &b = two.name, &c = three.name;
    const std::size_t nb = two.values.size(), nc = three.values.size();
    const auto few = [this] { return static_cast<int>(below(7)) - 1; };
    switch (below(18)) {
      case 0:
      case 1:
      case 2:  // the same bits whatever the shapes
        return fmt::format("({} >> (({} * {} + {}) & 15)) & 1 == 1", patterns_[below(3)] | 1, a, nb, b);
      case 3:
        return fmt::format("{} * {} + {} != {}", a, nb, b, below(8));
      case 4:
        return fmt::format("({} * {} + {}) * {} + {} != {}", a, nb, b, nc, c, below(3));
      case 5:
        return fmt::format("({} * {} + {}) % {} != {}", a, 1 + below(4), b, 2 + below(4), below(3));
      case 6:
        return fmt::format("({} * {} * {}) % {} == {}", a, b, c, 2 + below(3), below(2));
      case 7:
        return fmt::format("{} + {} + {} <= {}", a, b, c, 2 + below(12));
      case 8:
        return fmt::format("{} <= {} * {} <= {}", few(), a, b, 2 + below(30));
      case 9:
        return fmt::format("{} {} {}", a, std::vector{"<=", "!=", "<", ">="}[below(4)], b);
      case 10:
        return fmt::format("{} != {} or {} >= {}", a, few(), b, few());
      case 11:
        return fmt::format("not ({} == {} and {} == {})", a, few(), b, few());
      case 12:
        return fmt::format("({} > {}) {} ({} > {})", a, few(), below(2) == 0 ? "!=" : "==", b, few());
      case 13:
        return fmt::format("{} % {} == 0", a, b);
      case 14:
        return fmt::format("{} // {} <= {} or {} == 0", a, b, few(), c);
      case 15:
        return fmt::format("abs({} - {}) <= {}", a, b, 1 + below(3));
      case 16:
        return one.labels.empty() ? fmt::format("min({}, {}) != {}", a, b, few())
                                  : fmt::format("{} == 'l{}' or {} < {}", a, below(one.values.size()), b, few() + 2);
      default:
        return fmt::format("({} if {} > {} else {}) != {}", a, b, few(), c, few());
    }
  }

  /// Over many parameters: what is open for long and needs slots.
  std::string wide_condition() {
    const bool sum = below(2) == 0;
    std::string all;
    for (const Parameter& parameter : parameters) {
      if (below(3) != 0) {
        all += all.empty() ? "" : sum ? " + " : " * ";
        all += sum && below(2) == 0 ? fmt::format("{} * {}", 1 + below(9), parameter.name) : parameter.name;
      }
    }
    all = all.empty() ? "1" : all;
    switch (below(4)) {
      case 0:
        return fmt::format("({}) % {} != {}", all, 2 + below(6), below(2));
      case 1:
        return fmt::format("{} <= {} <= {}", static_cast<int>(below(6)) - 3, all, 5 + below(60));
      case 2:
        return fmt::format("({}) * {} != {} or {} > {}", all, any().name, below(9), any().name, below(3));
      default:
        return fmt::format("{} >= {} - {} % {}", all, any().name, any().name, any().name);
    }
  }

  std::mt19937_64 random_;
  std::uint64_t patterns_[3] = {};
};

/// The valid ones among all combinations, in lexicographic order. `known`: the values of names that are fixed.
inline std::vector<Digits> enumerate(const std::vector<Parameter>& parameters, const std::vector<Constraint>& constraints,
                                     const Bindings& known) {
  Oracle meets_all(parameters, constraints, known);
  std::vector<Digits> valid;
  Digits digits(parameters.size(), 0);
  for (bool more = true; more;) {
    if (meets_all(digits)) {
      valid.push_back(digits);
    }
    more = false;
    for (std::size_t p = digits.size(); p-- > 0 && !more;) {
      digits[p] = static_cast<std::uint16_t>((digits[p] + 1U) % parameters[p].values.size());
      more = digits[p] != 0;
    }
  }
  return valid;
}

}  // namespace hone::test
