#pragma once
// What a space may not be made of.

#include <string>
#include <vector>

#include "engine/kernel/kernel_spec.hpp"

namespace hone::space {

Error invalid_space(std::string message);
/// Names are unique; values are there, not too many, each once.
Result<void> check_parameters(const std::vector<Parameter>& parameters);
/// Constraints use parameters and what is fixed, nothing else.
Result<void> check_names(const std::vector<Parameter>& parameters, const std::vector<Constraint>& constraints, const Bindings& fixed);

}  // namespace hone::space
