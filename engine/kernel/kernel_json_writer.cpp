// Writes KernelSpec as JSON text; kernel_json.cpp reads it.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <concepts>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/expression_table.hpp"
#include "engine/kernel/kernel_fields.hpp"
#include "engine/kernel/kernel_spec.hpp"

namespace hone {
namespace {

using kernel_fields::visit;
using nlohmann::json;

struct Writer;
template <class T>
concept Writable = requires(const T& value, Writer& writer) {
  visit(value, writer);
};
template <class T>
constexpr bool kIsWrittenList = false;
template <class T>
constexpr bool kIsWrittenList<std::vector<T>> = true;
template <std::size_t N>
constexpr bool kIsWrittenList<std::array<Expression, N>> = true;

/// `shared`: where expressions go that are not written out; null: each is.
template <class T>
json to_json(const T& value, ExpressionTable* shared);

struct Writer {
  json& object;
  ExpressionTable* shared;
  template <class T>
  void operator()(const char* key, const T& value) {
    object[key] = to_json(value, shared);
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value) {
    if (value) {
      object[key] = to_json(*value, shared);
    }
  }
  template <class T>
  void unless_empty(const char* key, const T& value) {
    if (!value.empty()) {
      object[key] = to_json(value, shared);
    }
  }
  static bool has(const char* /*key*/) { return true; }
};

template <class T>
json to_json(const T& value, ExpressionTable* shared) {
  if constexpr (std::same_as<T, Value>) {
    return Expression::constant(value).serialize();
  } else if constexpr (std::same_as<T, Expression>) {
    return shared == nullptr ? value.serialize() : fmt::format("@{}", shared->add(value));
  } else if constexpr (std::same_as<T, DTypes>) {
    return name(value);
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<int>(value);
  } else if constexpr (kIsWrittenList<T>) {
    json items = json::array();
    for (const auto& item : value) {
      items.push_back(to_json(item, shared));
    }
    return items;
  } else if constexpr (Writable<T>) {
    json object = json::object();
    visit(value, Writer{object, shared});
    return object;
  } else {
    return value;
  }
}

std::string type_name(const KernelSpec& spec, std::size_t parameter) {
  return spec.type_names.empty() ? "T" : spec.type_names.at(parameter);
}

json spec_to_json(const KernelSpec& spec, ExpressionTable* shared) {
  json j = to_json(spec, shared);
  for (std::size_t i = 0; i < spec.arguments.size(); ++i) {
    const Argument& argument = spec.arguments[i];
    j["arguments"][i]["element"] =
        argument.element_is_t ? type_name(spec, argument.type_parameter) : std::string(hone::name(argument.dtype));
  }
  for (const auto& shape : spec.shapes) {
    json& values = j["shapes"].emplace_back(json::array());
    for (const auto& [field, value] : shape) {
      values.push_back(value);
    }
  }
  if (spec.judge != nullptr) {
    j["judge"] = json::parse(spec.judge->serialize());
  }
  return j;
}

/// A source may hold bytes that are not UTF-8 (a comment in Latin-1); they are replaced rather than refused.
std::string json_dump(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace

std::string element_name(const KernelSpec& spec, const Argument& argument) {
  const std::string element = argument.element_is_t ? type_name(spec, argument.type_parameter) : std::string(name(argument.dtype));
  return argument.lanes == 1 ? element : fmt::format("{} x {}", element, argument.lanes);
}

std::string KernelSpec::serialize() const { return json_dump(spec_to_json(*this, nullptr)); }

std::vector<std::string> embed(const KernelSpec& spec) {
  KernelSpec rest = spec;
  std::vector<std::string> texts{std::exchange(rest.source, "")};
  for (auto& [name, text] : rest.includes) {
    texts.push_back(std::exchange(text, ""));
  }
  ExpressionTable shared;
  json j = spec_to_json(rest, &shared);
  const std::string table = shared.text();
  j["texts"].push_back(table.size());
  for (const std::string& text : texts) {
    j["texts"].push_back(text.size());
  }
  const std::string head = json_dump(j);
  texts.insert(texts.begin(), fmt::format("{}\n{}{}", head.size(), head, table));
  return texts;
}

}  // namespace hone
