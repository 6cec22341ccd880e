#include "engine/kernel/static_fields.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/digest.hpp"
#include "engine/kernel/against.hpp"

namespace hone {
namespace {

std::int64_t value_in(const Shape& shape, const ProblemField& field) {
  const auto given = std::ranges::find(shape, field.name, &Shape::value_type::first);
  return given == shape.end() ? field.default_value : given->second;
}

/// As C++, with as many line ends as what it takes the place of.
std::string written(const ProblemField& field, std::int64_t value) {
  std::string text = field.kind == FieldKind::kFlag ? (value != 0 ? "true" : "false") : fmt::format("{}L", value);
  if (field.kind == FieldKind::kEnumeration) {
    text = fmt::format("static_cast<decltype({})>({})", field.initializer->text, value);
  }
  return text + std::string(static_cast<std::size_t>(std::ranges::count(field.initializer->text, '\n')), '\n');
}

std::string values(const KernelSpec& spec, const Shape& shape) {
  std::string joined;
  for (const ProblemField& field : spec.problem) {
    joined += field.is_static() ? fmt::format(" {}={}", field.name, value_in(shape, field)) : "";
  }
  return joined;
}

}  // namespace

std::size_t find_initializer(std::string_view source, const Initializer& initializer) {
  std::size_t at = 0;
  for (int line = 1; line < initializer.line; ++line) {
    at = source.find('\n', at);
    if (at == std::string_view::npos) {
      return at;
    }
    ++at;
  }
  const bool sound = initializer.column >= 1 && !initializer.text.empty();
  at += static_cast<std::size_t>(std::max(0, initializer.column - 1));
  return sound && at < source.size() && source.substr(at).starts_with(initializer.text) ? at : std::string_view::npos;
}

std::string source_for(const KernelSpec& spec, const Shape& shape) {
  std::string source = spec.source;
  for (auto field = spec.problem.rbegin(); field != spec.problem.rend(); ++field) {  // the last first: places before it stay what they are
    if (!field->is_static()) {
      continue;
    }
    const std::size_t at = find_initializer(source, *field->initializer);
    if (at == std::string::npos) {
      throw ContractError(
          fmt::format("{}: the initializer of STATIC field '{}' is not at the position that the spec gives", spec.file, field->name));
    }
    source.replace(at, field->initializer->text.size(), written(*field, value_in(shape, *field)));
  }
  return source;
}

std::string code_hash(const KernelSpec& spec, const Problem& problem) {
  std::string fixed = values(spec, problem.shape);
  if (spec.judge != nullptr) {
    fixed += values(*spec.judge, judged_problem(*spec.judge, problem).shape);
  }
  return fixed.empty() ? spec.source_hash : digest(spec.source_hash + fixed);
}

bool same_code(const KernelSpec& spec, const Shape& a, const Shape& b) { return values(spec, a) == values(spec, b); }

bool is_compiled_in(const KernelSpec& spec, std::string_view field) {
  const auto has = [&](const KernelSpec& of) {
    return std::ranges::any_of(of.problem, [&](const ProblemField& one) { return one.is_static() && one.name == field; });
  };
  return has(spec) || (spec.judge != nullptr && has(*spec.judge));
}

}  // namespace hone
