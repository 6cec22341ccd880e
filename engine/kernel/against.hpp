#pragma once
// A kernel held against another one's reference: its own reference, cost, tolerances and extents are not believed.

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/kernel/kernel_problem.hpp"

namespace hone {

/// `subject` with the reference, cost, extents and defaults of `judge`. Its Problem's fields are those of the judge with the same name
/// (what it lacks keeps the judge's default), its arguments those of the same name, else of the same place, direction and element type.
/// Errors, kInvalidArgument: what does not match.
Result<KernelSpec> held_against(KernelSpec subject, const KernelSpec& judge);

/// The same problem as the judge states it: all its fields, in its order.
Problem judged_problem(const KernelSpec& judge, const Problem& problem);

/// A CUDA file without Hone's marks, and how one of its kernels is launched. Expressions are C++ over p.* of the judge and sizeof(T).
struct PlainKernel {
  std::filesystem::path file;
  std::string entry;                     ///< with template arguments where it needs them; empty: the only kernel of the file
  std::vector<std::string> grid, block;  ///< one to three expressions
  std::string shared = "0";              ///< bytes of dynamic shared memory
  std::vector<std::string> arguments;    ///< what each parameter gets: an argument of the judge, or an expression; empty: by the names
};

/// Whether a file has none of Hone's marks.
Result<bool> is_plain(const std::filesystem::path& file);

/// The plain kernel as a kernel file of one configuration, held against `judge`. The file is compiled as it is, behind a kernel that calls
/// it. Errors: kNotFound, no such file; kInvalidArgument, what cannot be matched; kUnavailable, no libclang to read the expressions.
Result<KernelSpec> wrapped(const PlainKernel& plain, const KernelSpec& judge);

}  // namespace hone
