// How fast is a short kernel? Calls of a graph, each on memory of its own: one call's time is no larger than what events and a launch take,
// and calls on the same memory would find it in the cache.
#include "engine/measure/bench_impl.hpp"

namespace hone {
namespace {

/// Calls of a graph. Its own launch, about a microsecond, is shared by them all.
constexpr std::size_t kCalls = 16;

/// What is this many times longer than a short kernel is timed as one call even where it races against one: an event more or less is
/// nothing to it.
constexpr double kLong = 10.0;

bool is_missing(const Error& error) { return error.code == ErrorCode::kUnavailable; }

}  // namespace

Result<void> Bench::Impl::choose_way(Subject& subject, const MeasureSettings& settings, double rival_us) {
  const bool is_short = std::min(subject.warmup_us, rival_us) < settings.graph_below_us;
  if (!has_graphs_ || !settings.flush_cache || !is_short || subject.warmup_us > kLong * settings.graph_below_us) {
    return {};
  }
  Result<std::unique_ptr<CallGraph>> graph = make_graph(subject);
  if (graph) {
    HONE_TRY((*graph)->time(1));  // the first launch of a graph uploads it
    subject.graph = std::move(graph).value();
  } else if (is_missing(graph.error())) {
    has_graphs_ = false;  // for good: what is compared is timed in one way
    call_sets_.clear();
  } else {
    return graph.error();
  }
  return {};
}

Result<std::unique_ptr<CallGraph>> Bench::Impl::make_graph(const Subject& subject) {
  if (call_sets_.empty()) {
    HONE_TRY(make_call_sets());
  }
  std::vector<GraphCall> calls;
  for (CallSet& set : call_sets_) {
    HONE_TRY(fit_workspaces(set));
    calls.push_back({set.arguments, preparations(subject.workspaces, set.addresses)});
  }
  return device_.graph(*subject.kernel, calls);
}

Result<void> Bench::Impl::make_call_sets() {
  std::vector<CallSet> sets(kCalls);
  for (CallSet& set : sets) {
    set.buffers.resize(slots_.size());
    set.addresses.resize(slots_.size());
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = slots_[i];
      set.arguments.push_back(slot.is(Direction::kScalar) ? static_cast<void*>(slot.scalar.data()) : &set.addresses[i]);
      if (slot.is(Direction::kScalar) || slot.is(Direction::kWorkspace)) {
        continue;
      }
      HONE_ASSIGN(set.buffers[i], device_.allocate(slot.bytes()));
      set.addresses[i] = set.buffers[i]->address();
      if (slot.is(Direction::kIn)) {
        HONE_TRY(device_.copy(set.addresses[i], slot.buffer.payload(), slot.bytes()));
      }
    }
  }
  call_sets_ = std::move(sets);  // the vectors stay where they are, and so does what `arguments` points to
  return {};
}

Result<void> Bench::Impl::fit_workspaces(CallSet& set) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].is(Direction::kWorkspace)) {
      continue;
    }
    if (!set.buffers[i] || set.buffers[i]->bytes() < slots_[i].bytes()) {
      set.buffers[i].reset();
      HONE_ASSIGN(set.buffers[i], device_.allocate(slots_[i].bytes()));
    }
    set.addresses[i] = set.buffers[i]->address();
  }
  return {};
}

}  // namespace hone
