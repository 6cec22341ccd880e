#pragma once
// An operation: what several kernels compute, each in its own way, on the same Problem and arguments. One of them is chosen for a problem.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kernel/kernel_spec.hpp"
#include "hone/problem.hpp"

namespace hone {

struct Operation {
  std::string name;
  /// Where nothing was measured, the first that is legal serves: the special ones come before the general one, a user's behind those.
  std::vector<const KernelSpec*> implementations;
  const KernelSpec* definition = nullptr;  ///< of these: whose Problem, arguments, reference and cost are the operation's
};

/// What a kernel implements: what its file says, else an operation of its own name.
const std::string& operation_of(const KernelSpec& spec);

/// The names of those that several built-in kernels implement, by name.
std::vector<std::string> builtin_operations();

/// The operation of that name: its built-in implementations, and those among `own` in their order. A kernel that names no operation is the
/// only implementation of one of its own name, and takes the place of what is built in under that. Errors, kNotFound: there is none.
Result<Operation> find_operation(std::string_view name, std::span<const KernelSpec* const> own = {});

/// A kernel as it was read, made an implementation of its operation where another kernel, built in or among `own`, defines that: the answer
/// it is held to, its cost and its defaults are the operation's. Any other kernel as it is. Errors, kInvalidArgument: in what its Problem
/// or arguments differ, or that nobody has a reference.
Result<KernelSpec> as_implementation(KernelSpec spec, std::span<const KernelSpec* const> own = {});

/// The operation's problem as an implementation has it: the same fields, in its order.
Result<Problem> problem_for(const KernelSpec& implementation, const Problem& problem);

/// "gemv, gemm_mma and gemm"
std::string implementations_text(const Operation& operation);

}  // namespace hone
