#include "hone/kernel_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace hone {
namespace {

/// Levenshtein's distance, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
    }
  }
  return row.back();
}

std::string nearest_names(std::string_view wanted, const std::vector<KernelSpec>& kernels) {
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  for (const auto& kernel : kernels) {
    // A name that contains what was typed is what was meant, however long the rest is.
    const bool contains = !wanted.empty() && kernel.name.find(wanted) != std::string::npos;
    ranked.emplace_back(contains ? 0 : edit_distance(wanted, kernel.name), kernel.name);
  }
  std::sort(ranked.begin(), ranked.end());
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(ranked.size(), 3); ++i) {
    names += fmt::format("{}'{}'", i == 0 ? "" : ", ", ranked[i].second);
  }
  return names;
}

}  // namespace

const Parameter* KernelSpec::find_parameter(std::string_view parameter) const {
  const auto found = std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& p) { return p.name == parameter; });
  return found == parameters.end() ? nullptr : &*found;
}

Result<const KernelSpec*> find_builtin_kernel(std::string_view kernel) {
  const auto& kernels = builtin_kernels();
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const KernelSpec& spec) { return spec.name == kernel; });
  if (found != kernels.end()) {
    return &*found;
  }
  if (kernels.empty()) {
    return Error{ErrorCode::kNotFound, fmt::format("no kernel '{}': this build of Hone has no built-in kernels", kernel)};
  }
  return Error{ErrorCode::kNotFound, fmt::format("no built-in kernel '{}'; the nearest are {}", kernel, nearest_names(kernel, kernels))};
}

}  // namespace hone
