#pragma once
// Small recorded spaces, written as Kernel Tuner caches.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/compare/compare.hpp"

namespace hone::test {

/// A configuration "block, vec" with its time in milliseconds, or nothing: it failed. `seconds` is what it cost to compile; then half of
/// that to verify and a quarter to benchmark.
struct MadeUp {
  int block = 0, vec = 0;
  std::optional<double> time_ms;
  double seconds = 1.0;
};

class Folder {
 public:
  Folder() {
    std::string path = (std::filesystem::temp_directory_path() / "hone-compare-XXXXXX").string();
    REQUIRE(mkdtemp(path.data()) != nullptr);
    path_ = path;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }
  /// `blocks`: the values of block in the file's order. `kernel`: by the file's name if it is empty.
  std::filesystem::path write(const std::string& name, const std::vector<MadeUp>& records,
                              const std::string& blocks = "16, 32, 64, 128, 256", const std::string& kernel = "") const {
    std::string text = fmt::format(R"({{"device_name": "{}", "kernel_name": "{}", "tune_params_keys": ["block", "vec"],
      "tune_params": {{"block": [{}], "vec": [1, 2, 4, 8]}}, "cache": {{)",
                                   name, kernel.empty() ? name.substr(0, name.find('.')) : kernel, blocks);
    for (std::size_t i = 0; i < records.size(); ++i) {
      const MadeUp& record = records[i];
      text += fmt::format(
          R"({}"{},{}": {{"block": {}, "vec": {}, "time": {}, "compile_time": {}, "verification_time": {}, "benchmark_time": {}}})",
          i == 0 ? "" : ",\n", record.block, record.vec, record.block, record.vec,
          record.time_ms ? fmt::format("{}", *record.time_ms) : "\"RuntimeFailedConfig\"", record.seconds * 1e3, record.seconds * 500.0,
          record.seconds * 250.0);
    }
    return write(name, text + "}}");
  }
  [[nodiscard]] std::filesystem::path path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::shared_ptr<const RecordedSpace> load(const std::filesystem::path& file) {
  auto loaded = RecordedSpace::load(file);
  REQUIRE_MESSAGE(loaded.ok(), (loaded.ok() ? "" : loaded.error().message));
  return std::make_shared<const RecordedSpace>(std::move(*loaded));
}

/// Every block and vec; the time grows by a tenth from one to the next in an order that jumps about; `failing` of them fail.
inline std::vector<MadeUp> grid(int failing = 0) {
  std::vector<MadeUp> records;
  for (int i = 0; i < 20; ++i) {
    const int place = (i * 7 + 3) % 20;
    records.push_back({.block = 16 << (i / 4), .vec = 1 << (i % 4), .time_ms = 1.0 + 0.1 * place, .seconds = 1.0 + i});
    if (place >= 20 - failing) {
      records.back().time_ms.reset();
    }
  }
  return records;
}

}  // namespace hone::test
