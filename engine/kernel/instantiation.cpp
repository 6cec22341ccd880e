#include "engine/kernel/instantiation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "engine/kernel/static_fields.hpp"

namespace hone {

bool can_run(const KernelSpec& spec, const Pass& pass, const Configuration& configuration) {
  const Result<Value> enabled = pass.enabled.evaluate(bindings(spec.parameters, configuration));
  return !enabled || enabled->boolean();  // an error: the problem has a say
}

std::string instantiation(const KernelSpec& spec, const Pass& pass, const DTypes& dtypes, const Configuration& configuration) {
  std::string arguments = spec.templated_on_type ? type_arguments(dtypes) : "";
  if (pass.takes_config) {
    arguments += (arguments.empty() ? "" : ", ") + cpp_text(spec.parameters, configuration);
  }
  return arguments.empty() ? pass.function : fmt::format("{}<{}>", pass.function, arguments);
}

std::string reference_instantiation(const KernelSpec& spec, std::string_view function, const DTypes& dtypes) {
  return spec.templated_on_type ? fmt::format("{}<{}>", function, type_arguments(dtypes)) : std::string(function);
}

std::string template_head(const KernelSpec& spec) {
  return !spec.templated_on_type   ? ""
         : spec.type_names.empty() ? "template <class T> "
                                   : fmt::format("template <class {}> ", fmt::join(spec.type_names, ", class "));
}

std::string template_arguments(const KernelSpec& spec) {
  return !spec.templated_on_type ? "" : spec.type_names.empty() ? "<T>" : fmt::format("<{}>", fmt::join(spec.type_names, ", "));
}

namespace {

/// Of vectors their elements.
std::string element_text(const KernelSpec& spec, Argument argument) {
  argument.lanes = 1;
  return argument.enumeration.empty() ? element_name(spec, argument) : argument.enumeration;
}

/// "f32* x" for an input or output, "float alpha" for a scalar, "Problem p", "long c_block" for a field of the configuration.
std::string declared(const KernelSpec& spec, int index, std::string_view parameter, bool of_reference) {
  if (index == kProblemParameter) {
    return fmt::format("Problem {}", parameter);
  }
  if (index == spec.seed()) {
    return fmt::format("unsigned long long {}", parameter);
  }
  if (index == spec.rejected()) {
    return fmt::format("unsigned long long* {}", parameter);
  }
  if (index >= spec.configured(0)) {
    const bool real = spec.parameters.at(static_cast<std::size_t>(index - spec.configured(0))).kind == ParameterKind::kReal;
    return fmt::format("{} {}", real ? "double" : "long", parameter);
  }
  if (index > spec.rejected()) {
    return fmt::format("const double* {}", parameter);
  }
  const Argument& argument = spec.arguments.at(static_cast<std::size_t>(index));
  const bool is_output = argument.direction == Direction::kOut || argument.direction == Direction::kInOut;
  if (of_reference && is_output) {
    return fmt::format("{}* {}", argument.exact ? name(argument.dtype) : "double", parameter);
  }
  return fmt::format("{}{} {}", element_text(spec, argument), argument.direction == Direction::kScalar ? "" : "*", parameter);
}

/// A function that is called like a reference: its head, and the passes' arguments.
std::string head(const KernelSpec& spec, const ReferencePass& pass, bool of_reference = false) {
  std::string parameters = "long hone_i";
  for (std::size_t k = 0; k < pass.arguments.size(); ++k) {
    parameters += ", " + declared(spec, pass.arguments[k], fmt::format("hone_a{}", k), of_reference);
  }
  return fmt::format("{}HONE_DEVICE void {}({})", template_head(spec), pass.function, parameters);
}

std::string callee(const KernelSpec& spec, std::string_view function) { return std::string(function) + template_arguments(spec); }

std::size_t place_of(std::vector<int>& arguments, int index) {
  const auto found = std::ranges::find(arguments, index);
  const auto place = static_cast<std::size_t>(found - arguments.begin());
  if (found == arguments.end()) {
    arguments.push_back(index);
  }
  return place;
}

/// What the functions below are made of. A byte of two 4-bit integers is that byte; vectors are what the author's function takes them for.
/// The elements of a range are uniform in it, of what has none in the usual one; what is rounded up to the range's end lies in its middle.
constexpr std::string_view kAnswerTools = R"(struct hone_vectors {
  void* at;
  template <class X> HONE_DEVICE operator X*() const { return static_cast<X*>(at); }
};
template <class X> HONE_DEVICE double hone_wide(const X& x) {
  if constexpr (requires { (double)x; }) return (double)x; else return (double)*(const unsigned char*)&x;
}
template <class X> struct hone_is_whole { static constexpr bool value = false; };
#define HONE_WHOLE(X) template <> struct hone_is_whole<X> { static constexpr bool value = true; };
HONE_WHOLE(bool) HONE_WHOLE(i8) HONE_WHOLE(u8) HONE_WHOLE(i16) HONE_WHOLE(u16) HONE_WHOLE(i32) HONE_WHOLE(u32) HONE_WHOLE(i64) HONE_WHOLE(u64)
HONE_WHOLE(long) HONE_WHOLE(unsigned long) HONE_WHOLE(char)
#undef HONE_WHOLE
template <class X> HONE_DEVICE X hone_between(Random& random, double low, double below, bool ranged) {
  if constexpr (hone_is_whole<X>::value) {
    const bool negative = (X)-1 < (X)1;
    long least = ranged ? (long)low : negative ? -128 : 0, end = ranged ? (long)below : negative ? 128 : (X)2 == (X)1 ? 2 : 256;
    if (ranged && (double)least < low) ++least;
    if (ranged && (double)end > below) --end;
    return (X)random.integer(least, end);
  } else {
    const double least = ranged ? low : -1.0, end = ranged ? below : 1.0;
    const double drawn = least + (end - least) * ((double)(random.bits() >> 11) * 0x1p-53);
    const X x = (X)drawn;
    return (double)x < end ? x : (X)(0.5 * (least + end));
  }
}
)";

/// The fields that the reference reads come as arguments of their own; the others have their defaults.
ReferencePass add_configured(const KernelSpec& spec, std::size_t number, std::string& source) {
  const ReferencePass& reference = spec.reference[number];
  ReferencePass pass{.function = fmt::format("hone_configured_{}", number), .extent = reference.extent};
  std::string call = "hone_i", assigned;
  for (const int argument : reference.arguments) {
    const bool vectors =
        argument >= 0 && spec.arguments.at(static_cast<std::size_t>(argument)).lanes > 1;  // or their elements: as the author has it
    const std::string given = argument == kConfigParameter ? "hone_c" : fmt::format("hone_a{}", place_of(pass.arguments, argument));
    call += vectors ? fmt::format(", hone_vectors{{{}}}", given) : ", " + given;
  }
  for (const int field : reference.fields) {
    assigned += fmt::format(" hone_c.{0} = static_cast<decltype(hone_c.{0})>(hone_a{1});",
                            spec.parameters.at(static_cast<std::size_t>(field)).name, place_of(pass.arguments, spec.configured(field)));
  }
  source += fmt::format("{} {{ Config hone_c;{} {}({}); }}\n", head(spec, pass, true), assigned, callee(spec, reference.function), call);
  return pass;
}

ReferencePass add_original(const KernelSpec& spec, std::size_t number, std::string& source) {
  const int index = static_cast<int>(number);
  ReferencePass pass{.function = fmt::format("hone_original_{}", number),
                     .extent = spec.arguments[number].extent,
                     .arguments = {index, spec.expected(index)}};
  source += fmt::format(
      "{}HONE_DEVICE void {}(long hone_i, const {}* hone_x, double* hone_y) {{ hone_y[hone_i] = hone_wide(hone_x[hone_i]); }}\n",
      template_head(spec), pass.function, element_text(spec, spec.arguments[number]));
  return pass;
}

/// Each input draws from numbers of its own.
ReferencePass add_fill(const KernelSpec& spec, std::size_t number, std::string& source) {
  const Argument& argument = spec.arguments[number];
  const Fill& fill = argument.fill;
  ReferencePass pass{.function = fmt::format("hone_fill_{}", number),
                     .extent = argument.extent,
                     .arguments = {static_cast<int>(number), spec.seed(), kProblemParameter}};
  const auto number_of = [](const std::optional<Expression>& expression) { return expression ? expression->text() : "0"; };
  const std::string element = element_text(spec, argument);
  const std::string drawn = fill.below || !fill.normal
                                ? fmt::format("hone_between<{}>(hone_random, (double)({}), (double)({}), {})", element, number_of(fill.low),
                                              number_of(fill.below), fill.below ? "true" : "false")
                                : fmt::format("({})hone_random.normal()", element);
  source += fmt::format(
      "{}HONE_DEVICE void {}(long hone_i, {}* hone_x, unsigned long long hone_seed, Problem p) {{\n"
      "  Random hone_random(hone_seed + {}, hone_i);\n"
      "  const bool hone_zero = hone_random.uniform() < (double)({});\n"
      "  hone_x[hone_i] = hone_zero ? ({})0 : {};\n}}\n",
      template_head(spec), pass.function, element, 0x10000 * (number + 1), number_of(fill.zeros), element, drawn);
  return pass;
}

ReferencePass add_generator(const KernelSpec& spec, std::size_t number, std::string& source) {
  const Generator& generator = spec.generators[number];
  ReferencePass pass{.function = fmt::format("hone_generator_{}", number),
                     .extent = generator.extent.value_or(spec.arguments[static_cast<std::size_t>(generator.target)].extent)};
  std::string call = "hone_i";
  for (const int argument : generator.arguments) {
    call += argument == kRandomParameter ? ", hone_random" : fmt::format(", hone_a{}", place_of(pass.arguments, argument));
  }
  const std::size_t seed = place_of(pass.arguments, spec.seed());
  const std::string body = fmt::format("{}({});", callee(spec, generator.function), call);
  const std::string target =
      generator.returns_element ? fmt::format("hone_a{}[hone_i] = ", place_of(pass.arguments, generator.target)) : "";
  source += fmt::format("{} {{ Random hone_random(hone_a{} + {}, hone_i); {}{} }}\n", head(spec, pass), seed, number, target, body);
  return pass;
}

ReferencePass add_acceptance(const KernelSpec& spec, std::size_t number, std::string& source) {
  const Acceptance& acceptance = spec.acceptances[number];
  ReferencePass pass{.function = fmt::format("hone_acceptance_{}", number), .extent = acceptance.extent};
  std::string call = "hone_i";
  for (const int argument : acceptance.arguments) {
    call += fmt::format(", hone_a{}", place_of(pass.arguments, argument));
  }
  const std::size_t rejected = place_of(pass.arguments, spec.rejected());
  source += fmt::format("{} {{ if (!{}({})) {{ atomicAdd(&hone_a{}[0], 1ULL); atomicMin(&hone_a{}[1], (unsigned long long)hone_i); }} }}\n",
                        head(spec, pass), callee(spec, acceptance.function), call, rejected, rejected);
  return pass;
}

}  // namespace

bool is_filled_by_device(const KernelSpec& spec, const Argument& argument) {
  const auto is_pair = [](DType dtype) { return dtype == DType::kI4x2 || dtype == DType::kU4x2; };
  const bool pairs = argument.element_is_t
                         ? std::ranges::any_of(spec.dtypes, [&](const DTypes& types) { return is_pair(types[argument.type_parameter]); })
                         : is_pair(argument.dtype);
  const Fill& fill = argument.fill;
  for (const std::optional<Expression>* const part : {&fill.low, &fill.below, &fill.zeros}) {
    for (const std::string& variable :
         *part ? (*part)->variables() : std::vector<std::string>()) {  // numbers here, and types of their own in code
      const auto field = std::ranges::find(spec.problem, variable, [](const ProblemField& of) { return "p." + of.name; });
      if (field != spec.problem.end() && field->kind == FieldKind::kEnumeration) {
        return false;
      }
    }
  }
  return fill.given() && !fill.sorted && !fill.distinct && !fill.permutation && !pairs &&
         (argument.direction == Direction::kIn || argument.direction == Direction::kInOut);
}

AnswerCode answer_code(const KernelSpec& spec, const Shape& shape) {
  AnswerCode code{source_for(spec, shape), {}, {}};
  std::string made;
  const auto add = [&](AnswerPart part, ReferencePass pass) {
    code.passes.push_back(std::move(pass));
    code.parts.push_back(part);
  };
  for (std::size_t i = 0; i < spec.reference.size(); ++i) {
    const bool takes_config = std::ranges::find(spec.reference[i].arguments, kConfigParameter) != spec.reference[i].arguments.end();
    add(AnswerPart::kReference, takes_config ? add_configured(spec, i, made) : spec.reference[i]);
  }
  for (std::size_t i = 0; i < spec.generators.size(); ++i) {
    add(AnswerPart::kGenerator, add_generator(spec, i, made));
  }
  for (std::size_t i = 0; i < spec.acceptances.size(); ++i) {
    add(AnswerPart::kAcceptance, add_acceptance(spec, i, made));
  }
  for (std::size_t i = 0; i < spec.arguments.size(); ++i) {
    if (spec.arguments[i].direction == Direction::kInOut && !spec.arguments[i].exact) {
      add(AnswerPart::kOriginal, add_original(spec, i, made));
    }
    if (is_filled_by_device(spec, spec.arguments[i])) {
      add(AnswerPart::kFill, add_fill(spec, i, made));
    }
  }
  code.source += made.empty() ? "" : "\n" + std::string(kAnswerTools) + made;
  return code;
}

bool is_macro_option(std::string_view option) { return option.starts_with("-D") || option.starts_with("-U"); }

std::string compile_option(const Parameter& parameter, const Value& value) {
  std::string option = parameter.compile_option;
  const std::size_t at = option.find("{}");
  if (at == std::string::npos) {
    return option;
  }
  // The preprocessor compares numbers.
  const bool flag = parameter.kind == ParameterKind::kBoolean && is_macro_option(option);
  return option.replace(at, 2, flag ? (value.boolean() ? "1" : "0") : value.text());
}

std::vector<std::string> compile_options(const KernelSpec& spec, const Configuration& configuration) {
  std::vector<std::string> options = spec.flags;
  for (std::size_t i = 0; i < spec.parameters.size(); ++i) {
    const Parameter& parameter = spec.parameters[i];
    const Value& value = configuration.values.at(i);
    if (!parameter.compile_option.empty() && (value.boolean() || is_macro_option(parameter.compile_option))) {
      options.push_back(compile_option(parameter, value));
    }
  }
  return options;
}

std::vector<std::string> reference_options(const KernelSpec& spec) {
  std::vector<std::string> options = spec.flags;
  std::erase_if(options, [](const std::string& flag) { return !is_macro_option(flag); });
  for (const Parameter& parameter : spec.parameters) {
    if (is_macro_option(parameter.compile_option)) {
      options.push_back(compile_option(parameter, parameter.default_value));
    }
  }
  return options;
}

}  // namespace hone
