// The parameters of a session, gathered from the configurations of its trials.

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "cache/sql_store.hpp"

namespace hone::cache {
namespace {

/// A parameter's values as texts, each once.
struct Seen {
  std::string name;
  std::vector<std::string> texts;
};

void gather(std::vector<Seen>& all, std::string_view configuration) {
  while (!configuration.empty()) {
    const std::string_view part = configuration.substr(0, configuration.find(','));
    configuration.remove_prefix(std::min(configuration.size(), part.size() + 1));
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view name = part.substr(0, equals), value = part.substr(std::min(equals + 1, part.size()));
    auto at = std::ranges::find(all, name, &Seen::name);
    at = at == all.end() ? all.insert(at, Seen{std::string(name), {}}) : at;
    if (std::ranges::find(at->texts, value) == at->texts.end()) {
      at->texts.emplace_back(value);
    }
  }
}

/// The value that is written so; nothing where it is a label.
std::optional<Value> read_value(const std::string& text) {
  if (text == "true" || text == "false") {
    return Value(text == "true");
  }
  const char* const end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto [at, status] = std::from_chars(text.data(), end, whole); status == std::errc() && at == end) {
    return Value(whole);
  }
  double real = 0.0;
  if (const auto [at, status] = std::from_chars(text.data(), end, real); status == std::errc() && at == end && Value(real).text() == text) {
    return Value(real);
  }
  return std::nullopt;
}

ParameterKind kind_of(const std::vector<Value>& values) {
  const auto all = [&](Value::Kind kind) { return std::ranges::all_of(values, [&](const Value& value) { return value.kind() == kind; }); };
  return all(Value::Kind::kBoolean)   ? ParameterKind::kBoolean
         : all(Value::Kind::kInteger) ? ParameterKind::kInteger
         : all(Value::Kind::kReal)    ? ParameterKind::kReal
                                      : ParameterKind::kEnumeration;
}

Parameter parameter_of(const Seen& seen) {
  Parameter parameter;
  parameter.name = seen.name;
  for (const std::string& text : seen.texts) {
    if (const std::optional<Value> value = read_value(text)) {
      parameter.values.push_back(*value);
    }
  }
  const bool labels = parameter.values.size() < seen.texts.size();
  parameter.kind = labels ? ParameterKind::kEnumeration : kind_of(parameter.values);
  if (parameter.kind == ParameterKind::kEnumeration) {
    parameter.labels = seen.texts;
    std::ranges::sort(parameter.labels);
    parameter.values.clear();
    for (std::size_t i = 0; i < parameter.labels.size(); ++i) {
      parameter.values.emplace_back(static_cast<std::int64_t>(i));
    }
  } else {
    std::ranges::sort(parameter.values, {}, [](const Value& value) {
      return value.kind() == Value::Kind::kBoolean ? (value.boolean() ? 1.0 : 0.0) : value.real();
    });
  }
  parameter.default_value = parameter.values.front();
  return parameter;
}

}  // namespace

Result<std::vector<Parameter>> SqlStore::parameters_of(std::int64_t session) {
  const std::lock_guard lock(mutex_);
  HONE_TRY(prepare_read());
  HONE_ASSIGN(Statement select,
              database().prepare("SELECT configuration FROM trial WHERE session = ? GROUP BY configuration ORDER BY min(id)"));
  select.integer(session);
  std::vector<Seen> seen;
  for (;;) {
    HONE_ASSIGN(const bool row, select.step("read the trials"));
    if (!row) {
      break;
    }
    gather(seen, select.read_text());
  }
  std::vector<Parameter> parameters;
  std::ranges::transform(seen, std::back_inserter(parameters), parameter_of);
  return parameters;
}

}  // namespace hone::cache
