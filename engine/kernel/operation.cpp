#include "engine/kernel/operation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <ranges>

#include "engine/base/names.hpp"
#include "engine/kernel/against.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/kernel_problem.hpp"

namespace hone {
namespace {

std::string_view operation_of(const EmbeddedKernel& kernel) { return kernel.operation.empty() ? kernel.name : kernel.operation; }

/// "long", "bool", or the enumerators.
std::string kind_text(const ProblemField& field) {
  if (field.kind == FieldKind::kExtent) {
    return "a number";
  }
  std::vector<std::string> labels;
  for (const auto& [label, value] : field.labels) {
    labels.push_back(fmt::format("{} = {}", label, value));
  }
  return field.kind == FieldKind::kFlag ? "a bool" : fmt::format("an enumeration of {}", fmt::join(labels, ", "));
}

std::string described(const KernelSpec& spec, const Argument& argument) {
  constexpr std::array<std::string_view, 5> kMarks{"IN", "OUT", "INOUT", "WORKSPACE", "SCALAR"};
  Argument flat = argument;
  flat.lanes = 1;  // one may see as vectors what another one sees as their elements
  return fmt::format("{}{} {}", kMarks.at(static_cast<std::size_t>(argument.direction)), argument.zeroed ? "_ZEROED" : "",
                     element_name(spec, flat));
}

/// What a caller passes.
std::vector<const Argument*> passed(const KernelSpec& spec) {
  std::vector<const Argument*> arguments;
  for (const Argument& argument : spec.arguments) {
    if (argument.direction != Direction::kWorkspace) {
      arguments.push_back(&argument);
    }
  }
  return arguments;
}

std::string names_of(const std::vector<const Argument*>& arguments) {
  return fmt::format("{}", fmt::join(arguments | std::views::transform([](const Argument* argument) { return argument->name; }), ", "));
}

void compare_problems(const KernelSpec& spec, const KernelSpec& definition, std::vector<std::string>& differences) {
  for (const ProblemField& field : definition.problem) {
    const auto own = std::ranges::find(spec.problem, field.name, &ProblemField::name);
    if (own == spec.problem.end()) {
      differences.push_back(fmt::format("its Problem lacks '{}'{}", field.name, field.comment.empty() ? "" : " (" + field.comment + ")"));
    } else if (kind_text(*own) != kind_text(field)) {
      differences.push_back(
          fmt::format("'{}' of its Problem is {}, and the operation's {}", field.name, kind_text(*own), kind_text(field)));
    }
  }
  for (const ProblemField& field : spec.problem) {
    if (std::ranges::find(definition.problem, field.name, &ProblemField::name) == definition.problem.end()) {
      differences.push_back(fmt::format("its Problem has '{}', which the operation's lacks", field.name));
    }
  }
}

void compare_arguments(const KernelSpec& spec, const KernelSpec& definition, std::vector<std::string>& differences) {
  const std::vector<const Argument*> own = passed(spec), theirs = passed(definition);
  if (!std::ranges::equal(own, theirs, {}, &Argument::name, &Argument::name)) {
    differences.push_back(fmt::format("its arguments are {}; the operation's are {}, in this order", names_of(own), names_of(theirs)));
    return;
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (const std::string mine = described(spec, *own[i]), wanted = described(definition, *theirs[i]); mine != wanted) {
      differences.push_back(fmt::format("its argument '{}' is {}, and the operation's {}", own[i]->name, mine, wanted));
    }
  }
}

bool has_answer(const KernelSpec& spec) { return !spec.reference.empty() || !spec.acceptances.empty(); }

/// Whose Problem, arguments and reference count: of built-in ones the most general, which comes first in kernels_src/CMakeLists.txt.
Result<const KernelSpec*> definition_of(std::string_view operation, std::span<const KernelSpec* const> own) {
  for (const EmbeddedKernel& kernel : embedded_kernels()) {
    if (operation_of(kernel) == operation) {
      return find_builtin_kernel(kernel.name);
    }
  }
  const auto defines = [&](const KernelSpec* spec) { return hone::operation_of(*spec) == operation && has_answer(*spec); };
  const auto first = std::ranges::find_if(own, defines);
  return first == own.end() ? nullptr : *first;
}

}  // namespace

const std::string& operation_of(const KernelSpec& spec) { return spec.operation.empty() ? spec.name : spec.operation; }

std::vector<std::string> builtin_operations() {
  std::map<std::string_view, int> counts;
  for (const EmbeddedKernel& kernel : embedded_kernels()) {
    ++counts[operation_of(kernel)];
  }
  std::vector<std::string> names;
  for (const auto& [name, count] : counts) {
    if (count > 1) {
      names.emplace_back(name);
    }
  }
  return names;
}

Result<Operation> find_operation(std::string_view name, std::span<const KernelSpec* const> own) {
  Operation operation{.name = std::string(name), .implementations = {}};
  for (const EmbeddedKernel& kernel : embedded_kernels()) {
    if (operation_of(kernel) == name) {
      HONE_ASSIGN(const KernelSpec* const spec, find_builtin_kernel(kernel.name));
      operation.implementations.insert(operation.implementations.begin(), spec);
    }
  }
  for (const KernelSpec* const spec : own) {
    if (operation_of(*spec) == name) {
      operation.implementations.push_back(spec);
    }
  }
  const auto replacing = std::ranges::find_if(own, [&](const KernelSpec* spec) { return spec->operation.empty() && spec->name == name; });
  if (replacing != own.end() && operation.implementations.front() != *replacing) {
    return Operation{.name = operation.name, .implementations = {*replacing}, .definition = *replacing};
  }
  if (operation.implementations.empty()) {
    return Error{ErrorCode::kNotFound, unknown_name("operation", name, builtin_operations())};
  }
  HONE_ASSIGN(operation.definition, definition_of(name, own));
  return operation;
}

Result<KernelSpec> as_implementation(KernelSpec spec, std::span<const KernelSpec* const> own) {
  const std::string operation = operation_of(spec);
  const KernelSpec* definition = nullptr;
  if (!spec.operation.empty()) {
    HONE_ASSIGN(definition, definition_of(operation, own));
  }
  if (definition == nullptr) {
    return has_answer(spec) ? Result<KernelSpec>(std::move(spec))
                            : Error{ErrorCode::kInvalidArgument,
                                    fmt::format("{}: no reference: it implements '{}', which no kernel defines that is known here. Give it "
                                                "a REFERENCE, or name the file that has it, too (--with)",
                                                spec.file, operation)};
  }
  if (definition->name == spec.name && definition->source_hash == spec.source_hash) {
    return spec;
  }
  std::vector<std::string> differences;
  compare_problems(spec, *definition, differences);
  compare_arguments(spec, *definition, differences);
  if (!differences.empty()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{} does not implement '{}' as {} defines it: {}", spec.file, operation,
                                                          definition->file, fmt::join(differences, "; "))};
  }
  return held_against(std::move(spec), *definition);
}

Result<Problem> problem_for(const KernelSpec& implementation, const Problem& problem) {
  return make_problem(implementation, problem.dtype, problem.shape);
}

std::string implementations_text(const Operation& operation) {
  std::vector<std::string> names;
  for (const KernelSpec* const spec : operation.implementations) {
    names.push_back(spec->name);
  }
  const std::string last = names.back();
  names.pop_back();
  return names.empty() ? last : fmt::format("{} and {}", fmt::join(names, ", "), last);
}

}  // namespace hone
