#pragma once
// A workload: what an application launches and how often, as a text that people review and `hone tune --workload` reads.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hone/error.hpp"
#include "hone/problem.hpp"

namespace hone {

struct WorkloadProblem {
  std::string kernel;                  ///< an operation, a kernel, or the path of a kernel file
  std::string dtypes;                  ///< "bf16", "In=e4m3,Out=bf16"; empty: the kernel's only ones
  Shape shape;                         ///< extents that are left out are the kernel's defaults
  std::uint64_t count = 1;             ///< launches: the weight of the problem's time
  std::optional<double> time_us = {};  ///< of a launch, where something measured it: a record of the store
};

using Workload = std::vector<WorkloadProblem>;

/// Reads the text of a file: a line {"hone_workload": 1}, then a line for each problem. Equal problems become one, so that files may be
/// joined end to end. Errors, kInvalidArgument, name `file`, the line and what is wrong there.
Result<Workload> parse_workload(std::string_view text, std::string_view file);
std::string text(const Workload& workload);

/// Adds the launches of `more`: to a problem that is there already, else behind the others. Two times become their mean by launches.
void merge(Workload& workload, const Workload& more);

/// Errors: kNotFound, there is no such file; kIo; as parse_workload().
Result<Workload> read_workload(const std::filesystem::path& file);

/// Adds launches to what the file holds, or makes it; the problem that is launched most often comes first. The file is replaced as a whole,
/// one process at a time. Errors: kIo, the folder cannot be written, or another process holds it for seconds; as parse_workload(). The file
/// is then as it was.
Result<void> add_to_workload(const std::filesystem::path& file, const Workload& more);

}  // namespace hone
