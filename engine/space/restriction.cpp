#include "engine/space/restriction.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/names.hpp"

namespace hone {
namespace {

Error bad(std::string_view what) { return {ErrorCode::kInvalidArgument, fmt::format("fixed parameters: {}", what)}; }

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string> names_of(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  std::ranges::transform(parameters, std::back_inserter(names), &Parameter::name);
  return names;
}

/// Keeps the values that are allowed, and moves the default to one of them.
Result<void> narrow(Parameter& parameter, const std::vector<std::string>& allowed) {
  std::vector<bool> kept(parameter.values.size(), false);
  for (const std::string& one : allowed) {
    const Result<Value> value = parse_value(parameter, one);
    if (!value) {
      return bad(value.error().message);
    }
    kept[static_cast<std::size_t>(std::ranges::find(parameter.values, *value) - parameter.values.begin())] = true;
  }
  const auto standard = std::ranges::find(parameter.values, parameter.default_value) - parameter.values.begin();
  Parameter narrow = parameter;
  narrow.values.clear();
  narrow.labels.clear();
  std::ptrdiff_t nearest = std::ssize(parameter.values) + 1;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) {
      continue;
    }
    narrow.values.push_back(parameter.values[i]);
    if (!parameter.labels.empty()) {
      narrow.labels.push_back(parameter.labels[i]);
    }
    if (const std::ptrdiff_t steps = std::abs(static_cast<std::ptrdiff_t>(i) - standard); steps < nearest) {
      nearest = steps;
      narrow.default_value = parameter.values[i];
    }
  }
  if (narrow.values.empty()) {
    return bad(fmt::format("'{}' is left without a value", parameter.name));
  }
  parameter = std::move(narrow);
  return {};
}

}  // namespace

Result<Restriction> parse_restriction(std::string_view text) {
  Restriction restriction;
  for (const std::string& part : text.empty() ? std::vector<std::string>() : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size()) {
      return bad(fmt::format("'{}' is not of the form name=value; join several values of a parameter by |: name=value|value", part));
    }
    const std::string name = part.substr(0, equals);
    if (!restriction.emplace(name, split(part.substr(equals + 1), '|')).second) {
      return bad(fmt::format("parameter '{0}' is given twice; join its values by |: {0}=value|value", name));
    }
  }
  return restriction;
}

Result<std::string> text(const std::vector<Parameter>& parameters, const Restriction& restriction) {
  HONE_ASSIGN(const std::vector<Parameter> narrow, narrowed(parameters, restriction));
  std::string joined;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (narrow[i].values.size() == parameters[i].values.size()) {
      continue;
    }
    std::vector<std::string> values;
    std::ranges::transform(narrow[i].values, std::back_inserter(values), [&](const Value& value) { return text(narrow[i], value); });
    joined += fmt::format("{}{}={}", joined.empty() ? "" : ",", narrow[i].name, fmt::join(values, "|"));
  }
  return joined;
}

Result<std::vector<Parameter>> narrowed(std::vector<Parameter> parameters, const Restriction& restriction) {
  for (const auto& [name, allowed] : restriction) {
    const auto parameter = std::ranges::find(parameters, name, &Parameter::name);
    if (parameter == parameters.end()) {
      return bad(unknown_name("parameter", name, names_of(parameters)));
    }
    HONE_TRY(narrow(*parameter, allowed));
  }
  return parameters;
}

Result<SearchSpace> narrowed(const SearchSpace& space, const Restriction& restriction) {
  HONE_ASSIGN(std::vector<Parameter> parameters, narrowed(space.parameters(), restriction));
  std::vector<std::vector<std::uint16_t>> rows;
  for (Count i = 0; i < space.size(); ++i) {
    const Configuration configuration = space.at(i);
    std::vector<std::uint16_t> row;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      const std::vector<Value>& values = parameters[p].values;
      const auto at = std::ranges::find(values, configuration.values[p]);
      if (at == values.end()) {
        break;
      }
      row.push_back(static_cast<std::uint16_t>(at - values.begin()));
    }
    if (row.size() == parameters.size()) {
      rows.push_back(std::move(row));
    }
  }
  if (rows.empty()) {
    return Error{ErrorCode::kEmptySpace, "no configuration is valid: the recorded space has none"};
  }
  return SearchSpace::from_rows(std::move(parameters), rows);
}

}  // namespace hone
