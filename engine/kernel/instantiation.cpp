#include "hone/instantiation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "hone/static_fields.hpp"

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
  return !spec.templated_on_type     ? ""
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

/// "const f32* x" for an input or output, "float alpha" for a scalar, "Problem p".
std::string declared(const KernelSpec& spec, int index, std::string_view parameter) {
  if (index == kProblemParameter) {
    return fmt::format("Problem {}", parameter);
  }
  if (index == spec.seed()) {
    return fmt::format("unsigned long long {}", parameter);
  }
  if (index == spec.rejected()) {
    return fmt::format("unsigned long long* {}", parameter);
  }
  if (index > spec.rejected()) {
    return fmt::format("const double* {}", parameter);
  }
  const Argument& argument = spec.arguments.at(static_cast<std::size_t>(index));
  return fmt::format("{}{} {}", element_text(spec, argument), argument.direction == Direction::kScalar ? "" : "*", parameter);
}

/// A function that is called like a reference: its head, and the passes' arguments.
std::string head(const KernelSpec& spec, const ReferencePass& pass) {
  std::string parameters = "long hone_i";
  for (std::size_t k = 0; k < pass.arguments.size(); ++k) {
    parameters += ", " + declared(spec, pass.arguments[k], fmt::format("hone_a{}", k));
  }
  return fmt::format("{}HONE_DEVICE void {}({})", template_head(spec), pass.function, parameters);
}

std::string callee(const KernelSpec& spec, std::string_view function) {
  return std::string(function) + template_arguments(spec);
}

std::size_t place_of(std::vector<int>& arguments, int index) {
  const auto found = std::ranges::find(arguments, index);
  const auto place = static_cast<std::size_t>(found - arguments.begin());
  if (found == arguments.end()) {
    arguments.push_back(index);
  }
  return place;
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
  const std::string target = generator.returns_element ? fmt::format("hone_a{}[hone_i] = ", place_of(pass.arguments, generator.target)) : "";
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
  source += fmt::format(
      "{} {{ if (!{}({})) {{ atomicAdd(&hone_a{}[0], 1ULL); atomicMin(&hone_a{}[1], (unsigned long long)hone_i); }} }}\n", head(spec, pass),
      callee(spec, acceptance.function), call, rejected, rejected);
  return pass;
}

}  // namespace

AnswerCode answer_code(const KernelSpec& spec, const Shape& shape) {
  AnswerCode code{source_for(spec, shape), spec.reference};
  if (!spec.generators.empty() || !spec.acceptances.empty()) {
    code.source += "\n";
  }
  for (std::size_t i = 0; i < spec.generators.size(); ++i) {
    code.passes.push_back(add_generator(spec, i, code.source));
  }
  for (std::size_t i = 0; i < spec.acceptances.size(); ++i) {
    code.passes.push_back(add_acceptance(spec, i, code.source));
  }
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
