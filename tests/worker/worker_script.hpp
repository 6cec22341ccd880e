#pragma once
// Shell scripts in place of a worker.

#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>

#include "engine/worker/worker_process.hpp"

namespace hone::test {

/// A file with a name of its own, removed with this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content)
      : path_(std::filesystem::temp_directory_path() /
              ("hone_worker_test_" + std::to_string(::getpid()) + "_" + std::to_string(count_++))) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  static inline int count_ = 0;
  std::filesystem::path path_;
};

/// An executable shell script in place of a worker: descriptor 3 is its socket.
class WorkerScript : public TemporaryFile {
 public:
  explicit WorkerScript(const std::string& body) : TemporaryFile("#!/bin/sh\n" + body + "\n") { ::chmod(path().c_str(), 0755); }
  [[nodiscard]] std::unique_ptr<WorkerProcess> start(boost::asio::io_context& context) const {
    return WorkerProcess::spawn(context, path()).value();
  }
};

}  // namespace hone::test
