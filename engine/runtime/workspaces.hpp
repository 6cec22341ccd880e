#pragma once
// Memory that kernels need for themselves. What is launched on a stream runs in order, so all of it takes turns with one block.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/device/launch_device.hpp"

namespace hone {

/// Thread-safe.
class Workspaces {
 public:
  /// `for_graphs`: how many spare blocks note() sees to at most.
  Workspaces(std::shared_ptr<LaunchDevice> device, std::size_t for_graphs);
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;
  ~Workspaces();

  /// A kernel that was loaded needs so many bytes: there are spare blocks of that size from now on, fewer where they would take more than
  /// 256 MiB together, but one at least, if there is memory for it. A launch that is captured without one says so.
  void note(std::size_t bytes);
  /// At least `count` spare blocks of what was noted so far.
  Result<void> reserve(std::size_t count);

  /// The memory for a launch on `stream` that needs `bytes`, at least as many as that: that of the stream; in a capture, that of the graph,
  /// from the spare blocks. Takes a lock, and allocates outside captures, only where the stream has no block of that size yet. Errors:
  /// kUnavailable, no memory, or no spare block.
  Result<std::byte*> find(void* stream, std::size_t bytes);

 private:
  struct Block {
    std::unique_ptr<Buffer> buffer;
    std::byte* address = nullptr;
    std::size_t bytes = 0;
  };
  struct Slot {
    std::atomic<std::uint64_t> stream{0};  ///< and one; 0: empty
    std::atomic<const Block*> block{nullptr};
  };
  /// Open addressing, at most half full; never changed but by filling slots.
  struct Table {
    explicit Table(std::size_t size) : slots(size) {}
    std::vector<Slot> slots;
    std::size_t used = 0;  ///< only under the lock
  };
  /// Spare, or `of` a graph: until that is destroyed, on whichever thread.
  struct ForGraphs : Block {
    std::shared_ptr<std::atomic<bool>> taken = std::make_shared<std::atomic<bool>>(false);
    Lane of;
    std::shared_ptr<void> token = {};  ///< where the device cannot keep it with the graph
  };

  static Slot& slot_of(Table& table, std::uint64_t stream);
  Result<void> allocate(Block& block, std::size_t bytes);
  /// Where `matches(block, taken)` holds.
  template <class Matches>
  [[nodiscard]] ForGraphs* find_fitting(std::size_t bytes, const Matches& matches) const;
  Result<std::byte*> find_captured(void* stream, const Lane& lane, std::size_t bytes);
  void give(ForGraphs& block, void* stream, const Lane& lane) const;
  Result<void> fill_spare(std::size_t count);
  void grow_table();

  const std::shared_ptr<LaunchDevice> device_;
  const std::size_t for_graphs_;
  std::atomic<Table*> table_;
  std::mutex mutex_;  ///< of all below
  std::size_t largest_ = 0;
  std::vector<std::unique_ptr<Table>> tables_;  ///< the last is the current one; others may still be read
  std::vector<std::unique_ptr<Block>> blocks_;  ///< of streams; one that became too small stays, since launches may be using it
  std::vector<std::unique_ptr<ForGraphs>> for_capture_;
};

}  // namespace hone
