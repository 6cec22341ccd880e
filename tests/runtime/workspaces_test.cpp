#include "engine/runtime/workspaces.hpp"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <map>
#include <set>
#include <thread>
#include <vector>

namespace hone {
namespace {

class HeapBuffer final : public Buffer {
 public:
  explicit HeapBuffer(std::size_t bytes) : memory_(bytes) {}
  [[nodiscard]] void* address() const override { return const_cast<std::byte*>(memory_.data()); }
  [[nodiscard]] std::size_t bytes() const override { return memory_.size(); }

 private:
  std::vector<std::byte> memory_;
};

/// Streams are numbers, some of which are being captured.
class StreamDevice final : public LaunchDevice {
 public:
  std::map<std::uint64_t, std::uint64_t> captures;                ///< of streams
  mutable std::map<std::uint64_t, std::shared_ptr<void>> graphs;  ///< what belongs to a capture's graph
  std::atomic<int> allocated{0};
  std::size_t most = std::size_t{1} << 30;

  Lane lane_of(void* stream) const override {
    const auto number = reinterpret_cast<std::uintptr_t>(stream);
    const auto capture = captures.find(number);
    return {.stream = number, .capture = capture == captures.end() ? 0 : capture->second};
  }
  bool keeps = true;
  Result<void> keep_with_graph(void* stream, std::shared_ptr<void> object) const override {
    if (!keeps) {
      return Error{ErrorCode::kUnavailable, "no"};
    }
    graphs[lane_of(stream).capture] = std::move(object);
    return {};
  }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
    if (bytes > most) {
      return Error{ErrorCode::kUnavailable, "full"};
    }
    ++allocated;
    return std::unique_ptr<Buffer>(std::make_unique<HeapBuffer>(bytes));
  }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  Result<void> upload(void*, std::span<const std::byte>) override { return {}; }
  Result<void> download(std::span<std::byte>, const void*) override { return {}; }
  Result<void> copy(void*, const void*, std::size_t) override { return {}; }
  Result<void> fill(void*, std::size_t, std::uint8_t) override { return {}; }
  Result<void> fill_on(void*, void*, std::size_t, std::uint8_t) override { return {}; }
  Result<void> synchronize() override { return {}; }
  Result<std::unique_ptr<LoadedKernel>> load(const Compiled&, const std::vector<PassLaunch>&, const Problem&) override {
    return Error{ErrorCode::kLaunch, "no kernels"};
  }

 private:
  DeviceInfo info_;
};

void* stream(std::uintptr_t number) { return std::bit_cast<void*>(number); }

struct WorkspaceFixture {
  std::shared_ptr<StreamDevice> device = std::make_shared<StreamDevice>();
  Workspaces workspaces{device, 1};
};

}  // namespace

TEST_CASE("what runs on a stream takes turns with one block, and each stream has its own") {
  WorkspaceFixture fixture;
  std::byte* const first = fixture.workspaces.find(stream(1), 1000).value();
  CHECK(fixture.workspaces.find(stream(1), 10).value() == first);
  CHECK(fixture.device->allocated == 1);
  std::set<std::byte*> blocks{first};
  for (std::uintptr_t number = 2; number <= 200; ++number) {  // more than the first table of streams has
    blocks.insert(fixture.workspaces.find(stream(number), 10).value());
  }
  CHECK(blocks.size() == 200);
  CHECK(fixture.workspaces.find(stream(1), 1000).value() == first);
  CHECK(fixture.workspaces.find(nullptr, 10).value() == fixture.workspaces.find(nullptr, 10).value());
}

TEST_CASE("a larger kernel gets a larger block, and the first one stays: launches may be using it") {
  WorkspaceFixture fixture;
  std::byte* const small = fixture.workspaces.find(stream(1), 16).value();
  std::byte* const large = fixture.workspaces.find(stream(1), 4096).value();
  CHECK(small != large);
  *small = *large = std::byte{1};  // under a sanitizer: both are there
  large[4095] = std::byte{1};
  CHECK(fixture.workspaces.find(stream(1), 16).value() == large);
}

TEST_CASE("a captured launch takes a spare block and allocates nothing; without one it is refused and says what to do") {
  WorkspaceFixture fixture;
  fixture.workspaces.note(256);
  std::byte* const eager = fixture.workspaces.find(stream(1), 256).value();
  const int before = fixture.device->allocated;
  fixture.device->captures[1] = 7;
  std::byte* const captured = fixture.workspaces.find(stream(1), 256).value();
  CHECK(captured != eager);
  CHECK(fixture.workspaces.find(stream(1), 100).value() == captured);  // the next launch of the same capture
  CHECK(fixture.device->allocated == before);
  fixture.device->captures[1] = 8;
  const Result<std::byte*> refused = fixture.workspaces.find(stream(1), 256);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kUnavailable);
  CHECK(refused.error().message.find("Engine::reserve_graph_workspaces") != std::string::npos);
  CHECK(fixture.device->allocated == before);
  REQUIRE(fixture.workspaces.reserve(1).ok());
  CHECK(fixture.workspaces.find(stream(1), 256).value() != captured);
}

TEST_CASE("streams that one capture has joined do not share a block") {
  WorkspaceFixture fixture;
  fixture.workspaces.note(256);
  REQUIRE(fixture.workspaces.reserve(2).ok());
  fixture.device->captures = {{1, 7}, {2, 7}};
  CHECK(fixture.workspaces.find(stream(1), 256).value() != fixture.workspaces.find(stream(2), 256).value());
}

TEST_CASE("the block of a graph that was destroyed is spare again") {
  WorkspaceFixture fixture;
  fixture.workspaces.note(256);
  fixture.device->captures[1] = 7;
  std::byte* const captured = fixture.workspaces.find(stream(1), 256).value();
  fixture.device->graphs.clear();
  fixture.device->captures[1] = 8;
  CHECK(fixture.workspaces.find(stream(1), 256).value() == captured);
}

TEST_CASE("a block that a device cannot keep with its graph serves it, and no other one") {
  WorkspaceFixture fixture;
  fixture.device->keeps = false;
  fixture.workspaces.note(256);
  fixture.device->captures[1] = 7;
  std::byte* const captured = fixture.workspaces.find(stream(1), 256).value();
  CHECK(fixture.workspaces.find(stream(1), 256).value() == captured);
  fixture.device->captures[1] = 8;
  CHECK_FALSE(fixture.workspaces.find(stream(1), 256).ok());
}

TEST_CASE("a graph may outlive the engine that captured into it") {
  const auto device = std::make_shared<StreamDevice>();
  {
    Workspaces workspaces(device, 1);
    workspaces.note(256);
    device->captures[1] = 7;
    REQUIRE(workspaces.find(stream(1), 256).ok());
  }
  device->graphs.clear();  // under a sanitizer: touches nothing that is gone
  CHECK(device->graphs.empty());
}

TEST_CASE("of large blocks fewer are spare, and where there is no memory for any the captured launch says what to do") {
  const auto device = std::make_shared<StreamDevice>();
  Workspaces workspaces(device, 4);
  workspaces.note(100 << 20);
  CHECK(device->allocated == 2);
  workspaces.note(150 << 20);
  CHECK(device->allocated == 3);
  device->most = 100;
  workspaces.note(200 << 20);
  device->captures[1] = 7;
  const Result<std::byte*> refused = workspaces.find(stream(1), 200 << 20);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("Engine::reserve_graph_workspaces") != std::string::npos);
}

TEST_CASE("memory that there is not is an error, and later launches try again") {
  WorkspaceFixture fixture;
  fixture.device->most = 100;
  CHECK(fixture.workspaces.find(stream(1), 1000).error().code == ErrorCode::kUnavailable);
  fixture.device->most = 10000;
  CHECK(fixture.workspaces.find(stream(1), 1000).ok());
}

TEST_CASE("threads that launch on the same streams at once get the same blocks") {
  WorkspaceFixture fixture;
  constexpr std::size_t kThreads = 4, kStreams = 100;
  std::vector<std::vector<std::byte*>> found(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::uintptr_t number = 1; number <= kStreams; ++number) {
        found[t].push_back(fixture.workspaces.find(stream(number), 64).value());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (std::size_t t = 1; t < kThreads; ++t) {
    CHECK(found[t] == found[0]);
  }
}

TEST_CASE("threads that launch on streams of their own for the first time get blocks of their own, also where streams share a place") {
  // All have their place in the table's first slot, so that every thread looks where another one fills.
  std::vector<std::uintptr_t> crowded;
  for (std::uintptr_t number = 1; crowded.size() < 32; ++number) {
    if ((((number * 0x9e3779b97f4a7c15ULL) >> 32) & 63) == 0) {
      crowded.push_back(number);
    }
  }
  for (int round = 0; round < 500; ++round) {  // the moment to be noticed is short
    WorkspaceFixture fixture;
    std::array<std::vector<std::byte*>, 2> found;
    std::atomic<int> ready{0};
    const auto launch_all = [&](std::size_t own) {
      ++ready;
      while (ready < 2) {
      }
      for (std::size_t i = own; i < crowded.size(); i += 2) {
        // Looks while the other one allocates, sooner or later.
        for (std::atomic<std::size_t> turns{(own + 1) * (static_cast<std::size_t>(round) * 13 + i * 37) % 256}; turns > 0; --turns) {
        }
        found[own].push_back(fixture.workspaces.find(stream(crowded[i]), 64).value());
      }
    };
    std::thread second(launch_all, 1);
    launch_all(0);
    second.join();
    std::set<std::byte*> blocks(found[0].begin(), found[0].end());
    blocks.insert(found[1].begin(), found[1].end());
    REQUIRE(blocks.size() == crowded.size());
  }
}

}  // namespace hone
