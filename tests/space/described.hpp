#pragma once
// Spaces as their authors write them.

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/space/search_space.hpp"
#include "engine/space/space_description.hpp"

namespace hone::test {

inline Parameter described(const std::string& name, const std::vector<std::int64_t>& values) {
  Parameter parameter;
  parameter.name = name;
  parameter.values.assign(values.begin(), values.end());
  parameter.default_value = parameter.values.front();
  return parameter;
}

inline std::vector<std::int64_t> counting(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = first; value <= last; ++value) {
    values.push_back(value);
  }
  return values;
}

inline std::vector<std::int64_t> powers_of_two(std::int64_t last) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = 1; value <= last; value *= 2) {
    values.push_back(value);
  }
  return values;
}

/// Constraints in the spelling of parse_condition; their lines count from 1.
inline std::vector<Constraint> conditions(const std::vector<Parameter>& parameters, const std::vector<std::string>& texts) {
  std::vector<Constraint> constraints;
  for (const std::string& text : texts) {
    Result<Expression> condition = parse_condition(text, parameters);
    REQUIRE_MESSAGE(condition.ok(), (condition.ok() ? "" : condition.error().message));
    constraints.push_back({std::move(*condition), text, static_cast<int>(constraints.size()) + 1});
  }
  return constraints;
}

inline SearchSpace build(const std::vector<Parameter>& parameters, const std::vector<std::string>& constraints) {
  auto space = SearchSpace::build(parameters, conditions(parameters, constraints), {});
  REQUIRE_MESSAGE(space.ok(), (space.ok() ? "" : space.error().message));
  return std::move(*space);
}

}  // namespace hone::test
