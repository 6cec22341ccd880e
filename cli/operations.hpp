#pragma once
// Operations where a verb takes a kernel: a built-in one by its name, and files of the user's own that implement it.

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "engine/device/library.hpp"
#include "engine/kernel/operation.hpp"

namespace hone::cli {

struct OperationSubject {
  std::deque<KernelSpec> own;  ///< of files; they stay where they are
  Operation operation;
};

/// Reads kernel files, in whatever order: one may implement what another defines. Errors: one cannot be read; two hold kernels of the same
/// name; one has no reference, and the others do not define what it implements.
Result<std::deque<KernelSpec>> read_files(const std::vector<std::string>& files, const cxxopts::ParseResult& arguments);
/// A kernel that was read, as an implementation of what is built in or of what the files of --with define.
Result<KernelSpec> implementation_beside_files(KernelSpec read, const cxxopts::ParseResult& arguments);
std::vector<const KernelSpec*> pointers(const std::deque<KernelSpec>& specs);

/// --with: files that implement the operation beside what is built in.
void add_with_option(cxxopts::Options& options);
std::vector<std::string> with_files(const cxxopts::ParseResult& arguments);

/// Null where a kernel was named and no file given beside it. Errors: a file that cannot be read, or implements something else.
Result<std::unique_ptr<OperationSubject>> find_operation_subject(const cxxopts::ParseResult& arguments);

/// --without: kernels of the operation that take no part.
void add_without_option(cxxopts::Options& options);
/// Leaves those out; libraries may be named, too. Errors: a name that is none of them, or no kernel is left.
Result<void> leave_out(const cxxopts::ParseResult& arguments, Operation& operation);
/// What libraries have for the problem joins the kernels; then those of --without are left out. Errors: a name that is none of them, or
/// nobody is left.
Result<void> choose_participants(const cxxopts::ParseResult& arguments, const Registry::Found& device, const Problem& problem,
                                 OperationSubject& subject);

/// The kernel that was named, maybe a library's; of an operation, the one that serves the problem, as a program gets it that asks for the
/// operation, and what serves (Subject::choice). `compiled`: of those that are compiled; what is said where another one would serve goes to
/// standard error. `launch`: as Lookup's. Where a file is named with a configuration, it is its kernel that is meant, whatever serves.
Result<Subject> find_serving_subject(const cxxopts::ParseResult& arguments, bool launch = false, bool compiled = false);
/// " --with FILE" for each of them, as a command that is suggested repeats it.
std::string with_text(const cxxopts::ParseResult& arguments);

/// A library's function by its own name; null if the name is none.
const LibraryKernel* library_named(std::string_view name);
/// The libraries of all devices that implement an operation.
std::vector<const LibraryKernel*> libraries_for(std::string_view operation);

/// What a verb that takes one kernel to search or check says of an operation, or of a library's function; nothing where `name` is neither.
std::optional<Error> not_an_operation(const std::string& name);

}  // namespace hone::cli
