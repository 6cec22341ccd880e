#include "engine/worker/device_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace hone {

DeviceLock::DeviceLock(const DeviceInfo& info, Purpose purpose)
    : waiting_(purpose == Purpose::kPreparing ? "waiting for a turn to prepare" : "waiting for the device") {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::filesystem::path folder = runtime != nullptr ? runtime : "/tmp";
  const std::string physical = info.uuid.empty() ? info.id : info.uuid;
  const std::string_view suffix = purpose == Purpose::kPreparing ? ".preparing" : "";
  const std::string file = (folder / fmt::format("hone-{}{}.lock", physical, suffix)).string();
  descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
}

DeviceLock::~DeviceLock() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

void DeviceLock::acquire(WorkerChannel& channel) {
  if (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    channel.report({.kind = wire::Stage::Kind::kWaiting, .name = waiting_});
    while (::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
}

bool DeviceLock::is_free() const {
  if (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    return false;
  }
  if (descriptor_ >= 0) {
    ::flock(descriptor_, LOCK_UN);
  }
  return true;
}

void DeviceLock::release() {
  if (descriptor_ >= 0) {
    ::flock(descriptor_, LOCK_UN);
  }
}

}  // namespace hone
