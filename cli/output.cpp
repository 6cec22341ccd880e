#include "cli/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace hone::cli {
namespace {

namespace fs = std::filesystem;

/// Closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { static_cast<void>(close()); }
  [[nodiscard]] int number() const { return number_; }
  /// Whether all that was written has arrived, as far as closing tells.
  [[nodiscard]] bool close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

Error cannot_write(const fs::path& path, int why) {
  return {ErrorCode::kIo, fmt::format("{} cannot be written: {}", path.string(), std::strerror(why))};
}

Result<void> write_into(const fs::path& path, int flags, std::span<const std::byte> bytes) {
  constexpr mode_t kMode = 0666;
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, kMode));
  const bool written = file.number() >= 0 && write_all(file.number(), bytes) && file.close();
  return written ? Result<void>() : cannot_write(path, errno);
}

bool is_database(const fs::path& path) {
  constexpr std::string_view kBeginning = "SQLite format 3";
  std::error_code failed;
  std::string beginning(kBeginning.size(), '\0');
  return fs::is_regular_file(path, failed) &&
         std::ifstream(path, std::ios::binary).read(beginning.data(), static_cast<std::streamsize>(beginning.size())) &&
         beginning == kBeginning;
}

}  // namespace

Result<void> print_out(std::string_view text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) {
    return Error{ErrorCode::kIo, fmt::format("standard output cannot be written: {}", std::strerror(errno == 0 ? EIO : errno))};
  }
  return {};
}

Result<void> check_target(const fs::path& path) {
  if (path.empty()) {
    return Error{ErrorCode::kInvalidArgument, "a file without a name cannot be written: name one"};
  }
  std::string database = path.string();
  for (const std::string_view suffix : {"-wal", "-shm", "-journal"}) {  // what SQLite keeps beside a database is part of it
    database.resize(database.size() - (database.ends_with(suffix) ? suffix.size() : 0));
  }
  if (is_database(database)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} is a store, or another SQLite database, and would be lost: name another file", path.string())};
  }
  return {};
}

Result<void> check_writable(const fs::path& path) {
  HONE_TRY(check_target(path));
  std::error_code failed;
  const fs::file_status there = fs::status(path, failed);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (fs::is_directory(there)) {
    return cannot_write(path, EISDIR);
  }
  const bool is_replaced = !fs::exists(there) || fs::is_regular_file(there);
  if (::access((is_replaced ? folder : path).c_str(), is_replaced ? W_OK | X_OK : W_OK) != 0) {
    return cannot_write(path, errno);
  }
  return {};
}

Result<void> write_file(const fs::path& given, std::span<const std::byte> bytes) {
  HONE_TRY(check_target(given));
  std::error_code failed;
  const fs::path resolved = fs::weakly_canonical(given, failed);  // a link stays one
  const fs::path path = failed ? given : resolved;
  const fs::file_status before = fs::status(path, failed);
  if (fs::exists(before) && !fs::is_regular_file(before)) {
    return write_into(path, O_TRUNC, bytes);
  }
  const fs::path draft = fmt::format("{}.{}.part", path.string(), ::getpid());
  Result<void> written = write_into(draft, O_CREAT | O_TRUNC, bytes);
  if (written && fs::exists(before)) {
    fs::permissions(draft, before.permissions(), failed);
  }
  if (written && ::rename(draft.c_str(), path.c_str()) != 0) {
    written = cannot_write(path, errno);
  }
  if (!written) {
    ::unlink(draft.c_str());
    const std::string& message = written.error().message;
    return Error{ErrorCode::kIo, fmt::format("{} cannot be written{}", given.string(), message.substr(message.find(": ")))};
  }
  return {};
}

Result<void> write_file(const fs::path& path, std::string_view text) { return write_file(path, std::as_bytes(std::span(text))); }

}  // namespace hone::cli
