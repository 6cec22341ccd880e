#include "engine/worker/device_lock.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace hone {
namespace {

/// A device of this process alone, and a channel whose other end nobody reads.
struct LockFixture {
  LockFixture() {
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()) == 0);
    info.id = fmt::format("device-lock-test-{}", ::getpid());
  }
  ~LockFixture() {
    ::close(sockets[0]);
    ::close(sockets[1]);
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    const std::filesystem::path folder = runtime != nullptr ? runtime : "/tmp";
    std::filesystem::remove(folder / fmt::format("hone-{}.lock", info.id));
    std::filesystem::remove(folder / fmt::format("hone-{}.preparing.lock", info.id));
  }
  std::array<int, 2> sockets{};
  DeviceInfo info;
};

}  // namespace

TEST_CASE("who measures holds off others that measure, and who waits his turn to prepare does not") {
  LockFixture fixture;
  WorkerChannel channel(fixture.sockets[0]);
  DeviceLock measuring(fixture.info), another(fixture.info);
  DeviceLock preparing(fixture.info, DeviceLock::Purpose::kPreparing), next(fixture.info, DeviceLock::Purpose::kPreparing);
  preparing.acquire(channel);
  CHECK(another.is_free());
  CHECK_FALSE(next.is_free());
  {
    const DeviceLock::Hold hold(measuring, channel, true);
    CHECK_FALSE(another.is_free());
  }
  CHECK(another.is_free());
  preparing.release();
  CHECK(next.is_free());
}

TEST_CASE("who has to wait for the device says so, and goes on once it is free") {
  LockFixture fixture;
  WorkerChannel channel(fixture.sockets[0]), reader(fixture.sockets[1]);
  DeviceLock first(fixture.info), second(fixture.info);
  first.acquire(channel);
  std::thread waiting([&] {
    const DeviceLock::Hold hold(second, channel, true);
    channel.stage("timing");
  });
  const std::optional<wire::Message> said = reader.receive();
  REQUIRE(said.has_value());
  CHECK(said->dump().find("waiting for the device") != std::string::npos);
  first.release();
  CHECK(reader.receive()->dump().find("timing") != std::string::npos);
  waiting.join();
}

}  // namespace hone
