#include "engine/runtime/kernel_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include "engine/kernel/builtin_kernels.hpp"

namespace hone {

void KernelNames::force_defaults(std::vector<std::string> forced_defaults) {
  force_default_ = std::move(forced_defaults);
  const char* const variable = std::getenv("HONE_FORCE_DEFAULT");
  std::istringstream list(variable == nullptr ? "" : variable);
  for (std::string name; std::getline(list, name, ',');) {
    force_default_.push_back(name);
  }
}

bool KernelNames::is_default_forced(std::string_view name) const {
  return std::ranges::any_of(force_default_, [&](const std::string& forced) { return forced == name || forced == "all"; });
}

/// What `hone tune` finds it by: the file of an application's own kernel if the file is here, otherwise the name.
std::string KernelNames::recorded_name(const Operation& operation) const {
  const KernelSpec& kernel = *operation.definition;
  const bool is_own = operation.name == kernel.name && std::ranges::find(own_in_order_, &kernel) != own_in_order_.end();
  std::error_code failed;
  const std::filesystem::path file = std::filesystem::absolute(kernel.file, failed);
  return is_own && std::filesystem::is_regular_file(file, failed) ? file.string() : operation.name;
}

/// A kernel of the application's own comes before an operation, and that before a built-in kernel, of the same name.
Result<Operation> KernelNames::meaning_of(std::string_view name) const {
  const auto own = own_kernels_.find(name);
  if (own != own_kernels_.end() && operation_of(own->second) != name) {
    return Operation{std::string(name), {&own->second}, &own->second};
  }
  Result<Operation> operation = find_operation(name, own_in_order_);
  if (operation) {
    return operation;
  }
  HONE_ASSIGN(const KernelSpec* const builtin, find_builtin_kernel(name));
  return Operation{std::string(name), {builtin}, builtin};
}

Result<std::shared_ptr<const NamedOperation>> KernelNames::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  if (const auto known = names_.find(name); known != names_.end()) {
    return known->second;
  }
  HONE_ASSIGN(Operation operation, meaning_of(name));
  auto named = std::make_shared<NamedOperation>();
  for (const KernelSpec* const spec : operation.implementations) {
    named->hashes += spec->source_hash;
  }
  named->tuned = operation;
  std::erase_if(named->tuned.implementations, [&](const KernelSpec* spec) {
    return is_default_forced(spec->name) || is_default_forced(operation_of(*spec)) || is_default_forced(operation.name);
  });
  named->recorded = recorded_name(operation);
  named->operation = std::move(operation);
  names_.emplace(name, named);
  return std::shared_ptr<const NamedOperation>(std::move(named));
}

Result<void> KernelNames::add(KernelSpec read) {
  const std::lock_guard lock(mutex_);
  HONE_ASSIGN(KernelSpec spec, as_implementation(std::move(read), own_in_order_));
  const std::string key = spec.name;
  const auto [at, added] = own_kernels_.emplace(key, std::move(spec));
  if (!added) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("a kernel named '{}' was added already", key)};
  }
  own_in_order_.push_back(&at->second);
  names_.clear();
  return {};
}

}  // namespace hone
