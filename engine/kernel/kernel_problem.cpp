#include "engine/kernel/kernel_problem.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <functional>
#include <limits>
#include <span>

#include "engine/base/names.hpp"
#include "engine/kernel/static_fields.hpp"

namespace hone {
namespace {

std::vector<std::string> field_names(const KernelSpec& spec) {
  std::vector<std::string> names;
  for (const ProblemField& field : spec.problem) {
    names.push_back(field.name);
  }
  return names;
}

void add_sizes(const DTypes& dtypes, Bindings& bound) {
  for (const auto& [parameter, dtype] : dtypes.all()) {
    bound.emplace(parameter.empty() ? "sizeof(T)" : fmt::format("sizeof({})", parameter), static_cast<std::int64_t>(size_of(dtype)));
  }
}

/// The arrays that the caller passes, and their elements. One whose extent does not depend on the problem alone is left out.
void for_each_array(const KernelSpec& spec, const Bindings& bound, const std::function<void(const Argument&, double)>& use) {
  for (const Argument& argument : spec.arguments) {
    if (argument.direction == Direction::kScalar || argument.direction == Direction::kWorkspace) {
      continue;
    }
    if (const Result<Value> elements = argument.extent.evaluate(bound)) {
      use(argument, elements->real());
    }
  }
}

}  // namespace

double largest_argument(const KernelSpec& spec, const Problem& problem) {
  Bindings bound;  // of doubles, so that nothing overflows: make_problem() asks before it accepts a shape
  for (const auto& [extent, value] : problem.shape) {
    bound.emplace("p." + extent, static_cast<double>(value));
  }
  add_sizes(problem.dtype, bound);
  double largest = 0.0;
  for_each_array(spec, bound, [&](const Argument& /*argument*/, double elements) { largest = std::max(largest, elements); });
  return largest;
}

double argument_bytes(const KernelSpec& spec, const Problem& problem) {
  double bytes = 0.0;
  for_each_array(spec, bindings(problem), [&](const Argument& argument, double elements) {
    bytes += elements * static_cast<double>(size_of(argument.element(problem.dtype)));
  });
  return bytes;
}

namespace {

std::vector<std::string> dtype_names(std::span<const DTypes> all) {
  std::vector<std::string> names;
  for (const DTypes& one : all) {
    names.push_back(name(one));
  }
  return names;
}

Result<void> check_dtype(const KernelSpec& spec, const DTypes& dtypes) {
  if (std::find(spec.dtypes.begin(), spec.dtypes.end(), dtypes) != spec.dtypes.end()) {
    return {};
  }
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("kernel {}: {}", spec.name, unknown_name("dtype", name(dtypes), dtype_names(spec.dtypes)))};
}

/// Whether a combination is one that the given dtypes mean: by name, or a single one for every type parameter that may be it.
bool fits(const KernelSpec& spec, const DTypes& combination, const DTypes& given) {
  const auto may_be = [&](std::size_t parameter, DType dtype) {
    return std::ranges::any_of(spec.dtypes, [&](const DTypes& other) { return other[parameter] == dtype; });
  };
  const auto all = combination.all();
  for (const NamedDType& wanted : given.all()) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool meant = wanted.name.empty() ? may_be(i, wanted.dtype) : all[i].name == wanted.name;
      if (meant && all[i].dtype != wanted.dtype) {
        return false;
      }
    }
  }
  return true;
}

/// The combination that a single dtype without a name means for a kernel of several; what is given, where it does not mean just one.
DTypes spelled_out(const KernelSpec& spec, const DTypes& given) {
  if (given.all().size() > 1 || !given.all().front().name.empty()) {
    return given;
  }
  const DTypes* meant = nullptr;
  for (const DTypes& combination : spec.dtypes) {
    const bool has_it =
        std::ranges::any_of(combination.all(), [&](const NamedDType& one) { return one.dtype == given.all().front().dtype; });
    if (has_it && fits(spec, combination, given)) {
      if (meant != nullptr) {
        return given;
      }
      meant = &combination;
    }
  }
  return meant == nullptr ? given : *meant;
}

/// The names of type parameters that are given must be the kernel's, and each dtype one that it may have.
Result<void> check_given(const KernelSpec& spec, const DTypes& given) {
  for (const auto& [parameter, dtype] : given.all()) {
    const auto named = std::ranges::find(spec.type_names, parameter);
    if (!parameter.empty() && named == spec.type_names.end()) {
      return Error{ErrorCode::kInvalidArgument,
                   spec.type_names.empty()
                       ? fmt::format("kernel {} has one dtype, without a name: --dtype {}", spec.name, name(dtype))
                       : fmt::format("kernel {}: {}", spec.name, unknown_name("type parameter", parameter, spec.type_names))};
    }
    std::vector<DType> meant;
    for (const DTypes& combination : spec.dtypes) {
      for (const NamedDType& one : combination.all()) {
        if ((parameter.empty() || one.name == parameter) && std::ranges::find(meant, one.dtype) == meant.end()) {
          meant.push_back(one.dtype);
        }
      }
    }
    if (std::ranges::find(meant, dtype) == meant.end()) {
      std::vector<std::string> known;
      for (const DType one : meant) {
        known.emplace_back(name(one));
      }
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("kernel {}: {}", spec.name,
                               unknown_name(parameter.empty() ? "dtype" : fmt::format("dtype of {}", parameter), name(dtype), known))};
    }
  }
  return {};
}

}  // namespace

Result<Shape> parse_shape(std::string_view text) {
  Shape shape;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    std::int64_t value = 0;
    const std::string_view digits = equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (status == std::errc::result_out_of_range) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("shape: '{}' is too large: an extent is at most {}", part, std::numeric_limits<std::int64_t>::max())};
    }
    if (equals == 0 || digits.empty() || status != std::errc() || end != digits.data() + digits.size()) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("shape: '{}' is not of the form name=number, e.g. rows=512,cols=2048", part)};
    }
    shape.emplace_back(part.substr(0, equals), value);
  }
  return shape;
}

std::string text(const Shape& shape) {
  std::string joined;
  for (const auto& [extent, value] : shape) {
    joined += fmt::format("{}{}={}", joined.empty() ? "" : ",", extent, value);
  }
  return joined;
}

std::string why_not(const ProblemField& field, std::int64_t value) {
  switch (field.kind) {
    case FieldKind::kFlag:
      return value == 0 || value == 1 ? "" : "a flag is true or false (1 or 0)";
    case FieldKind::kEnumeration: {
      std::vector<std::string> known;
      for (const auto& [label, number] : field.labels) {
        if (number == value) {
          return "";
        }
        known.push_back(fmt::format("{} ({})", label, number));
      }
      return fmt::format("it is one of {}", fmt::join(known, ", "));
    }
    case FieldKind::kExtent:
      break;
  }
  if (value < field.least) {
    return fmt::format("an extent is at least {}", field.least);
  }
  return field.most && value > *field.most ? fmt::format("it is at most {}", *field.most) : "";
}

Result<std::int64_t> constant_elements(const KernelSpec& spec, const Argument& argument, const Problem& problem) {
  const Bindings bound = bindings(problem);
  HONE_ASSIGN(const Value elements, argument.extent.evaluate(bound));
  HONE_ASSIGN(const Value capacity, argument.capacity->evaluate(bound));
  if (elements.integer() > capacity.integer()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{}: CONSTANT '{}' has {} elements ({}), and its array holds {}", spec.file,
                                                          argument.name, elements.integer(), argument.extent.text(), capacity.integer())};
  }
  return elements.integer();
}

Result<void> check_constants(const KernelSpec& spec, const Problem& problem) {
  for (const Argument& argument : spec.arguments) {
    if (argument.capacity) {
      HONE_TRY(constant_elements(spec, argument, problem));
    }
  }
  return {};
}

std::vector<std::int64_t> packed(const KernelSpec& spec, const Problem& problem) {
  std::vector<std::int64_t> words(problem.shape.empty() ? 0 : 1, 0);  // a struct without members has a byte
  for (std::size_t i = 0; i < problem.shape.size(); ++i) {
    const ProblemField* const field = i < spec.problem.size() ? &spec.problem[i] : nullptr;
    if (field != nullptr && field->is_static()) {
      continue;
    }
    const std::size_t at = field != nullptr && field->offset >= 0 ? static_cast<std::size_t>(field->offset) : 8 * i;
    const std::size_t width = field != nullptr ? static_cast<std::size_t>(field->width) : 8;
    words.resize(std::max(words.size(), (at + width + 7) / 8), 0);
    std::memcpy(reinterpret_cast<std::byte*>(words.data()) + at, &problem.shape[i].second, width);  // the low bytes come first
  }
  return words;
}

Result<Shape> parse_shape(const KernelSpec& spec, std::string_view text) {
  std::string made;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::string_view extent = part.substr(0, part.find('='));
    std::string value(part.substr(std::min(extent.size() + 1, part.size())));
    const auto field = std::ranges::find(spec.problem, extent, &ProblemField::name);
    const bool is_word = !value.empty() && (std::isalpha(static_cast<unsigned char>(value.front())) != 0 || value.front() == '_');
    if (field != spec.problem.end() && is_word) {
      if (field->kind == FieldKind::kFlag && (value == "true" || value == "false")) {
        value = value == "true" ? "1" : "0";
      } else if (const auto label = std::ranges::find(field->labels, value, &std::pair<std::string, std::int64_t>::first);
                 label != field->labels.end()) {
        value = fmt::format("{}", label->second);
      } else if (field->kind != FieldKind::kExtent) {
        return Error{ErrorCode::kInvalidArgument,
                     fmt::format("shape: {} is '{}'; {}", extent, value, why_not(*field, std::numeric_limits<std::int64_t>::min()))};
      }
    }
    made += fmt::format("{}{}{}{}", made.empty() ? "" : ",", extent, extent.size() == part.size() ? "" : "=", value);
  }
  return parse_shape(made);
}

Result<DTypes> choose_dtypes(const KernelSpec& spec, std::string_view text) {
  std::vector<DTypes> fitting = spec.dtypes;
  if (!text.empty()) {
    if (text.find('=') == std::string_view::npos) {  // the error of a misspelt one says which the kernel has
      std::vector<DType> meant;
      for (const DTypes& combination : spec.dtypes) {
        for (const NamedDType& one : combination.all()) {
          meant.push_back(one.dtype);
        }
      }
      HONE_TRY(parse_dtype(text, meant));
    }
    HONE_ASSIGN(const DTypes given, parse_dtypes(text));
    HONE_TRY(check_given(spec, given));
    std::erase_if(fitting, [&](const DTypes& combination) { return !fits(spec, combination, given); });
  }
  if (fitting.size() == 1) {
    return fitting.front();
  }
  const std::vector<std::string> known = dtype_names(fitting.empty() ? spec.dtypes : fitting);
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("kernel {}: {} {}", spec.name,
                           text.empty() ? "which dtype? Give --dtype" : fmt::format("'{}' matches several dtypes; give --dtype", text),
                           fmt::join(known, " or "))};
}

Result<Problem> make_problem(const KernelSpec& spec, const DTypes& given_dtype, const Shape& shape) {
  const DTypes dtype = spelled_out(spec, given_dtype);
  HONE_TRY(check_dtype(spec, dtype));
  const std::vector<std::string> names = field_names(spec);
  Problem problem{dtype, {}};
  for (const ProblemField& field : spec.problem) {
    problem.shape.emplace_back(field.name, field.default_value);
  }
  std::vector<bool> given(names.size(), false);
  for (const auto& [extent, value] : shape) {
    const auto at = std::find(names.begin(), names.end(), extent);
    if (at == names.end()) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("kernel {}: {}", spec.name, unknown_name("shape name", extent, names))};
    }
    const auto i = static_cast<std::size_t>(at - names.begin());
    if (given[i]) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("kernel {}: shape name '{}' is given twice", spec.name, extent)};
    }
    if (const std::string why = why_not(spec.problem[i], value); !why.empty()) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("kernel {}: {} is {}; {}", spec.name, extent, value, why)};
    }
    given[i] = true;
    problem.shape[i].second = value;
  }
  constexpr double kMostElements = 1e15;
  if (largest_argument(spec, problem) > kMostElements) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("kernel {}: shape {} makes an argument of more than 1e15 elements", spec.name, text(problem.shape))};
  }
  HONE_TRY(check_constants(spec, problem));
  return problem;
}

Bindings bindings(const Problem& problem) {
  Bindings bound;
  for (const auto& [extent, value] : problem.shape) {
    bound.emplace("p." + extent, value);
  }
  add_sizes(problem.dtype, bound);
  return bound;
}

bool is_refuted(const KernelSpec& spec, const Bindings& bound) {
  return std::ranges::any_of(spec.constraints, [&](const Constraint& constraint) {
    const Result<Value> met = constraint.condition.evaluate(bound);
    return met && !met->boolean();
  });
}

std::string refusal(const KernelSpec& spec, const Problem& problem) {
  const Bindings bound = bindings(problem);
  for (const Constraint& constraint : spec.constraints) {
    const std::vector<std::string> variables = constraint.condition.variables();
    const bool of_extents = std::ranges::all_of(variables, [&](const std::string& variable) { return bound.contains(variable); });
    const Result<Value> holds = of_extents ? constraint.condition.evaluate(bound) : Result<Value>(Value(true));
    if (!holds || !holds->boolean()) {
      return constraint.text;
    }
  }
  return "";
}

}  // namespace hone
