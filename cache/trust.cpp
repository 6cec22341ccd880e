#include "cache/trust.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "engine/store/store_server.hpp"

namespace hone::cache {
namespace {

namespace fs = std::filesystem;

/// One path a line.
fs::path list_path() { return data_directory() / "trusted_stores"; }

std::vector<fs::path> read_list() {
  struct stat status {};
  std::vector<fs::path> paths;
  // A list that others can write is not this user's word.
  if (stat(list_path().c_str(), &status) != 0 || status.st_uid != geteuid() || (status.st_mode & 022) != 0) {
    return paths;
  }
  std::ifstream file(list_path());
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) {
      paths.emplace_back(line);
    }
  }
  return paths;
}

Result<void> write_list(const std::vector<fs::path>& paths) {
  std::error_code failure;
  fs::create_directories(data_directory(), failure);
  const fs::path draft = fmt::format("{}.{}", list_path().string(), getpid());
  {
    std::ofstream file(draft);
    for (const fs::path& path : paths) {
      file << path.string() << '\n';
    }
    file.close();
    if (!file) {
      return Error{ErrorCode::kIo, fmt::format("{} cannot be written: {}", draft.string(), std::strerror(errno))};
    }
  }
  chmod(draft.c_str(), 0600);
  fs::rename(draft, list_path(), failure);
  return failure ? Result<void>(Error{ErrorCode::kIo, fmt::format("{} cannot be written: {}", list_path().string(), failure.message())})
                 : Result<void>();
}

}  // namespace

fs::path data_directory() {
  // The XDG specification wants relative paths ignored.
  const char* const data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && fs::path(data).is_absolute()) {
    return fs::path(data) / "hone";
  }
  const char* const variable = std::getenv("HOME");
  fs::path home = variable == nullptr ? "" : variable;
  if (const passwd* user = home.empty() ? getpwuid(getuid()) : nullptr; user != nullptr) {
    home = user->pw_dir;
  }
  return home / ".local" / "share" / "hone";
}

bool is_trusted(const fs::path& path) {
  std::error_code failure;
  if (path.native() == fs::weakly_canonical(data_directory() / "store.db", failure).native()) {
    return true;
  }
  const std::vector<fs::path> list = read_list();
  return std::ranges::find(list, path.native(), &fs::path::native) != list.end();  // as paths, names of two servers may be equal
}

}  // namespace hone::cache

namespace hone {

Result<void> trust_store(const std::filesystem::path& path, bool trusted) {
  std::error_code failure;
  const std::filesystem::path file = is_store_server(path)
                                         ? std::filesystem::path(store_name(path))
                                         : std::filesystem::weakly_canonical(std::filesystem::absolute(path, failure), failure);
  if (path.empty() || failure || file.string().find('\n') != std::string::npos) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("'{}' cannot be the path of a store", path.string())};
  }
  if (trusted) {
    HONE_TRY(open_store(is_store_server(path) ? path : file, StoreMode::kReadOnly));
  }
  std::vector<std::filesystem::path> list = cache::read_list();
  std::erase_if(list, [&](const std::filesystem::path& one) { return one.native() == file.native(); });
  if (trusted) {
    list.push_back(file);
  }
  return cache::write_list(list);
}

Result<std::vector<std::filesystem::path>> trusted_stores() { return cache::read_list(); }

}  // namespace hone
