#include "cli/operations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/store/operation_lookup.hpp"
#include "engine/worker/worker.hpp"

namespace hone::cli {
namespace {

bool is_file(const std::string& kernel) { return kernel.ends_with(".cu") || kernel.find('/') != std::string::npos; }

bool is_builtin_operation(const std::string& name) {
  const std::vector<std::string> known = builtin_operations();
  return std::ranges::find(known, name) != known.end();
}

std::vector<const KernelSpec*> pointers(const std::deque<KernelSpec>& specs) {
  std::vector<const KernelSpec*> all;
  for (const KernelSpec& spec : specs) {
    all.push_back(&spec);
  }
  return all;
}

Result<void> add_file(const std::string& file, const cxxopts::ParseResult& arguments, OperationSubject& subject) {
  HONE_ASSIGN(KernelSpec read, read_kernel_file_in_worker(file, find_flags(arguments)));
  print_warnings(read);
  if (const auto same = std::ranges::find(subject.own, read.name, &KernelSpec::name); same != subject.own.end()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{} and {} hold kernels of the same name, '{}'", same->file, file, read.name)};
  }
  HONE_ASSIGN(KernelSpec spec, as_implementation(std::move(read), pointers(subject.own)));
  subject.own.push_back(std::move(spec));
  return {};
}

/// The operation that is meant by a name: its own, or that of a file.
std::string operation_named(const std::string& kernel, const OperationSubject& subject) {
  return is_file(kernel) ? operation_of(subject.own.front()) : kernel;
}

}  // namespace

void add_with_option(cxxopts::Options& options) {
  options.add_options()("with",
                        "a kernel file that implements the operation, OPERATION(NAME), beside the kernels that are built in (repeatable)",
                        cxxopts::value<std::vector<std::string>>(), "FILE");
}

std::optional<Error> not_an_operation(const std::string& name) {
  if (!is_builtin_operation(name)) {
    return std::nullopt;
  }
  const Result<Operation> operation = find_operation(name);
  if (!operation) {
    return operation.error();
  }
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{} is an operation, and one of its kernels is needed here: {}", name, implementations_text(*operation))};
}

Result<std::unique_ptr<OperationSubject>> find_operation_subject(const cxxopts::ParseResult& arguments) {
  const std::string kernel = arguments.count("kernel") > 0 ? arguments["kernel"].as<std::string>() : "";
  const auto files = arguments.count("with") > 0 ? arguments["with"].as<std::vector<std::string>>() : std::vector<std::string>();
  auto subject = std::make_unique<OperationSubject>();
  if (kernel.empty() || (files.empty() && !is_builtin_operation(kernel))) {
    return std::unique_ptr<OperationSubject>();
  }
  if (is_file(kernel)) {
    HONE_TRY(add_file(kernel, arguments, *subject));
  } else if (const Result<const KernelSpec*> builtin = find_builtin_kernel(kernel); builtin && operation_of(**builtin) != kernel) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{0} is one kernel of the operation {1}: give that, {1}, to choose among several",
                                                          kernel, operation_of(**builtin))};
  }
  for (const std::string& file : files) {
    HONE_TRY(add_file(file, arguments, *subject));
    const std::string wanted = operation_named(kernel, *subject);
    if (const KernelSpec& spec = subject->own.back(); spec.operation != wanted) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{0} does not say that it implements {1}: OPERATION({1}); in the file does{2}", file, wanted,
                               spec.operation.empty() ? "" : fmt::format(", and it has OPERATION({})", spec.operation))};
    }
  }
  HONE_ASSIGN(subject->operation, find_operation(operation_named(kernel, *subject), pointers(subject->own)));
  return subject;
}

Result<Subject> find_serving_subject(const cxxopts::ParseResult& arguments) {
  HONE_ASSIGN(const std::unique_ptr<OperationSubject> operation, find_operation_subject(arguments));
  if (!operation) {
    return find_subject(arguments);
  }
  if (arguments.count("arch") > 0) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("which kernel of {} serves is known for devices that are here: with --arch give one of {}",
                             operation->operation.name, implementations_text(operation->operation))};
  }
  Subject definition{.spec = *operation->operation.definition, .recorded = nullptr};
  HONE_ASSIGN(const Target target, find_target(arguments, definition));
  HONE_ASSIGN(const double max_error, find_accuracy(arguments));
  HONE_ASSIGN(const Given given, find_given(arguments, definition.spec));
  const bool untuned = arguments.count("config") > 0 && arguments["config"].as<std::string>() == "default";
  HONE_ASSIGN(const std::unique_ptr<Store> store, untuned ? std::unique_ptr<Store>() : open_existing_store(arguments));
  HONE_ASSIGN(const OperationChoice chosen,
              choose(operation->operation, target.problem, target.device.info, store.get(),
                     {.purpose = purpose_within(max_error, given.digest), .launch = false, .portfolios = !untuned}));
  return Subject{.spec = *chosen.spec, .recorded = nullptr};
}

}  // namespace hone::cli
