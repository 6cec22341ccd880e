#include "hone/instantiation.hpp"

#include <fmt/format.h>

namespace hone {

bool can_run(const KernelSpec& spec, const Pass& pass, const Configuration& configuration) {
  const Result<Value> enabled = pass.enabled.evaluate(bindings(spec.parameters, configuration));
  return !enabled || enabled->boolean();  // an error: the problem has a say
}

std::string instantiation(const KernelSpec& spec, std::string_view function, DType dtype, const Configuration& configuration) {
  const std::string config = cpp_text(spec.parameters, configuration);
  return spec.templated_on_type ? fmt::format("{}<{}, {}>", function, name(dtype), config) : fmt::format("{}<{}>", function, config);
}

std::string reference_instantiation(const KernelSpec& spec, std::string_view function, DType dtype) {
  return spec.templated_on_type ? fmt::format("{}<{}>", function, name(dtype)) : std::string(function);
}

std::vector<std::string> compile_options(const KernelSpec& spec, const Configuration& configuration) {
  std::vector<std::string> options;
  for (std::size_t i = 0; i < spec.parameters.size(); ++i) {
    const Value& value = configuration.values.at(i);
    std::string option = spec.parameters[i].compile_option;
    if (option.empty() || !value.boolean()) {
      continue;
    }
    if (const std::size_t at = option.find("{}"); at != std::string::npos) {
      option.replace(at, 2, value.text());
    }
    options.push_back(std::move(option));
  }
  return options;
}

}  // namespace hone
