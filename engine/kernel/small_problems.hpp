#pragma once
// The small problems on which a configuration is validated besides the real one.

#include <cstdint>
#include <vector>

#include "engine/kernel/kernel_problem.hpp"

namespace hone {

/// Small ragged problems on which a configuration is validated besides the real one: extents of 1 (of 0 where they may be), primes, one off
/// a power of two. Fields that a parameter has to equal (`c.layout == p.layout`) choose a variant of the kernel and keep their values, as
/// STATIC fields do, and extents that must fit each other (`p.k <= p.cols` in valid) do. Deterministic; each is at most about
/// `limit_elements` elements in its largest argument.
std::vector<Problem> ragged_problems(const KernelSpec& spec, const Problem& problem, std::int64_t limit_elements);

/// What the author wants tried (SHAPES), the larger argument of each with at most `limit_elements` elements; not the problem itself.
std::vector<Problem> given_problems(const KernelSpec& spec, const Problem& problem, std::int64_t limit_elements);
/// Small problems of the other sort: whole tiles (one power of two everywhere), two less, 20, 1, 2 and 3 everywhere, and for each axis one
/// that is long on it and short on the others. As above.
std::vector<Problem> regular_problems(const KernelSpec& spec, const Problem& problem, std::int64_t limit_elements);
/// For what can do no small problem, as a kernel of more tiles than a device has room for: the problem with all extents halved up to three
/// times, and such with one extent short, none below 256 unless it is. What is left of an extent keeps its remainder of 64, and with it
/// what lines are aligned to. Those with the least to do, by the product of the extents, come first; the problem itself is not among them.
std::vector<Problem> reduced_problems(const KernelSpec& spec, const Problem& problem);

}  // namespace hone
