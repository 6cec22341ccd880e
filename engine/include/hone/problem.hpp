#pragma once
// A problem is what the caller fixes: its dtypes and a shape.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hone/kernel_spec.hpp"

namespace hone {

/// Named extents in the order of the kernel's `struct Problem`, each at least 1.
using Shape = std::vector<std::pair<std::string, std::int64_t>>;

struct Problem {
  DTypes dtype;
  Shape shape;
  friend bool operator==(const Problem&, const Problem&) = default;
};

/// "rows=512,cols=2048" -> pairs in the order written. Errors name the part that cannot be read.
Result<Shape> parse_shape(std::string_view text);
std::string text(const Shape& shape);

/// Completes `shape` with the kernel's defaults, puts it into the kernel's order and checks it.
/// Errors: an unknown extent (the known ones are listed), one given twice, one below 1, a dtype the kernel does not support,
/// an argument so large that its bytes overflow.
Result<Problem> make_problem(const KernelSpec& spec, const DTypes& dtypes, const Shape& shape);

/// Why a field cannot have this value; empty if it can.
std::string why_not(const ProblemField& field, std::int64_t value);

/// Elements of a CONSTANT argument. Errors: more than its array holds.
Result<std::int64_t> constant_elements(const KernelSpec& spec, const Argument& argument, const Problem& problem);

/// The Problem as kernels take it by value, in words of 8 bytes; without its STATIC fields.
std::vector<std::int64_t> packed(const KernelSpec& spec, const Problem& problem);

/// parse_shape() of a text that may have enumerators, and true and false, in place of numbers. Errors: as there, and no enumerator of the field.
Result<Shape> parse_shape(const KernelSpec& spec, std::string_view text);

/// The dtypes that `text` means for a kernel: "bf16", "In=e4m3,Out=bf16", or as much of it as leaves one combination; nothing where it has one.
/// Of several types a single one, "bf16", goes to each type parameter that may have it. Errors list what there is.
Result<DTypes> choose_dtypes(const KernelSpec& spec, std::string_view text);

/// p.NAME and sizeof(T) (of several types sizeof(In), ...), for expressions of this problem.
Bindings bindings(const Problem& problem);

/// Small ragged problems on which a configuration is validated besides the real one: extents of 1 (of 0 where they may be), primes, one off a power of two. Fields
/// that a parameter has to equal (`c.layout == p.layout`) choose a variant of the kernel and keep their values, as STATIC fields do, and extents that
/// must fit each other (`p.k <= p.cols` in valid) do.
/// Deterministic; each is at most about `limit_elements` elements in its largest argument.
std::vector<Problem> ragged_problems(const KernelSpec& spec, const Problem& problem, std::int64_t limit_elements);

/// What the author wants tried (SHAPES), the larger argument of each with at most `limit_elements` elements; not the problem itself.
std::vector<Problem> given_problems(const KernelSpec& spec, const Problem& problem, std::int64_t limit_elements);
/// Elements of the largest argument that the caller passes.
double largest_argument(const KernelSpec& spec, const Problem& problem);
/// The text of a condition of `valid` on the Problem alone that refuses it; empty if there is none.
std::string refusal(const KernelSpec& spec, const Problem& problem);

/// Small problems of the other sort: whole tiles (one power of two everywhere), two less, 20, 1, 2 and 3 everywhere, and for each axis one that
/// is long on it and short on the others. As above.
std::vector<Problem> regular_problems(const KernelSpec& spec, const Problem& problem, std::int64_t limit_elements);

}  // namespace hone
