#pragma once
// A directory for one compilation, removed with all it holds.

#include <filesystem>

#include "hone/error.hpp"

namespace hone::cpu {

class TemporaryDirectory {
 public:
  static Result<TemporaryDirectory> create();
  TemporaryDirectory(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

/// Removes what compilers that were killed (at a compile deadline) left behind.
void remove_abandoned_directories();

}  // namespace hone::cpu
