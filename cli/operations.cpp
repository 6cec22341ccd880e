#include "cli/operations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/registry.hpp"
#include "engine/base/names.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/store/library_lookup.hpp"
#include "engine/tune/participants.hpp"
#include "engine/worker/worker.hpp"

namespace hone::cli {
namespace {

bool is_builtin_operation(const std::string& name) {
  const std::vector<std::string> known = builtin_operations();
  return std::ranges::find(known, name) != known.end();
}

}  // namespace

std::vector<const KernelSpec*> pointers(const std::deque<KernelSpec>& specs) {
  std::vector<const KernelSpec*> all;
  for (const KernelSpec& spec : specs) {
    all.push_back(&spec);
  }
  return all;
}

Result<std::deque<KernelSpec>> read_files(const std::vector<std::string>& files, const cxxopts::ParseResult& arguments) {
  std::deque<KernelSpec> read;
  for (const std::string& file : files) {
    HONE_ASSIGN(KernelSpec spec, read_kernel_file_in_worker(file, find_flags(arguments)));
    print_warnings(spec);
    if (const auto same = std::ranges::find(read, spec.name, &KernelSpec::name); same != read.end()) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("{} and {} hold kernels of the same name, '{}'", same->file, file, spec.name)};
    }
    read.push_back(std::move(spec));
  }
  std::deque<KernelSpec> own;
  for (const KernelSpec& spec : read) {
    HONE_ASSIGN(own.emplace_back(), as_implementation(spec, pointers(read)));
  }
  return own;
}

Result<KernelSpec> implementation_beside_files(KernelSpec read, const cxxopts::ParseResult& arguments) {
  std::deque<KernelSpec> beside;
  for (const std::string& file : with_files(arguments)) {
    HONE_ASSIGN(beside.emplace_back(), read_kernel_file_in_worker(file, find_flags(arguments)));
    print_warnings(beside.back());
  }
  return as_implementation(std::move(read), pointers(beside));
}

const LibraryKernel* library_named(std::string_view name) {
  for (const auto& plugin : registry().devices()) {
    for (const LibraryKernel* const library : plugin->libraries()) {
      if (library->name() == name) {
        return library;
      }
    }
  }
  return nullptr;
}

std::vector<const LibraryKernel*> libraries_for(std::string_view operation) {
  std::vector<const LibraryKernel*> all;
  for (const auto& plugin : registry().devices()) {
    std::ranges::copy_if(plugin->libraries(), std::back_inserter(all),
                         [&](const LibraryKernel* library) { return library->operation() == operation; });
  }
  return all;
}

std::vector<std::string> with_files(const cxxopts::ParseResult& arguments) {
  return arguments.count("with") > 0 ? arguments["with"].as<std::vector<std::string>>() : std::vector<std::string>();
}

std::string with_text(const cxxopts::ParseResult& arguments) {
  std::string text;
  for (const std::string& file : with_files(arguments)) {
    text += " --with " + file;
  }
  return text;
}

void add_without_option(cxxopts::Options& options) {
  options.add_options()("without", "a kernel of the operation, or a library (cublaslt), that takes no part (repeatable)",
                        cxxopts::value<std::vector<std::string>>(), "KERNEL");
}

namespace {

std::vector<std::string> left_out(const cxxopts::ParseResult& arguments) {
  return arguments.count("without") > 0 ? arguments["without"].as<std::vector<std::string>>() : std::vector<std::string>();
}

/// Kernels of the operation, and libraries.
std::vector<std::string> known_participants(const Operation& operation) {
  std::vector<std::string> known;
  for (const KernelSpec* const spec : operation.implementations) {
    known.push_back(spec->name);
  }
  for (const LibraryKernel* const library : libraries_for(operation.name)) {
    known.emplace_back(library->name());
  }
  return known;
}

Result<void> leave_out_of(Operation& operation, const std::vector<std::string>& without, const std::vector<std::string>& known) {
  for (const std::string& name : without) {
    if (std::ranges::find(known, name) == known.end()) {
      return Error{ErrorCode::kInvalidArgument, unknown_name(fmt::format("kernel of {}", operation.name), name, known)};
    }
    std::erase_if(operation.implementations, [&](const KernelSpec* spec) { return spec->name == name; });
  }
  return operation.implementations.empty()
             ? Result<void>(Error{ErrorCode::kInvalidArgument, fmt::format("--without leaves no kernel of {}", operation.name)})
             : Result<void>();
}

}  // namespace

Result<void> leave_out(const cxxopts::ParseResult& arguments, Operation& operation) {
  return leave_out_of(operation, left_out(arguments), known_participants(operation));
}

Result<void> choose_participants(const cxxopts::ParseResult& arguments, const Registry::Found& device, const Problem& problem,
                                 OperationSubject& subject) {
  const std::vector<std::string> without = left_out(arguments);
  Operation& operation = subject.operation;
  const std::vector<std::string> known = known_participants(operation);
  for (const std::string& note : add_libraries(operation, subject.own, device, problem, without)) {
    fmt::print(stderr, "{}\n", note);
  }
  return leave_out_of(operation, without, known);
}

void add_with_option(cxxopts::Options& options) {
  options.add_options()("with",
                        "a kernel file that implements the operation, OPERATION(NAME), beside the kernels that are built in (repeatable)",
                        cxxopts::value<std::vector<std::string>>(), "FILE");
}

std::optional<Error> not_an_operation(const std::string& name) {
  if (const LibraryKernel* const library = library_named(name)) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{0} is a library's: it is tuned as one of the kernels of {1} (hone tune "
                                                          "{1}); hone run, hone best and hone verify take it by its own name",
                                                          name, library->operation())};
  }
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
  const std::vector<std::string> files = with_files(arguments);
  auto subject = std::make_unique<OperationSubject>();
  if (kernel.empty() || (files.empty() && !is_builtin_operation(kernel))) {
    return std::unique_ptr<OperationSubject>();
  }
  if (const Result<const KernelSpec*> builtin = find_builtin_kernel(kernel);
      !is_file(kernel) && builtin && operation_of(**builtin) != kernel) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{0} is one kernel of the operation {1}: give that, {1}, to choose among several",
                                                          kernel, operation_of(**builtin))};
  }
  std::vector<std::string> all = files;
  if (is_file(kernel)) {
    all.insert(all.begin(), kernel);
  }
  HONE_ASSIGN(subject->own, read_files(all, arguments));
  const std::string wanted = is_file(kernel) ? operation_of(subject->own.front()) : kernel;
  for (std::size_t i = all.size() - files.size(); i < all.size(); ++i) {
    if (const KernelSpec& spec = subject->own[i]; spec.operation != wanted) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{0} does not say that it implements {1}: OPERATION({1}); in the file does{2}", all[i], wanted,
                               spec.operation.empty() ? "" : fmt::format(", and it has OPERATION({})", spec.operation))};
    }
  }
  HONE_ASSIGN(subject->operation, find_operation(wanted, pointers(subject->own)));
  return subject;
}

Result<Subject> find_serving_subject(const cxxopts::ParseResult& arguments, bool launch, bool compiled) {
  HONE_ASSIGN(const std::unique_ptr<OperationSubject> operation, find_operation_subject(arguments));
  const LibraryKernel* const library = arguments.count("kernel") > 0 ? library_named(arguments["kernel"].as<std::string>()) : nullptr;
  if (!operation && library != nullptr) {
    HONE_ASSIGN(KernelSpec spec, library_spec(*library));
    Subject subject{.spec = std::move(spec)};
    HONE_ASSIGN(const Target target, find_target(arguments, subject));
    const std::vector<const LibraryKernel*> there = target.device.plugin->libraries();
    return std::ranges::find(there, library) != there.end()
               ? Result<Subject>(std::move(subject))
               : Error{ErrorCode::kInvalidArgument, fmt::format("{} is no library of {}", library->name(), target.device.info.id)};
  }
  if (!operation) {
    return find_subject(arguments);
  }
  if (arguments.count("arch") > 0) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("which kernel of {} serves is known for devices that are here: with --arch give one of {}",
                             operation->operation.name, implementations_text(operation->operation))};
  }
  const std::string config = arguments.count("config") > 0 ? arguments["config"].as<std::string>() : "";
  if (is_file(arguments["kernel"].as<std::string>()) && !config.empty() && config != "default" && config != "best") {
    return Subject{.spec = operation->own.front()};
  }
  Subject definition{.spec = *operation->operation.definition};
  HONE_ASSIGN(const Target target, find_target(arguments, definition));
  HONE_ASSIGN(const Given given, find_given(arguments, definition.spec));
  HONE_ASSIGN(const Purpose purpose, find_purpose(arguments, given));
  const bool untuned = config == "default";
  HONE_ASSIGN(
      const std::unique_ptr<Store> store,
      untuned ? std::unique_ptr<Store>() : open_existing_store(arguments, arguments.count("trust") > 0 ? Trust::kAll : Trust::kOwn));
  const Lookup lookup{.purpose = purpose, .launch = launch, .portfolios = !untuned};
  Libraries libraries(target.device.plugin->libraries());
  HONE_ASSIGN(OperationChoice chosen, choose(operation->operation, target.problem, target.device.info, store.get(), libraries, lookup));
  if (compiled && !chosen.spec->library.empty()) {
    const std::string won = chosen.spec->name;
    HONE_ASSIGN(chosen, choose(operation->operation, target.problem, target.device.info, store.get(), lookup));
    fmt::print(stderr, "{} serves this problem, and is a library's: here is the best of what Hone compiles, {}\n", won, chosen.spec->name);
  }
  return Subject{.spec = *chosen.spec, .choice = std::move(chosen.choice)};
}

}  // namespace hone::cli
