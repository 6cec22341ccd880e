#pragma once
// Configurations by the kernel's parameters: the default one, and what people, expressions and compilers read.

#include <string>
#include <string_view>
#include <vector>

#include "engine/kernel/kernel_spec.hpp"
#include "hone/configuration.hpp"

namespace hone {

/// The initializers of `struct Config`.
Configuration default_configuration(const std::vector<Parameter>& parameters);
Configuration default_configuration(const KernelSpec& spec);

/// One value as a user reads and writes it: an enumeration's label, otherwise the value itself.
std::string text(const Parameter& parameter, const Value& value);

/// Reads `text`'s form. Errors: a value that the parameter does not list.
Result<Value> parse_value(const Parameter& parameter, std::string_view text);

/// "block=256,vec=4,online=true" in parameter order.
std::string text(const std::vector<Parameter>& parameters, const Configuration& configuration);

/// Reads `text`'s form; parameters left out keep their default. Errors: an unknown parameter, a value it does not list.
Result<Configuration> parse_configuration(const std::vector<Parameter>& parameters, std::string_view text);

/// c.NAME, for expressions.
Bindings bindings(const std::vector<Parameter>& parameters, const Configuration& configuration);

/// "Config{256, 4, true}": a C++ constant expression of the kernel file.
std::string cpp_text(const std::vector<Parameter>& parameters, const Configuration& configuration);

}  // namespace hone
