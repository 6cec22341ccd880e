#include "engine/space/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "engine/base/names.hpp"
#include "engine/space/search_space.hpp"

namespace hone::space {

Error invalid_space(std::string message) { return {ErrorCode::kInvalidArgument, "search space: " + std::move(message)}; }

namespace {

/// A digit of a position has 16 bits; the engine recurses over the parameters.
constexpr std::size_t kMostValues = std::size_t{1} << 16, kMostParameters = 1000;

Result<void> check_parameter(const Parameter& parameter) {
  if (parameter.values.empty() || parameter.values.size() > kMostValues) {
    return invalid_space(
        fmt::format("parameter '{}' has {} values; give it 1 to {}", parameter.name, parameter.values.size(), kMostValues));
  }
  std::set<std::string> texts;
  for (const Value& value : parameter.values) {
    const Value plain = value.kind() == Value::Kind::kReal ? Value(value.real() + 0.0) : value;  // -0.0 equals 0.0
    if (!texts.insert(plain.text()).second) {
      return invalid_space(fmt::format("parameter '{}' lists the value {} twice", parameter.name, value.text()));
    }
  }
  return {};
}

}  // namespace

Result<void> check_parameters(const std::vector<Parameter>& parameters) {
  if (parameters.size() > kMostParameters) {
    return invalid_space(fmt::format("{} parameters; at most {} are possible", parameters.size(), kMostParameters));
  }
  std::set<std::string> names;
  Count cartesian = 1;
  for (const Parameter& parameter : parameters) {
    HONE_TRY(check_parameter(parameter));
    if (!names.insert(parameter.name).second) {
      return invalid_space(fmt::format("parameter '{}' is declared twice", parameter.name));
    }
    if (cartesian > (~Count{0} >> 1) / parameter.values.size()) {
      return invalid_space(fmt::format("more than 2^127 combinations with parameter '{}'; list fewer values", parameter.name));
    }
    cartesian *= parameter.values.size();
  }
  return {};
}

Result<void> check_names(const std::vector<Parameter>& parameters, const std::vector<Constraint>& constraints, const Bindings& fixed) {
  std::vector<std::string> known;
  for (const Parameter& parameter : parameters) {
    known.push_back("c." + parameter.name);
  }
  for (const auto& [name, value] : fixed) {
    known.push_back(name);
  }
  for (const Constraint& constraint : constraints) {
    for (const std::string& name : constraint.condition.variables()) {
      if (std::ranges::find(known, name) == known.end()) {
        return Error{ErrorCode::kBadKernel,
                     fmt::format("line {}: constraint '{}': {}", constraint.line, constraint.text, unknown_name("name", name, known))};
      }
    }
  }
  return {};
}

}  // namespace hone::space
