#pragma once
// Kernel files written by a test, in a folder of their own.

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "engine/kernel/kernel_spec.hpp"
#include "tests/skip.hpp"

namespace reader_test {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "hone_reader_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

/// Without a libclang there is nothing to test here: the reader says so, and the tests are skipped.
inline bool can_read() {
  const auto found = hone::find_libclang();
  if (!found) {
    hone::tests::skip("libclang", found.error().message);
  }
  return found.ok();
}

/// The error of reading `text` as add.cu; the folder is left out of it.
inline std::string error_of(const std::string& text) {
  const Folder folder;
  const auto path = folder.write("add.cu", text);
  const auto spec = hone::read_kernel_file(path);
  if (spec) {
    return "(no error)";
  }
  std::string message = spec.error().message;
  const std::string prefix = path.parent_path().string() + "/";
  for (auto at = message.find(prefix); at != std::string::npos; at = message.find(prefix)) {
    message.erase(at, prefix.size());
  }
  return message;
}

}  // namespace reader_test
