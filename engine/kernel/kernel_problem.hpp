#pragma once
// Problems of a kernel: completed, checked, and as its code takes them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kernel/kernel_spec.hpp"
#include "hone/problem.hpp"

namespace hone {

/// Completes `shape` with the kernel's defaults, puts it into the kernel's order and checks it. A single dtype without a name means each
/// type parameter that may have it, as in choose_dtypes(). Errors: an unknown extent (the known ones are listed), one given twice, one
/// below 1, a dtype the kernel does not support, an argument so large that its bytes overflow.
Result<Problem> make_problem(const KernelSpec& spec, const DTypes& dtypes, const Shape& shape);

/// Why a field cannot have this value; empty if it can.
std::string why_not(const ProblemField& field, std::int64_t value);

/// Whether what is in constant memory fits there. Errors: a CONSTANT that does not.
Result<void> check_constants(const KernelSpec& spec, const Problem& problem);
/// Elements of a CONSTANT argument. Errors: more than its array holds.
Result<std::int64_t> constant_elements(const KernelSpec& spec, const Argument& argument, const Problem& problem);

/// The Problem as kernels take it by value, in words of 8 bytes; without its STATIC fields.
std::vector<std::int64_t> packed(const KernelSpec& spec, const Problem& problem);

/// parse_shape() of a text that may have enumerators, and true and false, in place of numbers. Errors: as there, and no enumerator of the
/// field.
Result<Shape> parse_shape(const KernelSpec& spec, std::string_view text);

/// The dtypes that `text` means for a kernel: "bf16", "In=e4m3,Out=bf16", or as much of it as leaves one combination; nothing where it has
/// one. Of several types a single one, "bf16", goes to each type parameter that may have it. Errors list what there is.
Result<DTypes> choose_dtypes(const KernelSpec& spec, std::string_view text);

/// p.NAME and sizeof(T) (of several types sizeof(In), ...), for expressions of this problem.
Bindings bindings(const Problem& problem);

/// Elements of the largest argument that the caller passes; 0 if no extent depends on the problem alone.
double largest_argument(const KernelSpec& spec, const Problem& problem);
/// Bytes of all arrays that the caller passes.
double argument_bytes(const KernelSpec& spec, const Problem& problem);
/// Whether a constraint is false, of those that can be evaluated with these values alone: whatever the others are, it cannot be met.
bool is_refuted(const KernelSpec& spec, const Bindings& bound);
/// The text of a condition of `valid` on the Problem alone that refuses it; empty if there is none.
std::string refusal(const KernelSpec& spec, const Problem& problem);

}  // namespace hone
