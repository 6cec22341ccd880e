#include "plugins/cpu/temporary_directory.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace hone::cpu {
namespace {

constexpr std::string_view kPrefix = "hone-cpu-";

std::filesystem::path root() {
  std::error_code failed;
  std::filesystem::path path = std::filesystem::temp_directory_path(failed);
  return failed ? std::filesystem::path("/tmp") : path;
}

/// Whether `name` is "hone-cpu-PID-..." of a process that is gone.
bool is_abandoned(std::string_view name) {
  if (!name.starts_with(kPrefix)) {
    return false;
  }
  name.remove_prefix(kPrefix.size());
  pid_t process = 0;
  const auto [end, status] = std::from_chars(name.data(), name.data() + name.size(), process);
  return status == std::errc() && process > 0 && end != name.data() + name.size() && *end == '-' && kill(process, 0) != 0 && errno == ESRCH;
}

}  // namespace

Result<TemporaryDirectory> TemporaryDirectory::create() {
  std::string path = (root() / fmt::format("{}{}-XXXXXX", kPrefix, getpid())).string();
  if (mkdtemp(path.data()) == nullptr) {
    return Error{ErrorCode::kIo, fmt::format("cannot make a directory for the compiler in {}: {} (set TMPDIR to use another directory)",
                                             root().string(), std::strerror(errno))};
  }
  return TemporaryDirectory(path);
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TemporaryDirectory::~TemporaryDirectory() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

void remove_abandoned_directories() {
  std::error_code failed;
  for (auto entry = std::filesystem::directory_iterator(root(), failed); !failed && entry != std::filesystem::directory_iterator();
       entry.increment(failed)) {
    struct stat status {};
    if (is_abandoned(entry->path().filename().string()) && lstat(entry->path().c_str(), &status) == 0 && status.st_uid == geteuid()) {
      std::error_code ignored;
      std::filesystem::remove_all(entry->path(), ignored);
    }
  }
}

}  // namespace hone::cpu
