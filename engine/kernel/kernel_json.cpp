// KernelSpec as JSON text: what the build embeds and what crosses a process boundary.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/base/json_depth.hpp"
#include "engine/kernel/kernel_spec.hpp"
#include "engine/kernel/static_fields.hpp"

namespace hone {
namespace {

using nlohmann::json;

/// Thrown inside this file only: nlohmann's own errors are exceptions too, so one catch turns both into an Error.
struct BadSpec {
  std::string why;
};

// ---- to JSON

json to_json(const Value& value) { return Expression::constant(value).serialize(); }
json to_json(const Expression& expression) { return expression.serialize(); }
json to_json(const std::array<Expression, 3>& e) { return json::array({to_json(e[0]), to_json(e[1]), to_json(e[2])}); }

// Declared before the template that calls them: it finds only what stands above it.
json to_json(const Parameter& p);
json to_json(const ProblemField& f);
json to_json(const Constraint& c);
json to_json(const KernelSpec& spec, const Argument& a);
json to_json(const TensorMapping& m);
json to_json(const Pass& p);
json to_json(const ReferencePass& p);
json to_json(const DTypes& dtypes);
json to_json(const Generator& g);
json to_json(const Acceptance& a);
json to_json(const Alternation& a);

template <class T>
json to_json(const std::vector<T>& items) {
  json result = json::array();
  for (const auto& item : items) {
    result.push_back(to_json(item));
  }
  return result;
}

json to_json(const Parameter& p) {
  return {
      {"name", p.name},         {"kind", static_cast<int>(p.kind)},    {"values", to_json(p.values)}, {"labels", p.labels},
      {"cpp_type", p.cpp_type}, {"default", to_json(p.default_value)}, {"comment", p.comment},        {"compile_option", p.compile_option}};
}

json to_json(const ProblemField& f) {
  json j{{"name", f.name},   {"default", f.default_value}, {"comment", f.comment}, {"kind", static_cast<int>(f.kind)},
         {"least", f.least}, {"labels", f.labels},         {"offset", f.offset},   {"width", f.width}};
  if (f.most) {
    j["most"] = *f.most;
  }
  if (f.initializer) {
    j["static"] = {{"line", f.initializer->line}, {"column", f.initializer->column}, {"text", f.initializer->text}};
  }
  return j;
}

json to_json(const Constraint& c) {
  return {{"condition", to_json(c.condition)}, {"text", c.text}, {"line", c.line}, {"comment", c.comment}};
}

void put(json& j, std::string_view name, const std::optional<Expression>& expression) {
  if (expression) {
    j[std::string(name)] = to_json(*expression);
  }
}

json to_json(const Fill& f) {
  json j{{"sorted", f.sorted}, {"distinct", f.distinct}, {"permutation", f.permutation}, {"normal", f.normal}};
  put(j, "low", f.low);
  put(j, "below", f.below);
  put(j, "zeros", f.zeros);
  return j;
}

json to_json(const Bound& b) {
  json j{{"set", b.set}};
  put(j, "absolute", b.absolute);
  put(j, "relative", b.relative);
  put(j, "ulps", b.ulps);
  put(j, "fraction", b.fraction);
  put(j, "group", b.group);
  return j;
}

json to_json(const Generator& g) {
  json j{{"target", g.target}, {"function", g.function}, {"returns_element", g.returns_element}, {"arguments", g.arguments}};
  put(j, "extent", g.extent);
  return j;
}

json to_json(const Acceptance& a) { return {{"function", a.function}, {"extent", to_json(a.extent)}, {"arguments", a.arguments}}; }

std::string type_name(const KernelSpec& spec, std::size_t parameter) {
  return spec.type_names.empty() ? "T" : spec.type_names.at(parameter);
}

json to_json(const KernelSpec& spec, const Argument& a) {
  json j{{"name", a.name},
         {"direction", static_cast<int>(a.direction)},
         {"element", a.element_is_t ? type_name(spec, a.type_parameter) : std::string(name(a.dtype))},
         {"lanes", a.lanes},
         {"enumeration", a.enumeration},
         {"exact", a.exact},
         {"extent", to_json(a.extent)},
         {"zeroed", a.zeroed},
         {"scalar_default", to_json(a.scalar_default)},
         {"fill", to_json(a.fill)},
         {"bound", to_json(a.bound)}};
  put(j, "capacity", a.capacity);
  return j;
}

json to_json(const TensorMapping::Axes& axes) { return to_json(std::vector<Expression>(axes.begin(), axes.end())); }

json to_json(const TensorMapping& m) {
  return {{"argument", m.argument},        {"size", to_json(m.size)}, {"box", to_json(m.box)},      {"stride", to_json(m.stride)},
          {"swizzle", to_json(m.swizzle)}, {"l2", to_json(m.l2)},     {"offset", to_json(m.offset)}};
}

json to_json(const Alternation& a) { return {{"first", a.first}, {"result", a.result}, {"spare", a.spare}}; }

json to_json(const Pass& p) {
  return {{"function", p.function},
          {"arguments", p.arguments},
          {"tensor_maps", to_json(p.tensor_maps)},
          {"grid", to_json(p.grid)},
          {"block", to_json(p.block)},
          {"cluster", to_json(p.cluster)},
          {"shared_bytes", to_json(p.shared_bytes)},
          {"enabled", to_json(p.enabled)},
          {"cooperative", to_json(p.cooperative)},
          {"overlap", to_json(p.overlap)},
          {"takes_config", p.takes_config},
          {"repeat", to_json(p.repeat)},
          {"alternations", to_json(p.alternations)}};
}

json to_json(const ReferencePass& p) {
  json j{{"function", p.function}, {"extent", to_json(p.extent)}, {"arguments", p.arguments}};
  if (!p.fields.empty()) {
    j["fields"] = p.fields;
  }
  return j;
}

json to_json(const DTypes& dtypes) { return name(dtypes); }

// ---- from JSON

constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();

Expression read_expression(const json& j) {
  auto parsed = Expression::parse(j.get_ref<const std::string&>());
  if (!parsed) {
    throw BadSpec{parsed.error().message};
  }
  return *parsed;
}

Value read_value(const json& j) {
  const Expression expression = read_expression(j);
  if (!expression.is_constant()) {
    throw BadSpec{fmt::format("'{}' is not a value", expression.text())};
  }
  return expression.node().value;
}

DTypes read_dtypes(const json& j) {
  auto parsed = parse_dtypes(j.get_ref<const std::string&>());
  if (!parsed) {
    throw BadSpec{parsed.error().message};
  }
  return *parsed;
}

template <class Number>
Number read_whole(const json& j) {
  const bool is_whole = j.is_number_integer() && !(j.is_number_unsigned() && j.get<std::uint64_t>() > kLargest);
  const std::int64_t value = is_whole ? j.get<std::int64_t>() : 0;
  if (!is_whole || value != static_cast<Number>(value)) {
    throw BadSpec{fmt::format("{} is not a whole number of {} bits", j.is_number() ? j.dump() : j.type_name(), 8 * sizeof(Number))};
  }
  return static_cast<Number>(value);
}

template <class E>
E read_enum(const json& j, E last) {
  const int value = read_whole<int>(j);
  if (value < 0 || value > static_cast<int>(last)) {
    throw BadSpec{fmt::format("{} names no enumerator", value)};
  }
  return static_cast<E>(value);
}

std::array<Expression, 3> read_extent3(const json& j) {
  return {read_expression(j.at(0)), read_expression(j.at(1)), read_expression(j.at(2))};
}

template <class F>
auto read_list(const json& j, F read_one) {
  std::vector<decltype(read_one(j))> result;
  for (const auto& item : j) {
    result.push_back(read_one(item));
  }
  return result;
}

std::vector<int> read_indices(const json& j) { return read_list(j, read_whole<int>); }

/// What the engine takes for granted of a parameter.
void check_parameter(const Parameter& p) {
  const bool finite = std::ranges::all_of(p.values, [](const Value& value) { return std::isfinite(value.real()); });
  if (p.values.empty() || !finite || !std::isfinite(p.default_value.real())) {
    throw BadSpec{fmt::format("the values of parameter '{}' are not a list of finite numbers", p.name)};
  }
  if (!p.labels.empty() && p.labels.size() != p.values.size()) {
    throw BadSpec{fmt::format("parameter '{}' has {} values and {} labels", p.name, p.values.size(), p.labels.size())};
  }
}

Parameter read_parameter(const json& j) {
  Parameter p;
  j.at("name").get_to(p.name);
  p.kind = read_enum(j.at("kind"), ParameterKind::kReal);
  p.values = read_list(j.at("values"), read_value);
  j.at("labels").get_to(p.labels);
  j.at("cpp_type").get_to(p.cpp_type);
  p.default_value = read_value(j.at("default"));
  j.at("compile_option").get_to(p.compile_option);
  j.at("comment").get_to(p.comment);
  check_parameter(p);
  return p;
}

ProblemField read_problem_field(const json& j) {
  ProblemField f{j.at("name").get<std::string>(), read_whole<std::int64_t>(j.at("default")), j.at("comment").get<std::string>()};
  if (j.contains("kind")) {  // specs recorded before there were any lack it
    f.kind = read_enum(j.at("kind"), FieldKind::kEnumeration);
    f.least = read_whole<std::int64_t>(j.at("least"));
    f.most = j.contains("most") ? std::optional(read_whole<std::int64_t>(j.at("most"))) : std::nullopt;
    j.at("labels").get_to(f.labels);
    f.offset = read_whole<int>(j.at("offset"));
    f.width = read_whole<int>(j.at("width"));
    constexpr int kLargestStruct = 4096;
    const bool known_width = f.width == 1 || f.width == 2 || f.width == 4 || f.width == 8;
    if (!known_width || f.offset < -1 || f.offset > kLargestStruct) {
      throw BadSpec{fmt::format("field {} of the Problem cannot lie at {} with {} bytes", f.name, f.offset, f.width)};
    }
  }
  if (j.contains("static")) {
    const json& place = j.at("static");
    f.initializer =
        Initializer{read_whole<int>(place.at("line")), read_whole<int>(place.at("column")), place.at("text").get<std::string>()};
  }
  return f;
}

/// What is compiled has another text there, so it must be where the source says so.
void check_static_fields(const KernelSpec& spec) {
  for (const ProblemField& field : spec.problem) {
    if (field.is_static() && find_initializer(spec.source, *field.initializer) == std::string::npos) {
      throw BadSpec{fmt::format("the source has no initializer of static field {} in line {}", field.name, field.initializer->line)};
    }
  }
}

Constraint read_constraint(const json& j) {
  return {read_expression(j.at("condition")), j.at("text").get<std::string>(), read_whole<int>(j.at("line")),
          j.at("comment").get<std::string>()};
}

std::optional<Expression> read_optional(const json& j, std::string_view name) {
  return j.contains(name) ? std::optional(read_expression(j.at(std::string(name)))) : std::nullopt;
}

Fill read_fill(const json& j) {
  return {.low = read_optional(j, "low"),
          .below = read_optional(j, "below"),
          .zeros = read_optional(j, "zeros"),
          .sorted = j.at("sorted").get<bool>(),
          .distinct = j.at("distinct").get<bool>(),
          .permutation = j.at("permutation").get<bool>(),
          .normal = j.at("normal").get<bool>()};
}

Bound read_bound(const json& j) {
  return {.absolute = read_optional(j, "absolute"),
          .relative = read_optional(j, "relative"),
          .ulps = read_optional(j, "ulps"),
          .fraction = read_optional(j, "fraction"),
          .set = j.at("set").get<bool>(),
          .group = read_optional(j, "group")};
}

Generator read_generator(const json& j) {
  return {.target = read_whole<int>(j.at("target")),
          .function = j.at("function").get<std::string>(),
          .extent = read_optional(j, "extent"),
          .returns_element = j.at("returns_element").get<bool>(),
          .arguments = read_indices(j.at("arguments"))};
}

Acceptance read_acceptance(const json& j) {
  return {j.at("function").get<std::string>(), read_expression(j.at("extent")), read_indices(j.at("arguments"))};
}

using ProblemValues = std::vector<std::pair<std::string, std::int64_t>>;

ProblemValues read_shape(const json& j, const std::vector<ProblemField>& fields) {
  if (!j.is_array() || j.size() != fields.size()) {
    throw BadSpec{"a shape has one value for each field of the problem"};
  }
  ProblemValues shape;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    shape.emplace_back(fields[i].name, read_whole<std::int64_t>(j.at(i)));
  }
  return shape;
}

void read_element(const json& j, const std::vector<std::string>& type_names, Argument& a) {
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

Argument read_argument(const json& j, const std::vector<std::string>& type_names) {
  Argument a;
  j.at("name").get_to(a.name);
  a.direction = read_enum(j.at("direction"), Direction::kScalar);
  read_element(j.at("element"), type_names, a);
  if (j.contains("lanes")) {  // specs recorded before there were any lack them
    a.lanes = read_whole<int>(j.at("lanes"));
    j.at("enumeration").get_to(a.enumeration);
    j.at("exact").get_to(a.exact);
  }
  a.extent = read_expression(j.at("extent"));
  j.at("zeroed").get_to(a.zeroed);
  a.scalar_default = read_value(j.at("scalar_default"));
  if (j.contains("fill")) {  // as above
    a.fill = read_fill(j.at("fill"));
    a.bound = read_bound(j.at("bound"));
  }
  a.capacity = read_optional(j, "capacity");
  if (a.capacity && a.direction != Direction::kIn) {
    throw BadSpec{fmt::format("argument {} is in constant memory but not an input", a.name)};
  }
  return a;
}

TensorMapping::Axes read_axes(const json& j) {
  TensorMapping::Axes axes;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    axes[axis] = read_expression(j.at(axis));
  }
  return axes;
}

TensorMapping read_tensor_map(const json& j) {
  return {.argument = read_whole<int>(j.at("argument")),
          .size = read_axes(j.at("size")),
          .box = read_axes(j.at("box")),
          .stride = read_axes(j.at("stride")),
          .swizzle = read_expression(j.at("swizzle")),
          .l2 = read_expression(j.at("l2")),
          .offset = read_expression(j.at("offset"))};
}

Pass read_pass(const json& j) {
  Pass p;
  j.at("function").get_to(p.function);
  p.arguments = read_indices(j.at("arguments"));
  if (j.contains("tensor_maps")) {  // as above
    p.tensor_maps = read_list(j.at("tensor_maps"), read_tensor_map);
  }
  p.grid = read_extent3(j.at("grid"));
  p.block = read_extent3(j.at("block"));
  p.cluster = read_extent3(j.at("cluster"));
  p.shared_bytes = read_expression(j.at("shared_bytes"));
  p.cooperative = read_expression(j.at("cooperative"));
  p.enabled = read_expression(j.at("enabled"));
  if (j.contains("overlap")) {  // as above
    p.overlap = read_expression(j.at("overlap"));
  }
  if (j.contains("repeat")) {  // as above
    p.repeat = read_expression(j.at("repeat"));
    p.alternations = read_list(j.at("alternations"), [](const json& a) {
      return Alternation{read_whole<int>(a.at("first")), read_whole<int>(a.at("result")), read_whole<int>(a.at("spare"))};
    });
  }
  p.takes_config = j.value("takes_config", true);
  return p;
}

ReferencePass read_reference_pass(const json& j) {
  ReferencePass pass{j.at("function").get<std::string>(), read_expression(j.at("extent")), read_indices(j.at("arguments"))};
  if (j.contains("fields")) {  // only where it takes the configuration
    pass.fields = read_indices(j.at("fields"));
  }
  return pass;
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

KernelSpec read_spec(const json& j) {
  KernelSpec spec;
  j.at("name").get_to(spec.name);
  j.at("summary").get_to(spec.summary);
  j.at("file").get_to(spec.file);
  j.at("source").get_to(spec.source);
  j.at("includes").get_to(spec.includes);
  j.at("source_hash").get_to(spec.source_hash);
  j.at("templated_on_type").get_to(spec.templated_on_type);
  if (j.contains("type_names")) {  // as above
    j.at("type_names").get_to(spec.type_names);
  }
  spec.dtypes = read_list(j.at("dtypes"), read_dtypes);
  check_dtypes(spec);
  spec.problem = read_list(j.at("problem"), read_problem_field);
  check_static_fields(spec);
  spec.parameters = read_list(j.at("parameters"), read_parameter);
  spec.constraints = read_list(j.at("constraints"), read_constraint);
  if (j.contains("expectations")) {  // as above
    spec.expectations = read_list(j.at("expectations"), read_constraint);
  }
  spec.arguments = read_list(j.at("arguments"), [&](const json& argument) { return read_argument(argument, spec.type_names); });
  spec.passes = read_list(j.at("passes"), read_pass);
  const auto& cost = j.at("cost");
  spec.cost = {read_expression(cost.at("flops")), read_expression(cost.at("bytes")), read_expression(cost.at("sum_length"))};
  spec.reference = read_list(j.at("reference"), read_reference_pass);
  if (j.contains("generators")) {  // as above
    spec.generators = read_list(j.at("generators"), read_generator);
    spec.acceptances = read_list(j.at("acceptances"), read_acceptance);
  }
  for (const Generator& generator : spec.generators) {
    check_indices({generator.target}, 0, spec.arguments.size());
    check_indices(generator.arguments, kRandomParameter, spec.arguments.size());
  }
  for (const Acceptance& acceptance : spec.acceptances) {
    check_indices(acceptance.arguments, kProblemParameter, 2 * spec.arguments.size() + 2);
  }
  if (j.contains("warnings")) {
    j.at("warnings").get_to(spec.warnings);
  }
  spec.operation = j.value("operation", std::string());
  spec.flags = j.value("flags", std::vector<std::string>{});
  spec.cuda_headers = j.value("cuda_headers", std::vector<std::string>{});
  if (j.contains("judge")) {
    spec.judge = std::make_shared<const KernelSpec>(read_spec(j.at("judge")));
  }
  for (const auto& pass : spec.reference) {
    std::vector<int> arguments = pass.arguments;
    if (std::erase(arguments, kConfigParameter) > 0 && spec.judge) {
      throw BadSpec{"a judge's reference takes no configuration"};
    }
    check_indices(arguments, kProblemParameter, (spec.judge ? spec.judge->arguments : spec.arguments).size());
    check_indices(pass.fields, 0, spec.parameters.size());
  }
  if (j.contains("shapes")) {  // as above
    spec.shapes = read_list(j.at("shapes"), [&](const json& shape) { return read_shape(shape, spec.problem); });
  }
  for (const auto& pass : spec.passes) {
    check_indices(pass.arguments, kRunIndexParameter, spec.arguments.size());
    for (const Alternation& alternation : pass.alternations) {
      check_indices({alternation.first, alternation.result, alternation.spare}, 0, spec.arguments.size());
    }
    check_tensor_maps(pass, spec.arguments.size());
  }
  return spec;
}

}  // namespace

std::string element_name(const KernelSpec& spec, const Argument& argument) {
  const std::string element = argument.element_is_t ? type_name(spec, argument.type_parameter) : std::string(name(argument.dtype));
  return argument.lanes == 1 ? element : fmt::format("{} x {}", element, argument.lanes);
}

std::string KernelSpec::serialize() const {
  json all_arguments = json::array();
  for (const Argument& argument : arguments) {
    all_arguments.push_back(to_json(*this, argument));
  }
  json j{
      {"name", name},
      {"summary", summary},
      {"file", file},
      {"source", source},
      {"includes", includes},
      {"source_hash", source_hash},
      {"templated_on_type", templated_on_type},
      {"type_names", type_names},
      {"dtypes", to_json(dtypes)},
      {"problem", to_json(problem)},
      {"parameters", to_json(parameters)},
      {"constraints", to_json(constraints)},
      {"expectations", to_json(expectations)},
      {"arguments", std::move(all_arguments)},
      {"passes", to_json(passes)},
      {"cost", {{"flops", to_json(cost.flops)}, {"bytes", to_json(cost.bytes)}, {"sum_length", to_json(cost.sum_length)}}},
      {"reference", to_json(reference)},
      {"generators", to_json(generators)},
      {"acceptances", to_json(acceptances)},
      {"flags", flags},
      {"cuda_headers", cuda_headers},
  };
  if (!operation.empty()) {
    j["operation"] = operation;
  }
  if (!warnings.empty()) {
    j["warnings"] = warnings;
  }
  for (const ProblemValues& shape : shapes) {
    json& values = j["shapes"].emplace_back(json::array());
    for (const auto& [field, value] : shape) {
      values.push_back(value);
    }
  }
  if (judge != nullptr) {
    j["judge"] = json::parse(judge->serialize());
  }
  // A source may hold bytes that are not UTF-8 (a comment in Latin-1); they are replaced rather than refused.
  return j.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<KernelSpec> parse_kernel_spec(std::string_view text) {
  const auto bad = [](std::string_view why) { return Error{ErrorCode::kInvalidArgument, fmt::format("not a kernel spec: {}", why)}; };
  if (json_depth(text) > kDeepestJson) {
    return bad(fmt::format("it is nested more deeply than {} levels", kDeepestJson));
  }
  try {
    return read_spec(json::parse(text));
  } catch (const json::exception& e) {
    return bad(e.what());
  } catch (const BadSpec& e) {
    return bad(e.why);
  }
}

}  // namespace hone
