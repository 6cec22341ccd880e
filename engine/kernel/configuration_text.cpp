#include "engine/kernel/configuration_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>

#include "engine/base/names.hpp"

namespace hone {

std::string text(const Parameter& parameter, const Value& value) {
  const auto at = std::find(parameter.values.begin(), parameter.values.end(), value);
  if (!parameter.labels.empty() && at != parameter.values.end()) {
    return parameter.labels.at(static_cast<std::size_t>(at - parameter.values.begin()));
  }
  return value.text();
}

namespace {

std::vector<std::string> value_texts(const Parameter& parameter) {
  std::vector<std::string> texts;
  for (const Value& value : parameter.values) {
    texts.push_back(text(parameter, value));
  }
  return texts;
}

}  // namespace

Result<Value> parse_value(const Parameter& parameter, std::string_view text) {
  // A lookup reads dozens of configurations: whole numbers are compared as numbers.
  std::int64_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = status == std::errc() && end == text.data() + text.size();
  for (const Value& value : parameter.values) {
    const bool may_be = !parameter.labels.empty() || value.kind() != Value::Kind::kInteger || (is_number && value.integer() == number);
    if (may_be && hone::text(parameter, value) == text) {
      return value;
    }
  }
  return Error{ErrorCode::kInvalidArgument, unknown_name("value of " + parameter.name, text, value_texts(parameter))};
}

Configuration default_configuration(const std::vector<Parameter>& parameters) {
  Configuration configuration;
  for (const Parameter& parameter : parameters) {
    configuration.values.push_back(parameter.default_value);
  }
  return configuration;
}

Configuration default_configuration(const KernelSpec& spec) { return default_configuration(spec.parameters); }

std::string text(const std::vector<Parameter>& parameters, const Configuration& configuration) {
  std::string joined;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    joined += fmt::format("{}{}={}", i == 0 ? "" : ",", parameters[i].name, text(parameters[i], configuration.values.at(i)));
  }
  return joined;
}

Result<Configuration> parse_configuration(const std::vector<Parameter>& parameters, std::string_view text) {
  Configuration configuration = default_configuration(parameters);
  std::vector<bool> given(parameters.size(), false);
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("configuration: '{}' is not of the form name=value", part)};
    }
    const auto at = std::ranges::find(parameters, part.substr(0, equals), &Parameter::name);
    if (at == parameters.end()) {
      std::vector<std::string> names;
      std::ranges::transform(parameters, std::back_inserter(names), &Parameter::name);
      return Error{ErrorCode::kInvalidArgument, "configuration: " + unknown_name("parameter", part.substr(0, equals), names)};
    }
    const auto i = static_cast<std::size_t>(at - parameters.begin());
    if (given[i]) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("configuration: parameter '{}' is given twice", parameters[i].name)};
    }
    given[i] = true;
    const Result<Value> value = parse_value(parameters[i], part.substr(equals + 1));
    if (!value) {
      return Error{ErrorCode::kInvalidArgument, "configuration: " + value.error().message};
    }
    configuration.values[i] = *value;
  }
  return configuration;
}

Bindings bindings(const std::vector<Parameter>& parameters, const Configuration& configuration) {
  Bindings bound;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    bound.emplace("c." + parameters[i].name, configuration.values.at(i));
  }
  return bound;
}

std::string cpp_text(const std::vector<Parameter>& parameters, const Configuration& configuration) {
  std::string joined = "Config{";
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Value& value = configuration.values.at(i);
    joined += i == 0 ? "" : ", ";
    // A cast keeps narrowing out of the braces, and makes an enumerator of its number.
    joined += parameters[i].cpp_type == "int" || parameters[i].cpp_type == "bool"
                  ? value.text()
                  : fmt::format("({})({})", parameters[i].cpp_type, value.text());
  }
  return joined + "}";
}

}  // namespace hone
