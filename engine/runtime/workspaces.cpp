#include "engine/runtime/workspaces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace hone {
namespace {

constexpr std::size_t kFirstSlots = 64;
constexpr std::size_t kSpareBytes = std::size_t{256} << 20;  // together, as far as nobody asked for more

/// A destroyed graph gives back what it kept from a thread of the driver's, a moment later: so long is waited for it.
constexpr auto kGivenBackWithin = std::chrono::milliseconds(20);
constexpr auto kGivenBackTick = std::chrono::microseconds(100);

}  // namespace

Workspaces::Workspaces(std::shared_ptr<LaunchDevice> device, std::size_t for_graphs) : device_(std::move(device)), for_graphs_(for_graphs) {
  tables_.push_back(std::make_unique<Table>(kFirstSlots));
  table_.store(tables_.back().get(), std::memory_order_release);
}

Workspaces::~Workspaces() = default;

void Workspaces::note(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  largest_ = std::max(largest_, bytes);
  if (largest_ > 0) {
    (void)fill_spare(std::min(for_graphs_, std::max<std::size_t>(1, kSpareBytes / largest_)));  // most launches are in no graph
  }
}

Result<void> Workspaces::reserve(std::size_t count) {
  const std::lock_guard lock(mutex_);
  return fill_spare(count);
}

Result<std::byte*> Workspaces::find(void* stream, std::size_t bytes) {
  const Lane lane = device_->lane_of(stream);
  if (lane.capture != 0) {
    return find_captured(stream, lane, bytes);
  }
  // A slot that was empty a moment ago may be another stream's by now.
  const Slot& known = slot_of(*table_.load(std::memory_order_acquire), lane.stream);
  const bool own = known.stream.load(std::memory_order_acquire) == lane.stream + 1;
  const Block* block = own ? known.block.load(std::memory_order_acquire) : nullptr;
  if (block != nullptr && block->bytes >= bytes) {
    return block->address;
  }
  const std::lock_guard lock(mutex_);
  block = slot_of(*tables_.back(), lane.stream).block.load(std::memory_order_relaxed);
  if (block != nullptr && block->bytes >= bytes) {  // another thread was faster
    return block->address;
  }
  // At least twice the block before: what streams have outgrown is never more than what they have.
  const std::size_t wanted = std::max({bytes, largest_, block != nullptr ? 2 * block->bytes : 0});
  auto made = std::make_unique<Block>();
  HONE_TRY(allocate(*made, wanted));
  if (2 * (tables_.back()->used + 1) > tables_.back()->slots.size()) {
    grow_table();
  }
  Slot& slot = slot_of(*tables_.back(), lane.stream);
  tables_.back()->used += slot.stream.load(std::memory_order_relaxed) == 0 ? 1 : 0;
  slot.block.store(made.get(), std::memory_order_release);
  slot.stream.store(lane.stream + 1, std::memory_order_release);
  blocks_.push_back(std::move(made));
  return blocks_.back()->address;
}

/// The stream's, or the empty one where it belongs.
Workspaces::Slot& Workspaces::slot_of(Table& table, std::uint64_t stream) {
  const std::size_t mask = table.slots.size() - 1;
  for (std::size_t at = (stream * 0x9e3779b97f4a7c15ULL) >> 32;; ++at) {
    Slot& slot = table.slots[at & mask];
    const std::uint64_t there = slot.stream.load(std::memory_order_acquire);
    if (there == stream + 1 || there == 0) {
      return slot;
    }
  }
}

void Workspaces::grow_table() {
  auto larger = std::make_unique<Table>(2 * tables_.back()->slots.size());
  for (const Slot& from : tables_.back()->slots) {
    if (const std::uint64_t stream = from.stream.load(std::memory_order_relaxed); stream != 0) {
      Slot& to = slot_of(*larger, stream - 1);
      to.block.store(from.block.load(std::memory_order_relaxed), std::memory_order_relaxed);
      to.stream.store(stream, std::memory_order_relaxed);
    }
  }
  larger->used = tables_.back()->used;
  tables_.push_back(std::move(larger));
  table_.store(tables_.back().get(), std::memory_order_release);
}

Result<void> Workspaces::allocate(Block& block, std::size_t bytes) {
  HONE_ASSIGN(block.buffer, device_->allocate(bytes));
  block.address = static_cast<std::byte*>(block.buffer->address());
  block.bytes = bytes;
  return {};
}

Result<void> Workspaces::fill_spare(std::size_t count) {
  const auto is_spare = [](const auto& block) { return !block->taken->load(std::memory_order_acquire); };
  std::erase_if(for_capture_, [&](const auto& block) { return is_spare(block) && block->bytes < largest_; });
  auto spare = largest_ > 0 ? static_cast<std::size_t>(std::ranges::count_if(for_capture_, is_spare)) : count;
  for (; spare < count; ++spare) {
    auto block = std::make_unique<ForGraphs>();
    HONE_TRY(allocate(*block, largest_));
    for_capture_.push_back(std::move(block));
  }
  return {};
}

template <class Matches>
Workspaces::ForGraphs* Workspaces::find_fitting(std::size_t bytes, const Matches& matches) const {
  const auto found = std::ranges::find_if(for_capture_, [&](const auto& block) {
    return block->bytes >= bytes && matches(*block, block->taken->load(std::memory_order_acquire));
  });
  return found == for_capture_.end() ? nullptr : found->get();
}

Result<std::byte*> Workspaces::find_captured(void* stream, const Lane& lane, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  ForGraphs* const own = find_fitting(bytes, [&](const ForGraphs& block, bool taken) { return taken && block.of == lane; });
  if (own != nullptr) {
    return own->address;
  }
  const auto is_spare = [](const ForGraphs&, bool taken) { return !taken; };
  ForGraphs* spare = find_fitting(bytes, is_spare);
  for (const auto end = std::chrono::steady_clock::now() + kGivenBackWithin;
       spare == nullptr && !for_capture_.empty() && std::chrono::steady_clock::now() < end;) {
    std::this_thread::sleep_for(kGivenBackTick);
    spare = find_fitting(bytes, is_spare);
  }
  if (spare == nullptr) {
    return Error{ErrorCode::kUnavailable,
                 fmt::format("no spare workspace of {} bytes for a captured launch, and none is allocated under capture: call "
                             "Engine::reserve_graph_workspaces before, or set EngineOptions::graph_workspaces to the number of streams "
                             "that graphs use",
                             bytes)};
  }
  give(*spare, stream, lane);
  return spare->address;
}

/// What the graph destroys only sets a flag: it may do so where nobody may wait or call the driver. A block that cannot be kept with its
/// graph is not used again.
void Workspaces::give(ForGraphs& block, void* stream, const Lane& lane) const {
  block.taken->store(true, std::memory_order_relaxed);
  block.of = lane;
  const auto token = std::shared_ptr<void>(&block, [taken = block.taken](void*) { taken->store(false, std::memory_order_release); });
  if (!device_->keep_with_graph(stream, token)) {
    block.token = token;
  }
}

}  // namespace hone
