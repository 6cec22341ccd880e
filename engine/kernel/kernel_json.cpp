// Reads KernelSpec from JSON text: what the build embeds and what crosses a process boundary.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "engine/base/json_depth.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/expression_table.hpp"
#include "engine/kernel/kernel_fields.hpp"
#include "engine/kernel/kernel_spec.hpp"
#include "engine/kernel/static_fields.hpp"

namespace hone {
namespace {

using kernel_fields::visit;
using Json = nlohmann::ordered_json;  // as all of hone::runtime: a second kind of JSON is 40 kB of code

/// Thrown inside this file only: nlohmann's own errors are exceptions too, so one catch turns both into an Error.
struct BadSpec {
  std::string why;
};

struct Reader;
template <class T>
concept Readable = requires(T& value, Reader& reader) {
  visit(value, reader);
};
/// Lists that are read item by item, which texts need not be.
template <class T>
constexpr bool kIsList = false;
template <class T>
constexpr bool kIsList<std::vector<T>> = true;
template <>
constexpr bool kIsList<std::vector<std::string>> = false;
template <class T>
constexpr bool kIsArray = false;
template <std::size_t N>
constexpr bool kIsArray<std::array<Expression, N>> = true;

constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();

/// "@7" is the seventh of the shared ones.
Expression read_expression(const Json& j, const ExpressionTable& shared) {
  const auto& written = j.get_ref<const std::string&>();
  auto parsed = written.starts_with('@') ? shared.find(written) : Expression::parse(written);
  if (!parsed) {
    throw BadSpec{parsed.error().message};
  }
  return *parsed;
}

Value read_value(const Json& j) {
  const Expression expression = read_expression(j, {});
  if (!expression.is_constant()) {
    throw BadSpec{fmt::format("'{}' is not a value", expression.text())};
  }
  return expression.node().value;
}

DTypes read_dtypes(const Json& j) {
  auto parsed = parse_dtypes(j.get_ref<const std::string&>());
  if (!parsed) {
    throw BadSpec{parsed.error().message};
  }
  return *parsed;
}

template <class Number>
Number read_whole(const Json& j) {
  const bool is_whole = j.is_number_integer() && !(j.is_number_unsigned() && j.get<std::uint64_t>() > kLargest);
  const std::int64_t value = is_whole ? j.get<std::int64_t>() : 0;
  if (!is_whole || value != static_cast<Number>(value)) {
    throw BadSpec{fmt::format("{} is not a whole number of {} bits", j.is_number() ? j.dump() : j.type_name(), 8 * sizeof(Number))};
  }
  return static_cast<Number>(value);
}

template <class E>
E read_enum(const Json& j, E last) {
  const int value = read_whole<int>(j);
  if (value < 0 || value > static_cast<int>(last)) {
    throw BadSpec{fmt::format("{} names no enumerator", value)};
  }
  return static_cast<E>(value);
}

constexpr ParameterKind last(ParameterKind /*of*/) { return ParameterKind::kReal; }
constexpr FieldKind last(FieldKind /*of*/) { return FieldKind::kEnumeration; }
constexpr Direction last(Direction /*of*/) { return Direction::kScalar; }

template <class T>
void check(const T& /*taken*/) {}

/// What the engine takes for granted of a parameter.
void check(const Parameter& p) {
  const bool finite = std::ranges::all_of(p.values, [](const Value& value) { return std::isfinite(value.real()); });
  if (p.values.empty() || !finite || !std::isfinite(p.default_value.real())) {
    throw BadSpec{fmt::format("the values of parameter '{}' are not a list of finite numbers", p.name)};
  }
  if (!p.labels.empty() && p.labels.size() != p.values.size()) {
    throw BadSpec{fmt::format("parameter '{}' has {} values and {} labels", p.name, p.values.size(), p.labels.size())};
  }
}

void check(const ProblemField& f) {
  constexpr int kLargestStruct = 4096;
  const bool known_width = f.width == 1 || f.width == 2 || f.width == 4 || f.width == 8;
  if (!known_width || f.offset < -1 || f.offset > kLargestStruct) {
    throw BadSpec{fmt::format("field {} of the Problem cannot lie at {} with {} bytes", f.name, f.offset, f.width)};
  }
}

void check(const Argument& a) {
  if (a.capacity && a.direction != Direction::kIn) {
    throw BadSpec{fmt::format("argument {} is in constant memory and no input", a.name)};
  }
}

template <class T>
void take(const Json& from, T& value, const ExpressionTable& shared);

struct Reader {
  const Json& object;
  const ExpressionTable& shared;
  template <class T>
  void operator()(const char* key, T& value) {
    take(object.at(key), value, shared);
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& value) {
    if (object.contains(key)) {
      take(object.at(key), value.emplace(), shared);
    }
  }
  template <class T>
  void unless_empty(const char* key, T& value) {
    if (object.contains(key)) {
      take(object.at(key), value, shared);
    }
  }
  [[nodiscard]] bool has(const char* key) const { return object.contains(key); }
};

template <class T>
void take(const Json& from, T& value, const ExpressionTable& shared) {
  if constexpr (std::same_as<T, Value>) {
    value = read_value(from);
  } else if constexpr (std::same_as<T, Expression>) {
    value = read_expression(from, shared);
  } else if constexpr (std::same_as<T, DTypes>) {
    value = read_dtypes(from);
  } else if constexpr (std::is_enum_v<T>) {
    value = read_enum(from, last(T{}));
  } else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    value = read_whole<T>(from);
  } else if constexpr (kIsList<T>) {
    for (const Json& item : from) {
      take(item, value.emplace_back(), shared);
    }
  } else if constexpr (kIsArray<T>) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      take(from.at(i), value[i], shared);
    }
  } else if constexpr (Readable<T>) {
    visit(value, Reader{from, shared});
    check(value);
  } else {
    from.get_to(value);
  }
}

/// What is compiled has another text there, so it must be where the source says so.
void check_static_fields(const KernelSpec& spec) {
  for (const ProblemField& field : spec.problem) {
    if (field.is_static() && find_initializer(spec.source, *field.initializer) == std::string::npos) {
      throw BadSpec{fmt::format("the source has no initializer of static field {} in line {}", field.name, field.initializer->line)};
    }
  }
}

using ProblemValues = std::vector<std::pair<std::string, std::int64_t>>;

ProblemValues read_shape(const Json& j, const std::vector<ProblemField>& fields) {
  if (!j.is_array() || j.size() != fields.size()) {
    throw BadSpec{"a shape has one value for each field of the problem"};
  }
  ProblemValues shape;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    shape.emplace_back(fields[i].name, read_whole<std::int64_t>(j.at(i)));
  }
  return shape;
}

void read_element(const Json& j, const std::vector<std::string>& type_names, Argument& a) {
  const auto& element = j.get_ref<const std::string&>();
  const auto named = std::ranges::find(type_names, element);
  a.element_is_t = type_names.empty() ? element == "T" : named != type_names.end();
  a.type_parameter = a.element_is_t ? static_cast<std::size_t>(named - type_names.begin()) : 0;
  if (!a.element_is_t) {
    const DTypes dtypes = read_dtypes(j);
    if (dtypes.several()) {
      throw BadSpec{fmt::format("'{}' is not an element", element)};
    }
    a.dtype = dtypes.first();
  }
}

/// Indices come from outside; a damaged one must not become an access out of bounds.
void check_indices(const std::vector<int>& indices, int lowest, std::size_t arguments) {
  for (const int index : indices) {
    if (index < lowest || index >= static_cast<int>(arguments)) {
      throw BadSpec{fmt::format("there is no argument {}", index)};
    }
  }
}

void check_tensor_maps(const Pass& pass, std::size_t arguments) {
  const auto used = std::count(pass.arguments.begin(), pass.arguments.end(), kTensorMapParameter);
  if (used != static_cast<std::ptrdiff_t>(pass.tensor_maps.size())) {
    throw BadSpec{fmt::format("{} takes {} tensor maps and describes {}", pass.function, used, pass.tensor_maps.size())};
  }
  for (const TensorMapping& map : pass.tensor_maps) {
    check_indices({map.argument}, 0, arguments);
  }
}

/// Each combination has one for each type parameter, under its name.
void check_dtypes(const KernelSpec& spec) {
  for (const DTypes& dtypes : spec.dtypes) {
    std::vector<std::string> names;
    for (const NamedDType& one : dtypes.all()) {
      names.push_back(one.name);
    }
    if (names != (spec.type_names.empty() ? std::vector<std::string>{""} : spec.type_names)) {
      throw BadSpec{fmt::format("the dtypes {} are not those of its type parameters", name(dtypes))};
    }
  }
}

/// What one part of a spec says of another.
void check_spec(const KernelSpec& spec) {
  const std::size_t count = spec.arguments.size();
  check_dtypes(spec);
  for (const Generator& generator : spec.generators) {
    check_indices({generator.target}, 0, count);
    check_indices(generator.arguments, kRandomParameter, count);
  }
  for (const Acceptance& acceptance : spec.acceptances) {
    check_indices(acceptance.arguments, kProblemParameter, 2 * count + 2);
  }
  for (const ReferencePass& pass : spec.reference) {
    std::vector<int> arguments = pass.arguments;
    if (std::erase(arguments, kConfigParameter) > 0 && spec.judge) {
      throw BadSpec{"a judge's reference takes no configuration"};
    }
    check_indices(arguments, kProblemParameter, spec.judge ? spec.judge->arguments.size() : count);
    check_indices(pass.fields, 0, spec.parameters.size());
  }
  for (const Pass& pass : spec.passes) {
    check_indices(pass.arguments, kRunIndexParameter, count);
    for (const Alternation& alternation : pass.alternations) {
      check_indices({alternation.first, alternation.result, alternation.spare}, 0, count);
    }
    check_tensor_maps(pass, count);
  }
}

/// The texts behind the JSON of an embedded spec, which says how long they are: its expressions, its source, and its includes in their
/// order.
class Texts {
 public:
  Texts(const Json& lengths, std::string_view texts) : lengths_(lengths), rest_(texts) {}
  std::string_view next() {
    const std::string_view text = rest_.substr(0, lengths_.at(next_++).get<std::size_t>());
    rest_.remove_prefix(text.size());
    return text;
  }

 private:
  const Json& lengths_;
  std::string_view rest_;
  std::size_t next_ = 0;
};

KernelSpec finish_spec(const Json& j, KernelSpec spec);

KernelSpec read_spec(const Json& j) {
  KernelSpec spec;
  take(j, spec, ExpressionTable());
  spec = finish_spec(j, std::move(spec));
  check_static_fields(spec);
  return spec;
}

KernelSpec read_embedded(const Json& j, std::string_view behind) {
  Texts texts(j.at("texts"), behind);
  const Result<ExpressionTable> shared = ExpressionTable::parse(texts.next());
  if (!shared) {
    throw BadSpec{shared.error().message};
  }
  KernelSpec spec;
  take(j, spec, *shared);
  spec.source = texts.next();
  for (auto& [name, text] : spec.includes) {
    text = texts.next();
  }
  spec = finish_spec(j, std::move(spec));
  if (!spec.source.empty()) {  // what only launches has none
    check_static_fields(spec);
  }
  return spec;
}

/// What has no field of its own in the JSON, and what the parts say of each other.
KernelSpec finish_spec(const Json& j, KernelSpec spec) {
  for (std::size_t i = 0; i < spec.arguments.size(); ++i) {
    read_element(j.at("arguments").at(i).at("element"), spec.type_names, spec.arguments[i]);
  }
  if (j.contains("judge")) {
    spec.judge = std::make_shared<const KernelSpec>(read_spec(j.at("judge")));
  }
  for (const Json& shape : j.contains("shapes") ? j.at("shapes") : Json::array()) {
    spec.shapes.push_back(read_shape(shape, spec.problem));
  }
  check_spec(spec);
  return spec;
}

}  // namespace

KernelSpec parse_embedded(std::string_view text) {
  std::size_t bytes = 0;
  const char* const end = std::from_chars(text.data(), text.data() + text.size(), bytes).ptr;
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()) + 1);
  try {
    return read_embedded(Json::parse(rest.substr(0, bytes)), rest.substr(bytes));
  } catch (const Json::exception& e) {
    throw ContractError(fmt::format("an embedded kernel is damaged: {}", e.what()));
  } catch (const BadSpec& e) {
    throw ContractError(fmt::format("an embedded kernel is damaged: {}", e.why));
  }
}

Result<KernelSpec> parse_kernel_spec(std::string_view text) {
  const auto bad = [](std::string_view why) { return Error{ErrorCode::kInvalidArgument, fmt::format("not a kernel spec: {}", why)}; };
  if (json_depth(text) > kDeepestJson) {
    return bad(fmt::format("it is nested more deeply than {} levels", kDeepestJson));
  }
  try {
    return read_spec(Json::parse(text));
  } catch (const Json::exception& e) {
    return bad(e.what());
  } catch (const BadSpec& e) {
    return bad(e.why);
  }
}

}  // namespace hone
