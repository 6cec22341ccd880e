#include "engine/store/workload.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "engine/base/json_depth.hpp"
#include "engine/base/names.hpp"

namespace hone {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int kVersion = 1;
constexpr std::uint64_t kMostCount = std::uint64_t{1} << 53;  // what JSON readers keep exact
constexpr double kTimeDigits = 1e3;                           // of a time: nanoseconds
constexpr double kLeastTime = 1e-3, kMostTime = 1e12;         // microseconds
constexpr std::chrono::milliseconds kLockPause{10};
constexpr int kLockTries = 300;

// ---- reading --------------------------------------------------------------------------------------------------------------------------

Error wrong(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what)}; }

Result<void> check_version(const Json& version) {
  if (!version.is_number_unsigned() || version == 0) {
    return wrong(fmt::format("hone_workload is {}: it is the version of the format, {}", version.dump(), kVersion));
  }
  if (version > kVersion) {
    return wrong(fmt::format("version {} of the format was written by a newer Hone; this one reads version {}", version.dump(), kVersion));
  }
  return {};
}

Result<Shape> read_extents(const Json& json) {
  Shape shape;
  if (!json.is_object()) {
    return wrong(fmt::format("shape is {}: give extents, such as {{\"rows\": 512, \"cols\": 2048}}", json.dump()));
  }
  for (const auto& [name, extent] : json.items()) {
    const bool whole = extent.is_number_integer() && (!extent.is_number_unsigned() || extent <= std::numeric_limits<std::int64_t>::max());
    if (!whole) {
      return wrong(fmt::format("the extent {} is {}: it is a whole number", name, extent.dump()));
    }
    shape.emplace_back(name, extent.get<std::int64_t>());
  }
  return shape;
}

Result<std::string> read_text(const Json& problem, const std::string& key) {
  const Json& value = problem.at(key);
  return value.is_string() && !value.get_ref<const std::string&>().empty()
             ? Result<std::string>(value.get<std::string>())
             : wrong(fmt::format("{} is {}: it is a text, such as {}", key, value.dump(), key == "kernel" ? "\"matmul\"" : "\"bf16\""));
}

Result<WorkloadProblem> read_problem(const Json& json) {
  static const std::vector<std::string> known{"kernel", "dtype", "shape", "count", "time_us"};
  for (const auto& [key, value] : json.items()) {
    if (std::ranges::find(known, key) == known.end()) {
      return wrong(unknown_name("field", key, known));
    }
  }
  for (const std::string key : {"kernel", "shape", "count"}) {
    if (!json.contains(key)) {
      return wrong(fmt::format("{} is missing", key));
    }
  }
  WorkloadProblem problem;
  HONE_ASSIGN(problem.kernel, read_text(json, "kernel"));
  if (json.contains("dtype")) {
    HONE_ASSIGN(problem.dtypes, read_text(json, "dtype"));
  }
  HONE_ASSIGN(problem.shape, read_extents(json.at("shape")));
  const Json& count = json.at("count");
  if (!count.is_number_unsigned() || count == 0 || count > kMostCount) {
    return wrong(
        fmt::format("count is {}: it is how often the problem is launched, a whole number from 1 to {}", count.dump(), kMostCount));
  }
  problem.count = count.get<std::uint64_t>();
  if (json.contains("time_us")) {
    const Json& time = json.at("time_us");
    if (!time.is_number() || time.get<double>() < kLeastTime || time.get<double>() > kMostTime) {
      return wrong(fmt::format("time_us is {}: it is a time in microseconds, from {:g}; leave it out where it is not known", time.dump(),
                               kLeastTime));
    }
    problem.time_us = time.get<double>();
  }
  return problem;
}

Result<Json> read_line(std::string_view line) {
  constexpr std::size_t kDeepest = 4;
  if (json_depth(line) > kDeepest) {
    return wrong("a line has at most an object in an object");
  }
  Json json = Json::parse(line, nullptr, false);
  return json.is_object() ? Result<Json>(std::move(json))
                          : wrong(
                                "this is no JSON object; a line is {\"kernel\": \"matmul\", \"dtype\": \"bf16\", \"shape\": {...}, "
                                "\"count\": 32}");
}

/// What makes two problems the same.
std::string key_of(const WorkloadProblem& problem) {
  Shape sorted = problem.shape;
  std::ranges::sort(sorted);
  return fmt::format("{}\n{}\n{}", problem.kernel, problem.dtypes, text(sorted));
}

// ---- writing --------------------------------------------------------------------------------------------------------------------------

Error unwritable(const fs::path& file, int why) {
  return {ErrorCode::kIo, fmt::format("the workload {} cannot be written: {}", file.string(), std::strerror(why))};
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

/// Only one process at a time reads a workload and replaces it: it holds the folder, so that no other file is left behind.
class FolderLock {
 public:
  FolderLock() = default;
  FolderLock(FolderLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }

  static Result<FolderLock> take(const fs::path& file) {
    FolderLock lock;
    lock.descriptor_ = ::open(folder_of(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock.descriptor_ < 0) {
      return unwritable(file, errno);
    }
    for (int i = 0; ::flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0; ++i) {
      if (errno != EWOULDBLOCK && errno != EINTR) {
        break;  // a file system without locks
      }
      if (i == kLockTries) {
        return Error{ErrorCode::kIo, fmt::format("the workload {} cannot be written: another process holds its folder; what was counted is "
                                                 "kept for the next attempt",
                                                 file.string())};
      }
      std::this_thread::sleep_for(kLockPause);
    }
    return lock;
  }

 private:
  int descriptor_ = -1;
};

/// Under another name first, beside it.
Result<void> replace_file(const fs::path& file, const std::string& text) {
  const fs::path draft = fmt::format("{}.{}.part", file.string(), ::getpid());
  {
    std::ofstream out(draft, std::ios::binary);
    out << text << std::flush;
    if (!out) {
      const int why = errno;
      ::unlink(draft.c_str());
      return unwritable(file, why);
    }
  }
  if (::rename(draft.c_str(), file.c_str()) != 0) {
    const int why = errno;
    ::unlink(draft.c_str());
    return unwritable(file, why);
  }
  return {};
}

}  // namespace

Result<Workload> parse_workload(std::string_view text, std::string_view file) {
  Workload workload;
  bool begun = false;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      continue;
    }
    const auto here = [&](const Error& error) { return wrong(fmt::format("{}:{}: {}", file, number + 1, error.message)); };
    const Result<Json> json = read_line(line);
    if (!json) {
      return here(json.error());
    }
    if (json->contains("hone_workload")) {
      if (const Result<void> known = check_version(json->at("hone_workload")); !known) {
        return here(known.error());
      }
      begun = true;
      continue;
    }
    if (!begun) {
      return here(wrong(fmt::format("this is no workload: its first line is {{\"hone_workload\": {}}}", kVersion)));
    }
    Result<WorkloadProblem> problem = read_problem(*json);
    if (!problem) {
      return here(problem.error());
    }
    workload.push_back(*std::move(problem));
  }
  if (!begun) {
    return wrong(fmt::format("{}:1: this is no workload: its first line is {{\"hone_workload\": {}}}", file, kVersion));
  }
  Workload merged;
  merge(merged, workload);
  return merged;
}

std::string text(const Workload& workload) {
  std::string all = Json{{"hone_workload", kVersion}}.dump() + "\n";
  for (const WorkloadProblem& problem : workload) {
    Json line{{"kernel", problem.kernel}};
    if (!problem.dtypes.empty()) {
      line["dtype"] = problem.dtypes;
    }
    line["shape"] = Json::object();
    for (const auto& [name, extent] : problem.shape) {
      line["shape"][name] = extent;
    }
    line["count"] = problem.count;
    if (problem.time_us) {
      line["time_us"] = std::round(std::clamp(*problem.time_us, kLeastTime, kMostTime) * kTimeDigits) / kTimeDigits;
    }
    all += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return all;
}

void merge(Workload& workload, const Workload& more) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < workload.size(); ++i) {
    places.emplace(key_of(workload[i]), i);
  }
  for (const WorkloadProblem& problem : more) {
    const auto [at, added] = places.emplace(key_of(problem), workload.size());
    if (added) {
      workload.push_back(problem);
      continue;
    }
    WorkloadProblem& same = workload[at->second];
    if (same.time_us && problem.time_us) {
      const auto before = static_cast<double>(same.count), later = static_cast<double>(problem.count);
      same.time_us = (*same.time_us * before + *problem.time_us * later) / (before + later);
    } else {
      same.time_us = problem.time_us ? problem.time_us : same.time_us;
    }
    same.count = std::min(kMostCount, same.count + problem.count);
  }
}

Result<Workload> read_workload(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::error_code failed;
  if (!in || fs::is_directory(file, failed)) {
    const bool there = fs::exists(file, failed);
    return Error{there ? ErrorCode::kIo : ErrorCode::kNotFound,
                 fmt::format("the workload {} {}", file.string(), there ? "cannot be read" : "is not there")};
  }
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return parse_workload(text, file.string());
}

Result<void> add_to_workload(const fs::path& file, const Workload& more) {
  HONE_ASSIGN(const FolderLock lock, FolderLock::take(file));
  Result<Workload> held = read_workload(file);
  if (!held && held.error().code != ErrorCode::kNotFound) {
    return held.error();
  }
  Workload workload = held ? *std::move(held) : Workload();
  merge(workload, more);
  std::ranges::stable_sort(workload, std::greater(), &WorkloadProblem::count);
  return replace_file(file, text(workload));
}

}  // namespace hone
