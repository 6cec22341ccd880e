// How fast is a short kernel? Calls of a graph, each on memory of its own: one call's time is no larger than what events and a launch take,
// and calls on the same memory would find it in the cache.
#include <fmt/format.h>

#include <limits>

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

Result<void> Bench::Impl::select_timing_method(Subject& subject, const MeasureSettings& settings, double rival_us) {
  const bool is_short = std::min(subject.warmup_us, rival_us) < settings.graph_below_us;
  if (!has_graphs_ || !settings.flush_cache || !is_short || subject.warmup_us > kLong * settings.graph_below_us) {
    return {};
  }
  Result<std::unique_ptr<CallGraph>> graph = make_graph(subject);
  if (graph) {
    HONE_ASSIGN(const TimedRuns first, (*graph)->time(1, *inputs_seed_));  // the first launch of a graph uploads it
    subject.unmended += first.unmended;
    subject.runs += 1;
    subject.graph = std::move(graph).value();
  } else if (is_missing(graph.error())) {
    has_graphs_ = false;  // for good: what is compared is timed in one way
    call_sets_.clear();
    call_arena_ = {};
    call_workspaces_ = {};
  } else {
    return graph.error();
  }
  return {};
}

Result<std::unique_ptr<CallGraph>> Bench::Impl::make_graph(const Subject& subject) {
  if (call_sets_.empty()) {
    HONE_TRY(make_call_sets());
  }
  HONE_TRY(fill_call_sets());
  std::vector<GraphCall> calls;
  HONE_TRY(fit_call_workspaces());
  for (CallSet& set : call_sets_) {
    calls.push_back({set.arguments, preparations(subject.workspaces, set.addresses), watches(set.addresses)});
  }
  return device_.graph(*subject.kernel, calls);
}

Result<void> Bench::Impl::make_call_sets() {
  std::vector<measure::GuardedArena::Payload> wanted;
  call_owners_.clear();
  for (std::size_t call = 0; call < kCalls; ++call) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].has_fixed_memory()) {
        wanted.push_back({slots_[i].bytes(), static_cast<std::uint8_t>(0x31 + 2 * i), size_of(slots_[i].element)});
        call_owners_.push_back({&slots_[i], false});
      }
    }
  }
  HONE_TRY(call_arena_.arrange(device_, std::move(wanted)));
  std::vector<CallSet> sets(kCalls);
  std::size_t next = 0;
  for (CallSet& set : sets) {
    set.addresses.resize(slots_.size());
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = slots_[i];
      set.arguments.push_back(slot.is(Direction::kScalar) ? static_cast<void*>(slot.scalar.data()) : &set.addresses[i]);
      if (slot.has_fixed_memory()) {
        set.addresses[i] = call_arena_.payload(next++);
      }
    }
  }
  call_sets_ = std::move(sets);  // the vectors stay where they are, and so does what `arguments` points to
  return {};
}

/// The inputs of the calls are those of the problem.
Result<void> Bench::Impl::fill_call_sets() {
  if (calls_seed_ == inputs_seed_) {
    return {};
  }
  for (const CallSet& set : call_sets_) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].is_input() && slots_[i].is(Direction::kIn)) {
        HONE_TRY(device_.copy(set.addresses[i], slots_[i].address[kFirst], slots_[i].bytes()));
      }
    }
  }
  calls_seed_ = inputs_seed_;
  return {};
}

/// Every output of every call of the last run, and the calls' inputs. (Their guard bands are among what is frozen.)
Result<Bench::Impl::Verdict> Bench::Impl::check_calls() {
  std::vector<Frozen> inputs;
  std::vector<Watch> outputs;
  for (const CallSet& set : call_sets_) {
    for (const Frozen& input : inputs_[kFirst]) {
      const auto i = static_cast<std::size_t>(input.slot - slots_.data());
      inputs.push_back({{set.addresses[i], input.region.bytes}, input.checksum, input.slot, false, nullptr, 0});
    }
    const std::vector<Watch> of_call = watches(set.addresses);
    outputs.insert(outputs.end(), of_call.begin(), of_call.end());
  }
  HONE_ASSIGN(std::optional<std::string> found, damage(inputs));
  if (found) {
    return Verdict{Outcome::kIllegalAccess, "in a graph of calls: " + *found};
  }
  HONE_ASSIGN(const std::uint64_t wrong, device_.unmended(outputs, Spots{0, std::numeric_limits<std::size_t>::max()}));
  if (wrong > 0) {
    return Verdict{Outcome::kRace, fmt::format("{} elements are wrong after a graph of {} calls", wrong, call_sets_.size())};
  }
  for (const CallSet& set : call_sets_) {
    HONE_ASSIGN(Verdict free, compare_unwatched(set.addresses));
    if (!free.ok()) {
      return Verdict{Outcome::kRace, "after a graph of calls: " + free.detail};
    }
  }
  return Verdict{};
}

/// To those of the slots.
Result<void> Bench::Impl::fit_call_workspaces() {
  std::vector<measure::GuardedArena::Payload> wanted;
  std::vector<Owner> owners;
  for (std::size_t call = 0; call < call_sets_.size(); ++call) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].is(Direction::kWorkspace)) {
        wanted.push_back({slots_[i].bytes(), static_cast<std::uint8_t>(0x31 + 2 * i), size_of(slots_[i].element)});
        owners.push_back({&slots_[i], false});
      }
    }
  }
  if (wanted.empty()) {
    return {};
  }
  call_workspace_owners_ = std::move(owners);
  HONE_TRY(call_workspaces_.arrange(device_, std::move(wanted)));
  std::size_t next = 0;
  for (CallSet& set : call_sets_) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].is(Direction::kWorkspace)) {
        set.addresses[i] = call_workspaces_.payload(next++);
      }
    }
  }
  return {};
}

}  // namespace hone
