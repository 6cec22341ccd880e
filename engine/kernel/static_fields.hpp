#pragma once
// STATIC fields of a Problem are compiled in: each of their values is code of its own.

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/kernel/kernel_problem.hpp"
#include "engine/kernel/kernel_spec.hpp"

namespace hone {

/// The kernel file's text for a problem: the values of STATIC fields stand where their initializers do. Lines stay where they are; a field
/// that the shape does not name keeps its default.
std::string source_for(const KernelSpec& spec, const Shape& shape);

/// What compiled code belongs to: the source's hash, of files with STATIC fields (or of a judge that has some) together with their values.
std::string code_hash(const KernelSpec& spec, const Problem& problem);

/// Whether code for one shape is code for the other: STATIC fields are equal.
bool same_code(const KernelSpec& spec, const Shape& a, const Shape& b);

/// Whether the field is STATIC in the kernel or in its judge: code for other values would be other code.
bool is_compiled_in(const KernelSpec& spec, std::string_view field);

/// Where the text stands in `source`; npos if it does not.
std::size_t find_initializer(std::string_view source, const Initializer& initializer);

}  // namespace hone
