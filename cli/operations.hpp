#pragma once
// Operations where a verb takes a kernel: a built-in one by its name, and files of the user's own that implement it.

#include <deque>
#include <memory>

#include "cli/options.hpp"
#include "engine/kernel/operation.hpp"

namespace hone::cli {

struct OperationSubject {
  std::deque<KernelSpec> own;  ///< of files; they stay where they are
  Operation operation;
};

/// --with: files that implement the operation beside what is built in.
void add_with_option(cxxopts::Options& options);

/// Null where a kernel was named and no file given beside it. Errors: a file that cannot be read, or implements something else.
Result<std::unique_ptr<OperationSubject>> find_operation_subject(const cxxopts::ParseResult& arguments);

/// The kernel that was named; of an operation, the one that serves the problem, as a program gets it that asks for the operation.
Result<Subject> find_serving_subject(const cxxopts::ParseResult& arguments);

/// What a verb that takes one kernel says of an operation; nothing where `name` is none.
std::optional<Error> not_an_operation(const std::string& name);

}  // namespace hone::cli
