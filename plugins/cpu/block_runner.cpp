#include "plugins/cpu/block_runner.hpp"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "plugins/cpu/sanitizer.hpp"

namespace hone::cpu {
namespace {

constexpr std::size_t kSharedAlignment = 128;
// Behind dynamic shared memory: room for a kernel that asked for less than it uses, up to what a block may ask for, so that it does no harm
// to others, and the first of it is looked at after each launch. Sanitizers forbid all of it.
constexpr std::size_t kSharedSlack = std::size_t{256} << 10, kSharedFence = 4096;
constexpr std::byte kFencePattern{0xc5};

/// The thread-local variables, of the calling thread, of the object that holds the code at `address`: a kernel's static shared memory, and
/// the slots.
std::span<std::byte> thread_locals_of(const void* address) {
  struct Search {
    ElfW(Addr) address;
    std::span<std::byte> found;
  } search{reinterpret_cast<ElfW(Addr)>(address), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        Search& wanted = *static_cast<Search*>(data);
        bool is_object = false;
        std::size_t bytes = 0;
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& header = object->dlpi_phdr[i];
          const ElfW(Addr) begin = object->dlpi_addr + header.p_vaddr;
          is_object = is_object || (header.p_type == PT_LOAD && wanted.address >= begin && wanted.address < begin + header.p_memsz);
          bytes = header.p_type == PT_TLS ? header.p_memsz : bytes;
        }
        if (is_object && object->dlpi_tls_data != nullptr) {
          wanted.found = {static_cast<std::byte*>(object->dlpi_tls_data), bytes};
        }
        return is_object ? 1 : 0;
      },
      &search);
  return search.found;
}

}  // namespace

const HoneCpuRuntime BlockRunner::kRuntime{&BlockRunner::barrier_call, &BlockRunner::warp_call, &BlockRunner::yield_call,
                                           &BlockRunner::active_mask_call};

unsigned BlockRunner::barrier_call(void* block, unsigned predicate) { return static_cast<BlockRunner*>(block)->barrier(predicate); }

unsigned long long BlockRunner::warp_call(void* block, HoneCpuWarpOperation operation, unsigned mask, unsigned long long value,
                                          unsigned operand, unsigned width) {
  return static_cast<BlockRunner*>(block)->warp_exchange(operation, mask, {value, operand, width});
}

void BlockRunner::yield_call(void* block) { static_cast<BlockRunner*>(block)->yield(); }

unsigned BlockRunner::active_mask_call(void* block) {
  auto* runner = static_cast<BlockRunner*>(block);
  return ~runner->warps_[runner->current_->thread / kWarpLanes].ended;
}

void BlockRunner::run(GridJob& job) {
  prepare(job);
  run_blocks(job);
  look_at_fence();
}

void BlockRunner::run_blocks(GridJob& job) {
  const std::int64_t blocks = job.blocks();
  while (!job.failed.load(std::memory_order_relaxed)) {
    const std::int64_t first = job.next.fetch_add(job.chunk, std::memory_order_relaxed);
    if (first >= blocks) {
      return;
    }
    const std::int64_t last = std::min(blocks, first + job.chunk);
    for (std::int64_t block = first; block < last && !job.failed.load(std::memory_order_relaxed); ++block) {
      run_block(block);
    }
  }
}

void BlockRunner::prepare(GridJob& job) {
  job_ = &job;
  thread_count_ = job.threads();
  job.bind(&kRuntime, &slots_);
  *slots_.block_dim = job.block;
  *slots_.grid_dim = job.grid;
  *slots_.handle = this;
  unpoison(shared_storage_.data(), shared_storage_.size());
  if (shared_storage_.size() < job.shared_bytes + kSharedAlignment + kSharedSlack) {
    shared_storage_.resize(job.shared_bytes + kSharedAlignment + kSharedSlack);
  }
  const auto address = reinterpret_cast<std::uintptr_t>(shared_storage_.data());
  auto* shared = shared_storage_.data() + (kSharedAlignment - address % kSharedAlignment) % kSharedAlignment;
  std::memset(shared, 0xff, job.shared_bytes);
  fence_ = address_sanitizer_present() ? std::span<std::byte>() : std::span(shared + job.shared_bytes, kSharedFence);
  std::ranges::fill(fence_, kFencePattern);
  poison(shared + job.shared_bytes, static_cast<std::size_t>(shared_storage_.data() + shared_storage_.size() - shared) - job.shared_bytes);
  dynamic_shared_ = {shared, job.shared_bytes};
  static_shared_ = job.shared_paint ? thread_locals_of(reinterpret_cast<const void*>(job.bind)) : std::span<std::byte>();
  *slots_.dynamic_shared = shared;
  adopt_thread(main_fiber_);
  main_.fiber = &main_fiber_;
}

void BlockRunner::look_at_fence() {
  const auto damaged = std::ranges::find_if(fence_, [](std::byte byte) { return byte != kFencePattern; });
  if (damaged != fence_.end()) {
    fail(fmt::format(
        "it writes past the end of its dynamic shared memory: its Launch asks for {} bytes (.shared), and a block wrote to byte {}",
        dynamic_shared_.size(), dynamic_shared_.size() + static_cast<std::size_t>(damaged - fence_.begin())));
  }
}

/// The slots lie among the static variables and stay.
void BlockRunner::paint_shared(std::uint8_t pattern) {
  const HoneCpuIndex block_dim = *slots_.block_dim, grid_dim = *slots_.grid_dim;
  void* const handle = *slots_.handle;
  void* const dynamic_shared = *slots_.dynamic_shared;
  std::ranges::fill(static_shared_, std::byte{pattern});
  std::ranges::fill(dynamic_shared_, std::byte{pattern});
  *slots_.block_dim = block_dim;
  *slots_.grid_dim = grid_dim;
  *slots_.handle = handle;
  *slots_.dynamic_shared = dynamic_shared;
}

void BlockRunner::run_block(std::int64_t block) {
  if (job_->shared_paint) {
    paint_shared(*job_->shared_paint);
  }
  const HoneCpuIndex& grid = job_->grid;
  block_index_ = {static_cast<unsigned>(block % grid.x), static_cast<unsigned>(block / grid.x % grid.y),
                  static_cast<unsigned>(block / grid.x / grid.y)};
  *slots_.block = block_index_;
  next_index_ = {};
  next_thread_ = ended_ = barrier_count_ = barrier_votes_ = ready_head_ = ready_tail_ = 0;
  for (unsigned warp = 0; warp * kWarpLanes < thread_count_; ++warp) {
    const unsigned present = std::min(kWarpLanes, thread_count_ - warp * kWarpLanes);
    warps_[warp].ended = present == kWarpLanes ? 0 : ~0U << present;
    warps_[warp].group_count = 0;
  }
  idle_.clear();
  for (const auto& carrier : carriers_) {
    idle_.push_back(carrier.get());
  }
  current_ = &main_;
  if (Carrier* first = fresh_carrier(); first != nullptr) {
    switch_to(first, false);
  } else {
    record_failure("out of memory for the stacks of its threads");
  }
}

// ---- threads and their carriers --------------------------------------------------------------------------------------------------------

void BlockRunner::carrier_entry(boost::context::detail::transfer_t transfer) {
  auto* runner = static_cast<BlockRunner*>(transfer.data);
  arrived(*runner->current_->fiber, *runner->previous_->fiber, transfer);
  runner->carry();
}

void BlockRunner::carry() {
  Carrier& self = *current_;
  do {  // it was started because there is a thread to begin, even if others are ready (see yield)
    run_thread(self);
    thread_ended();
  } while (ready_head_ == ready_tail_ && next_thread_ < thread_count_);
  idle_.push_back(&self);
  switch_to(next_carrier(), true);
}

void BlockRunner::run_thread(Carrier& carrier) {
  carrier.thread = next_thread_++;
  carrier.index = next_index_;
  const HoneCpuIndex& block = job_->block;
  if (job_->last_thread_first) {
    carrier.thread = thread_count_ - 1 - carrier.thread;
    carrier.index = {carrier.thread % block.x, carrier.thread / block.x % block.y, carrier.thread / block.x / block.y};
  } else if (++next_index_.x == block.x) {
    next_index_.x = 0;
    if (++next_index_.y == block.y) {
      next_index_.y = 0;
      ++next_index_.z;
    }
  }
  *slots_.thread = carrier.index;
  job_->pass(job_->arguments, job_->problem);
}

void BlockRunner::thread_ended() {
  const unsigned thread = current_->thread;
  Warp& warp = warps_[thread / kWarpLanes];
  warp.ended |= 1U << (thread % kWarpLanes);
  ++ended_;
  for (unsigned i = warp.group_count; i-- > 0;) {
    if (((warp.groups[i].arrived | warp.ended) & warp.groups[i].mask) == warp.groups[i].mask) {
      complete(thread / kWarpLanes, i);
    }
  }
  if (barrier_count_ > 0 && barrier_count_ + ended_ == thread_count_) {
    release_barrier();
  }
}

BlockRunner::Carrier* BlockRunner::fresh_carrier() {
  if (idle_.empty()) {
    Fiber* fiber = stacks_.make();
    if (fiber == nullptr) {
      return nullptr;
    }
    carriers_.push_back(std::make_unique<Carrier>());
    carriers_.back()->fiber = fiber;
    idle_.push_back(carriers_.back().get());
  }
  Carrier* carrier = idle_.back();
  idle_.pop_back();
  start(*carrier->fiber, &BlockRunner::carrier_entry);
  return carrier;
}

BlockRunner::Carrier* BlockRunner::next_carrier() {
  if (ready_head_ != ready_tail_) {
    return ready_[ready_head_++ % kMostThreads];
  }
  if (next_thread_ < thread_count_) {
    if (Carrier* carrier = fresh_carrier(); carrier != nullptr) {
      return carrier;
    }
    record_failure("out of memory for the stacks of its threads");
  } else if (ended_ < thread_count_) {
    record_failure(describe_deadlock());
  }
  return &main_;
}

void BlockRunner::switch_to(Carrier* next, bool for_good) {
  Carrier* self = current_;
  previous_ = self;
  current_ = next;
  const auto transfer = leave(*self->fiber, *next->fiber, this, for_good);
  arrived(*self->fiber, *previous_->fiber, transfer);
}

void BlockRunner::resume_slots() { *slots_.thread = current_->index; }

void BlockRunner::wait() {
  switch_to(next_carrier(), false);
  resume_slots();
}

void BlockRunner::yield() {
  Carrier* self = current_;
  Carrier* next = nullptr;
  push_ready(self);
  // Threads that have not begun come first: the caller may wait for one of them.
  if (next_thread_ < thread_count_) {
    next = fresh_carrier();
  }
  if (next == nullptr) {
    next = ready_[ready_head_++ % kMostThreads];
  }
  if (next != self) {
    switch_to(next, false);
    resume_slots();
  }
}

// ---- barriers --------------------------------------------------------------------------------------------------------------------------

unsigned BlockRunner::barrier(unsigned predicate) {
  barrier_votes_ += predicate;
  if (barrier_count_ + 1 + ended_ == thread_count_) {
    release_barrier();
    return barrier_result_;
  }
  at_barrier_[barrier_count_++] = current_;
  wait();
  return barrier_result_;
}

void BlockRunner::release_barrier() {
  for (unsigned i = 0; i < barrier_count_; ++i) {
    push_ready(at_barrier_[i]);
  }
  barrier_result_ = barrier_votes_;
  barrier_count_ = barrier_votes_ = 0;
}

std::uint64_t BlockRunner::warp_exchange(HoneCpuWarpOperation operation, unsigned mask, const LaneExchange& brought) {
  const unsigned thread = current_->thread, lane = thread % kWarpLanes;
  Warp& warp = warps_[thread / kWarpLanes];
  if (((mask >> lane) & 1U) == 0) {
    give_up(fmt::format("thread ({}, {}, {}), lane {} of its warp, calls a warp function with the mask {:#010x}, which excludes that lane",
                        current_->index.x, current_->index.y, current_->index.z, lane, mask));
  }
  if (brought.width == 0 || brought.width > kWarpLanes || (brought.width & (brought.width - 1)) != 0) {
    give_up(fmt::format("a shuffle of width {}; it must be 1, 2, 4, 8, 16 or 32", static_cast<int>(brought.width)));
  }
  warp.lanes[lane] = brought;
  WarpGroup& group = group_of(warp, operation, mask);
  group.arrived |= 1U << lane;
  if (((group.arrived | warp.ended) & mask) == mask) {
    complete(thread / kWarpLanes, static_cast<unsigned>(&group - warp.groups.data()));
  } else {
    carrier_of_[thread] = current_;
    wait();
  }
  return warp.lanes[lane].value;
}

WarpGroup& BlockRunner::group_of(Warp& warp, HoneCpuWarpOperation operation, unsigned mask) {
  for (unsigned i = 0; i < warp.group_count; ++i) {
    if (warp.groups[i].mask == mask && warp.groups[i].operation == operation) {
      return warp.groups[i];
    }
  }
  warp.groups[warp.group_count] = WarpGroup{mask, 0, operation};
  return warp.groups[warp.group_count++];
}

void BlockRunner::complete(unsigned warp_index, unsigned group_index) {
  Warp& warp = warps_[warp_index];
  const WarpGroup group = warp.groups[group_index];
  warp.groups[group_index] = warp.groups[--warp.group_count];
  exchange(warp, group);
  for (unsigned lanes = group.arrived; lanes != 0; lanes &= lanes - 1) {
    const unsigned thread = warp_index * kWarpLanes + static_cast<unsigned>(std::countr_zero(lanes));
    if (current_->thread != thread) {
      push_ready(carrier_of_[thread]);
    }
  }
}

// ---- failures --------------------------------------------------------------------------------------------------------------------------

std::string BlockRunner::describe_deadlock() const {
  unsigned in_warps = 0;
  for (unsigned warp = 0; warp * kWarpLanes < thread_count_; ++warp) {
    for (unsigned i = 0; i < warps_[warp].group_count; ++i) {
      in_warps += static_cast<unsigned>(std::popcount(warps_[warp].groups[i].arrived));
    }
  }
  return fmt::format(
      "deadlock: no thread of the block can continue: {} wait at the block's barrier (__syncthreads), {} wait for lanes of their warp "
      "(__syncwarp, shuffles, votes), {} of {} have ended",
      barrier_count_, in_warps, ended_, thread_count_);
}

void BlockRunner::fail(std::string why) {
  const std::lock_guard lock(job_->failure_mutex);
  if (!job_->failed.exchange(true)) {
    job_->failure = std::move(why);
  }
}

void BlockRunner::record_failure(std::string_view reason) {
  constexpr std::string_view kDeadlock = "deadlock: ";
  const bool deadlock = reason.starts_with(kDeadlock);
  fail(fmt::format("{}block ({}, {}, {}): {}", deadlock ? kDeadlock : "", block_index_.x, block_index_.y, block_index_.z,
                   reason.substr(deadlock ? kDeadlock.size() : 0)));
}

void BlockRunner::give_up(std::string reason) {
  record_failure(reason);
  std::string().swap(reason);  // nothing on this stack is destroyed any more
  switch_to(&main_, true);
  __builtin_unreachable();
}

}  // namespace hone::cpu
