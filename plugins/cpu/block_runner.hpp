#pragma once
// Runs the blocks of a grid, one at a time, on one thread of the operating system: its CUDA threads are fibers.

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/cpu/fiber.hpp"
#include "plugins/cpu/kernel_abi.hpp"
#include "plugins/cpu/warp.hpp"

namespace hone::cpu {

constexpr unsigned kMostThreads = 1024;

/// One pass over its whole grid; every runner takes blocks from it until none is left or one has failed.
struct GridJob {
  HoneCpuBind bind = nullptr;
  HoneCpuPass pass = nullptr;
  void* const* arguments = nullptr;
  const long* problem = nullptr;
  HoneCpuIndex grid{1, 1, 1}, block{1, 1, 1};
  std::size_t shared_bytes = 0;
  std::optional<std::uint8_t> shared_paint;  ///< every block finds its shared memory, static and dynamic, full of it
  bool last_thread_first = false;            ///< threads of a block begin in the opposite order
  std::int64_t chunk = 1;                    ///< blocks taken at a time, in order: a block may wait for an earlier one
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex failure_mutex;
  std::string failure;  ///< of the block that failed first

  [[nodiscard]] std::int64_t blocks() const { return std::int64_t{grid.x} * grid.y * grid.z; }
  [[nodiscard]] unsigned threads() const { return block.x * block.y * block.z; }
};

/// A fiber (the carrier) runs CUDA threads one after another until one of them has to wait. It then belongs to that thread, and another
/// carrier goes on. A kernel that never waits so needs one fiber and no switch; one with barriers needs a fiber for each waiting thread.
class BlockRunner {
 public:
  BlockRunner() = default;
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  void run(GridJob& job);

 private:
  struct Carrier {
    Fiber* fiber = nullptr;
    unsigned thread = 0;  ///< linear index of the CUDA thread it runs
    HoneCpuIndex index{};
  };

  static unsigned barrier_call(void* block, unsigned predicate);
  static unsigned long long warp_call(void* block, HoneCpuWarpOperation operation, unsigned mask, unsigned long long value,
                                      unsigned operand, unsigned width);
  static void yield_call(void* block);
  static unsigned active_mask_call(void* block);
  static void carrier_entry(boost::context::detail::transfer_t transfer);
  static const HoneCpuRuntime kRuntime;

  void prepare(GridJob& job);
  void run_blocks(GridJob& job);
  void look_at_fence();
  void paint_shared(std::uint8_t pattern);
  void run_block(std::int64_t block);
  void carry();
  void run_thread(Carrier& carrier);
  void thread_ended();

  unsigned barrier(unsigned predicate);
  void release_barrier();
  std::uint64_t warp_exchange(HoneCpuWarpOperation operation, unsigned mask, const LaneExchange& brought);
  WarpGroup& group_of(Warp& warp, HoneCpuWarpOperation operation, unsigned mask);
  void complete(unsigned warp_index, unsigned group_index);

  void wait();
  void yield();
  void resume_slots();
  void switch_to(Carrier* next, bool for_good);
  Carrier* next_carrier();
  Carrier* fresh_carrier();
  void push_ready(Carrier* carrier) { ready_[ready_tail_++ % kMostThreads] = carrier; }
  [[noreturn]] void give_up(std::string reason);
  /// Of the block that runs; the first failure of the job counts.
  void record_failure(std::string_view reason);
  void fail(std::string why);
  [[nodiscard]] std::string describe_deadlock() const;

  StackPool stacks_;
  std::vector<std::unique_ptr<Carrier>> carriers_;
  std::vector<Carrier*> idle_;
  Carrier main_;
  Fiber main_fiber_;
  Carrier* current_ = nullptr;
  Carrier* previous_ = nullptr;

  GridJob* job_ = nullptr;
  HoneCpuSlots slots_{};
  std::vector<std::byte> shared_storage_;
  std::span<std::byte> dynamic_shared_, static_shared_;  ///< of this thread, for the job
  std::span<std::byte> fence_;                           ///< behind the dynamic one: nobody may write there

  // The block that runs.
  HoneCpuIndex block_index_{};
  HoneCpuIndex next_index_{};  ///< where the first thread comes first
  unsigned thread_count_ = 0, next_thread_ = 0, ended_ = 0;
  unsigned barrier_count_ = 0, barrier_votes_ = 0, barrier_result_ = 0;
  unsigned ready_head_ = 0, ready_tail_ = 0;
  std::array<Carrier*, kMostThreads> ready_{};
  std::array<Carrier*, kMostThreads> at_barrier_{};
  std::array<Carrier*, kMostThreads> carrier_of_{};  ///< of a thread that waits in a warp
  std::array<Warp, kMostThreads / kWarpLanes> warps_;
};

}  // namespace hone::cpu
