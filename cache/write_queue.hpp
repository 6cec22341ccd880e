#pragma once
// Writers of one store wait in a line: SQLite lets a waiting connection sleep and try again, by which one of many may never get its turn.

#include <cstdint>
#include <filesystem>
#include <optional>

namespace hone::cache {

/// A place in the line before a file, given up at the end of its life or of its process. The line is a file beside the store that is there
/// only while somebody waits; where it cannot be made there is none, and everybody is as patient as SQLite is.
class QueuePlace {
 public:
  /// Whether anybody waits: then nobody may go first.
  static bool is_line(const std::filesystem::path& store);
  /// At the end of the line; nothing where there can be none.
  static std::optional<QueuePlace> join(const std::filesystem::path& store);
  QueuePlace(QueuePlace&& other) noexcept;
  QueuePlace& operator=(QueuePlace&&) = delete;
  ~QueuePlace();

  /// Waits until all who came before have gone. False: nobody has moved for `patience_seconds`, twice, and whose turn it is does not run:
  /// it is stopped, or cannot be seen from here. On a busy machine or a slow disk a turn may take as long as it does.
  [[nodiscard]] bool wait(double patience_seconds) const;

 private:
  QueuePlace(std::filesystem::path path, int file, std::int64_t ticket) : path_(std::move(path)), file_(file), ticket_(ticket) {}
  std::filesystem::path path_;
  int file_;
  std::int64_t ticket_;
};

}  // namespace hone::cache
