#include "cli/metrics_file.hpp"

#include <fmt/format.h>

#include <memory>
#include <string_view>

#include "cli/output.hpp"

namespace hone::cli {

Result<std::unique_ptr<MetricsFile>> MetricsFile::start(std::filesystem::path file, std::chrono::milliseconds every,
                                                        std::function<std::string()> produce) {
  const Result<void> first = write_file(file, std::string_view(produce()));
  if (!first) {
    return Error{ErrorCode::kIo, "--metrics: " + first.error().message};
  }
  return std::unique_ptr<MetricsFile>(new MetricsFile(std::move(file), every, std::move(produce)));
}

MetricsFile::MetricsFile(std::filesystem::path file, std::chrono::milliseconds every, std::function<std::string()> produce)
    : file_(std::move(file)), every_(every), produce_(std::move(produce)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

MetricsFile::~MetricsFile() { static_cast<void>(finish()); }

void MetricsFile::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, stop, every_, [&] { return stop.stop_requested(); })) {
    const Result<void> written = write_file(file_, std::string_view(produce_()));
    if (!written && !failed_) {
      failed_ = written.error();
    }
  }
}

Result<void> MetricsFile::finish() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
    const Result<void> last = write_file(file_, std::string_view(produce_()));
    if (!last && !failed_) {
      failed_ = last.error();
    }
  }
  return failed_ ? Result<void>(Error{ErrorCode::kIo, "--metrics: " + failed_->message}) : Result<void>();
}

}  // namespace hone::cli
