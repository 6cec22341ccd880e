#pragma once
// The translation unit of a batch: the kernel file's text, and behind it a function per configuration and pass.

#include <span>
#include <string>
#include <string_view>

#include "engine/device/device.hpp"
#include "engine/kernel/configuration_text.hpp"

namespace hone::cpu {

/// The name under which diagnostics speak of the functions below the kernel file: a log that does not mention it is about the file itself.
inline constexpr std::string_view kGlueName = "hone-configurations";

/// "hone_k3_0": configuration 3 of the batch, pass 0.
std::string pass_symbol(std::size_t configuration, std::size_t pass);
/// "hone_reference_1": pass 1 of the reference.
std::string reference_symbol(std::size_t pass);

/// "hone_constant_filter": a function that gives the address of a variable of the source.
std::string constant_symbol(std::string_view variable);

std::string configurations_source(const KernelSpec& spec, const DTypes& dtypes, const Shape& shape,
                                  std::span<const Configuration> configurations);
std::string reference_source(const KernelSpec& spec, const DTypes& dtypes, const Shape& shape);

}  // namespace hone::cpu
