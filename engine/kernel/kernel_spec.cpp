#include "hone/kernel_spec.hpp"

#include <algorithm>

#include "hone/names.hpp"

namespace hone {

const Parameter* KernelSpec::find_parameter(std::string_view parameter) const {
  const auto found = std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& p) { return p.name == parameter; });
  return found == parameters.end() ? nullptr : &*found;
}

Result<const KernelSpec*> find_builtin_kernel(std::string_view kernel) {
  std::vector<std::string> names;
  for (const KernelSpec& spec : builtin_kernels()) {
    if (spec.name == kernel) {
      return &spec;
    }
    names.push_back(spec.name);
  }
  return Error{ErrorCode::kNotFound, unknown_name("built-in kernel", kernel, names)};
}

}  // namespace hone
