#include "engine/runtime/workload_recorder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace hone {

Result<void> WorkloadRecorder::check() const {
  const Result<Workload> held = read_workload(file_);
  if (!held && held.error().code != ErrorCode::kNotFound) {
    return held.error();
  }
  const std::filesystem::path folder = file_.has_parent_path() ? file_.parent_path() : ".";
  if (::access(folder.c_str(), W_OK) != 0) {
    return Error{ErrorCode::kIo,
                 fmt::format("the workload {} cannot be written: {}: {}", file_.string(), folder.string(), std::strerror(errno))};
  }
  return {};
}

std::shared_ptr<const LaunchCounter> WorkloadRecorder::counter(const WorkloadProblem& problem) {
  const std::lock_guard lock(mutex_);
  Counted& counted = problems_[fmt::format("{} {} {}", problem.kernel, problem.dtypes, text(problem.shape))];
  const std::optional<double> known = problem.time_us ? problem.time_us : counted.problem.time_us;
  counted.problem = problem;
  counted.problem.time_us = known;
  std::shared_ptr<const LaunchCounter> counter = counted.live.lock();
  if (counter == nullptr) {
    counter = std::make_shared<const LaunchCounter>(counted.ended);
    counted.live = counter;
  }
  return counter;
}

Result<void> WorkloadRecorder::write() {
  const std::lock_guard lock(mutex_);
  Workload more;
  std::vector<std::pair<Counted*, std::uint64_t>> counts;
  for (auto& [key, counted] : problems_) {
    if (const std::uint64_t launches = counted.launches(); launches > counted.written) {
      more.push_back(counted.problem);
      more.back().count = launches - counted.written;
      counts.emplace_back(&counted, launches);
    }
  }
  if (more.empty()) {
    return {};
  }
  HONE_TRY(add_to_workload(file_, more));
  for (const auto& [counted, launches] : counts) {
    counted->written = launches;
  }
  return {};
}

}  // namespace hone
