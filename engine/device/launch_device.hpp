#pragma once
// A device as those see it who only launch: it loads code, and may have a compiler for what is not there.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/device/compiler.hpp"
#include "engine/device/pass_launch.hpp"
#include "hone/memory.hpp"

namespace hone {

class LibraryKernel;

/// A loaded configuration, ready to launch. Thread-safe to launch.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
  /// Enqueues all passes on `stream` (a CUstream; ignored by cpu, which runs and returns). `arguments` holds, for each argument of the
  /// spec, the address of the argument's value (a pointer to the device pointer, or to the scalar). Takes no lock and allocates nothing.
  virtual Result<void> launch(void* stream, std::span<void* const> arguments) const = 0;
  [[nodiscard]] virtual Resources resources() const = 0;  ///< as the driver sees it, with occupancy
  /// How many passes a launch makes.
  [[nodiscard]] virtual std::size_t passes() const { return 1; }
  /// The pass may begin while what was launched before it still runs (Launch::overlap).
  [[nodiscard]] virtual bool overlaps(std::size_t /*pass*/) const { return false; }
  /// Enqueues `count` passes from `first` on alone, as launch() does with all. Only of kernels of which a pass behind the first overlaps.
  virtual Result<void> launch_passes(void* stream, std::span<void* const> arguments, std::size_t first, std::size_t count) const;
};

/// In which order what is launched runs: with the same numbers, one launch after the other.
struct Lane {
  std::uint64_t stream = 0;   ///< of a device without streams: the thread, which waits for each launch
  std::uint64_t capture = 0;  ///< the capture that the stream is in, into a graph that runs later; 0: none
  friend bool operator==(const Lane&, const Lane&) = default;
};

/// A stream beside all others, which waits only for those that it follows. Used by one thread at a time. Its operations run in order; the
/// device must outlive it.
class SideStream {
 public:
  virtual ~SideStream() = default;
  /// What LoadedKernel::launch takes.
  [[nodiscard]] virtual void* handle() const = 0;
  /// What comes next begins when all that `stream` holds now has ended; does not wait for it. Not for streams in a capture.
  virtual Result<void> follow(void* stream) = 0;
  virtual Result<void> copy(void* destination, const void* source, std::size_t bytes) = 0;
  virtual Result<void> fill(void* destination, std::size_t bytes, std::uint8_t pattern) = 0;
  virtual Result<void> upload(void* destination, std::span<const std::byte> source) = 0;
  /// Waits for it, and so for all before.
  virtual Result<void> download(std::span<std::byte> destination, const void* source) = 0;
};

/// One open device; used by one thread, but for what says otherwise.
class LaunchDevice : public Memory {
 public:
  [[nodiscard]] virtual const DeviceInfo& info() const = 0;
  /// Disturbs no capture of this or another thread, and neither does allocate().
  virtual Result<std::unique_ptr<LoadedKernel>> load(const Compiled& compiled, const std::vector<PassLaunch>& plan,
                                                     const Problem& problem) = 0;
  /// Fills on `stream`, without waiting for it.
  virtual Result<void> fill_on(void* stream, void* destination, std::size_t bytes, std::uint8_t pattern) = 0;
  /// Whether several threads may load and allocate at once.
  [[nodiscard]] virtual bool loads_in_parallel() const { return false; }
  /// Thread-safe. Unless a device has streams, the calling thread.
  [[nodiscard]] virtual Lane lane_of(void* stream) const;
  /// Destroys `object` with the graph that is captured on `stream`, on any thread. Thread-safe. Errors: nothing is captured there.
  virtual Result<void> keep_with_graph(void* stream, std::shared_ptr<void> object) const;
  /// Copies on `stream`, without waiting for it. Thread-safe. Errors: the device has no side streams.
  virtual Result<void> copy_on(void* stream, void* destination, const void* source, std::size_t bytes);
  /// Thread-safe. Errors: kUnavailable, there are none (as there are unless it is overridden).
  virtual Result<std::unique_ptr<SideStream>> side_stream();
};

/// A family of devices. Stateless; enumerating must not leave a driver context behind.
class LaunchPlugin {
 public:
  virtual ~LaunchPlugin() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The devices of this machine, or kUnavailable with what is missing and what to do.
  virtual Result<std::vector<DeviceInfo>> enumerate() const = 0;
  virtual Result<std::unique_ptr<LaunchDevice>> open_to_launch(const DeviceInfo& info) const = 0;
  /// Errors: kUnavailable, there is none (as there is unless it is overridden), or it is not on this machine.
  virtual Result<std::unique_ptr<Compiler>> compiler(const DeviceInfo& info) const;
  /// What libraries have for these devices (engine/device/library.hpp); they stay where they are.
  [[nodiscard]] virtual std::vector<const LibraryKernel*> libraries() const { return {}; }
};

/// A device that is here.
struct FoundDevice {
  const LaunchPlugin* plugin = nullptr;
  DeviceInfo info;
};

/// "cuda:0", "cpu", or a plugin's name for its first device. Errors: an unknown name, or why that device is not there.
Result<FoundDevice> find_device(std::span<const LaunchPlugin* const> plugins, std::string_view id);
/// The best device present: cuda before cpu.
Result<FoundDevice> find_best_device(std::span<const LaunchPlugin* const> plugins);

}  // namespace hone
