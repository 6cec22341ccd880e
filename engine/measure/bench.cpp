// The buffers of one problem, made once.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "engine/measure/bench_impl.hpp"
#include "engine/measure/element.hpp"
#include "engine/measure/input_profile.hpp"
#include "engine/measure/measure.hpp"
#include "hone/random.h"

namespace hone {
namespace {

// Guard bands of inputs hold NaN in every float type, so that reading past an input spoils the result. Those of other arguments differ from
// it and from each other: a kernel that copies one element too many would write the guard's own pattern otherwise.
std::uint8_t guard_pattern(Direction direction, std::size_t index) {
  return direction == Direction::kIn ? std::uint8_t{0xff} : static_cast<std::uint8_t>(0x21 + 2 * (index % 32));
}

constexpr std::size_t kSkew = 16;  // what a kernel may rely on; the second place is aligned to no more

constexpr std::uint8_t kOwnPattern = 0x1d;

double gib(std::size_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0); }

Result<std::size_t> element_count(const KernelSpec& spec, const Argument& argument, const Bindings& bound) {
  HONE_ASSIGN(const Value extent, argument.extent.evaluate(bound));
  if (extent.integer() < 0) {
    return Error{ErrorCode::kBadKernel,
                 fmt::format("{}: argument '{}' has {} elements ({})", spec.file, argument.name, extent.integer(), argument.extent.text())};
  }
  return static_cast<std::size_t>(extent.integer());
}

/// The default, or what a profile makes of it. An enumeration keeps to its default: the next number may be none of it.
void set_scalar(InputProfile profile, const Argument& argument, DType dtype, std::byte* to) {
  const Value& usual = argument.scalar_default;
  const double varied = argument.enumeration.empty() ? measure::scalar(profile, dtype, usual.real()) : usual.real();
  if (is_integer(dtype) && varied == usual.real()) {
    measure::encode(dtype, usual.integer(), to);
  } else {
    measure::encode(dtype, varied, to);
  }
}

}  // namespace

Result<void> Bench::Impl::create(const Compiled& reference) {
  HONE_TRY(size_slots());
  HONE_TRY(check_memory(0, "its buffers"));
  HONE_TRY(allocate());
  return load_reference(reference);
}

Result<void> Bench::Impl::size_slots() {
  const Bindings bound = bindings(problem_);
  HONE_ASSIGN(const Value sum_length, spec_.cost.sum_length.evaluate(bound));
  slots_ = std::vector<Slot>(spec_.arguments.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    slot.argument = &spec_.arguments[i];
    slot.element = slot.argument->element(problem_.dtype);
    // An argument of a type of its own (an index, a float beside half inputs) rounds as that type does.
    Result<Tolerance> allowed = tolerance(slot.argument->bound, slot.element, sum_length.real(), bound, max_error_);
    if (!allowed) {
      return Error{allowed.error().code, fmt::format("{}: argument '{}': {}", spec_.file, slot.argument->name, allowed.error().message)};
    }
    slot.tolerance = *allowed;
    if (slot.is(Direction::kScalar)) {
      set_scalar(profile_, *slot.argument, slot.element, slot.scalar.data());
    } else if (!slot.is(Direction::kWorkspace)) {
      HONE_ASSIGN(slot.count, element_count(spec_, *slot.argument, bound));
    }
    HONE_TRY(size_judgement(slot, bound));
    if (slot.is_input() && slot.argument->fill.given()) {
      HONE_ASSIGN(slot.fill, measure::plan_fill(*slot.argument, slot.element, slot.count, bound));
    }
    for (std::size_t place = 0; place < kPlaces; ++place) {
      arguments_[place].push_back(slot.is(Direction::kScalar) ? static_cast<void*>(slot.scalar.data()) : &slot.address[place]);
    }
  }
  bytes_ = measure::GuardedArena::footprint(argument_payloads(kFirst, true)) + measure::GuardedArena::footprint(own_payloads());
  return {};
}

/// The arguments of a place, in the order of the slots; notes whose they are.
std::vector<measure::GuardedArena::Payload> Bench::Impl::argument_payloads(std::size_t place, bool with_inputs) {
  std::vector<measure::GuardedArena::Payload> made;
  arena_owners_[place].clear();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.has_fixed_memory() && (with_inputs || !slot.is(Direction::kIn))) {
      made.push_back({slot.bytes(), guard_pattern(slot.argument->direction, i), size_of(slot.element)});
      arena_owners_[place].push_back({&slot, false});
    }
  }
  return made;
}

/// Of each slot the original, then the answer. What lies before them has another length in each process: nobody finds them by counting.
std::vector<measure::GuardedArena::Payload> Bench::Impl::own_payloads() {
  static const std::uint64_t drawn = std::random_device{}();
  constexpr std::size_t kUnit = 256, kMostUnits = 4096;
  std::vector<measure::GuardedArena::Payload> made{{kUnit * (1 + random_bits(drawn, slots_.size()) % kMostUnits), kOwnPattern, 1}};
  own_owners_ = {{slots_.empty() ? nullptr : slots_.data(), true}};
  for (const Slot& slot : slots_) {
    if (slot.is_output() && slot.is(Direction::kInOut)) {
      made.push_back({slot.bytes(), kOwnPattern, size_of(slot.element)});
      own_owners_.push_back({&slot, true});
    }
    if (slot.is_output()) {
      made.push_back({slot.answer_bytes(), kOwnPattern, sizeof(double)});
      own_owners_.push_back({&slot, true});
    }
    if (slot.is_output() && slot.argument->exact) {
      made.push_back({slot.bytes(), kOwnPattern, size_of(slot.element)});
      own_owners_.push_back({&slot, true});
    }
  }
  return made;
}

std::optional<std::size_t> Bench::Impl::device_memory() const {
  const auto memory = device_.info().properties.find("memory");
  if (memory == device_.info().properties.end() || memory->second <= 0) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(memory->second);
}

Result<void> Bench::Impl::check_memory(std::size_t extra_bytes, const std::string& what) const {
  const std::optional<std::size_t> memory = device_memory();
  if (!memory || bytes_ + extra_bytes <= *memory) {
    return {};
  }
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{} {} {}: {} need {:.2f} GiB on {}, which has {:.2f} GiB; choose a smaller shape", spec_.name,
                           name(problem_.dtype), text(problem_.shape), what, gib(bytes_ + extra_bytes), device_.info().id, gib(*memory))};
}

Error Bench::Impl::out_of_memory(const Error& cause) const {
  return Error{cause.code,
               fmt::format("{} {} {}: its buffers, the reference's answer in double among them, need {:.2f} GiB on {}: {}", spec_.name,
                           name(problem_.dtype), text(problem_.shape), gib(bytes_), device_.info().id, cause.message)};
}

Result<void> Bench::Impl::allocate() {
  Result<void> arranged = arenas_[kFirst].arrange(device_, argument_payloads(kFirst, true));
  arranged = arranged ? own_arena_.arrange(device_, own_payloads()) : arranged;
  if (!arranged) {
    return out_of_memory(arranged.error());
  }
  std::size_t next = 0, next_own = 1;
  for (Slot& slot : slots_) {
    if (!slot.has_fixed_memory()) {
      continue;
    }
    slot.address[kFirst] = slot.reference_address = arenas_[kFirst].payload(next++);
    if (slot.is(Direction::kInOut)) {
      slot.original = own_arena_.payload(next_own++);
    }
    if (slot.is_output()) {
      slot.expected = reinterpret_cast<double*>(own_arena_.payload(next_own++));
      slot.reference_address = slot.expected;
    }
    if (slot.is_output() && slot.argument->exact) {
      slot.exact = own_arena_.payload(next_own++);
      slot.reference_address = slot.exact;
    }
  }
  try_second_place();
  return {};
}

/// Where memory is plenty. Aligned to what a kernel may rely on, and not to more. Inputs that are read in no time have a second place, too.
void Bench::Impl::try_second_place() {
  constexpr std::size_t kShareOfMemory = 4, kFewBytes = std::size_t{64} << 20;
  const std::size_t all = measure::GuardedArena::footprint(argument_payloads(kSecond, true));
  has_second_inputs_ = all <= kFewBytes;
  std::vector<measure::GuardedArena::Payload> wanted = argument_payloads(kSecond, has_second_inputs_);
  const std::optional<std::size_t> memory = device_memory();
  if (memory && measure::GuardedArena::footprint(wanted) > *memory / kShareOfMemory) {
    arena_owners_[kSecond].clear();
    has_second_inputs_ = false;
    return;
  }
  has_second_place_ = arenas_[kSecond].arrange(device_, std::move(wanted), kSkew).ok();
  has_second_inputs_ = has_second_inputs_ && has_second_place_;
  std::size_t next = 0;
  for (Slot& slot : slots_) {
    if (has_second_place_ && slot.has_fixed_memory()) {
      const bool shared = slot.is(Direction::kIn) && !has_second_inputs_;
      slot.address[kSecond] = shared ? slot.address[kFirst] : arenas_[kSecond].payload(next++);
    }
  }
}

Result<std::vector<std::size_t>> Bench::Impl::workspace_counts(const Configuration& configuration) const {
  Bindings bound = bindings(problem_);
  bound.merge(bindings(spec_.parameters, configuration));
  bound.merge(bindings(device_.info()));
  std::vector<std::size_t> counts(slots_.size(), 0);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].is(Direction::kWorkspace)) {
      // A configuration may have no use for a workspace that another one needs.
      HONE_ASSIGN(counts[i], element_count(spec_, *slots_[i].argument, bound));
    }
  }
  return counts;
}

Result<void> Bench::Impl::fit_workspaces(const std::vector<std::size_t>& counts) {
  std::vector<measure::GuardedArena::Payload> wanted;
  std::vector<Owner> owners;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].is(Direction::kWorkspace)) {
      slots_[i].count = counts[i];
      wanted.push_back({slots_[i].bytes(), guard_pattern(Direction::kWorkspace, i), size_of(slots_[i].element)});
      owners.push_back({&slots_[i], false});
    }
  }
  if (wanted.empty()) {
    return {};
  }
  const std::size_t needed = measure::GuardedArena::footprint(wanted) - measure::GuardedArena::footprint({});
  HONE_TRY(check_memory(needed, "its buffers and the workspaces of this configuration"));
  for (std::size_t place = 0; place < (has_second_place_ ? kPlaces : 1); ++place) {
    const Result<void> arranged = workspaces_[place].arrange(device_, wanted, place == kFirst ? 0 : kSkew);
    if (!arranged && place == kSecond) {
      has_second_place_ = false;
      break;
    }
    if (!arranged) {
      const std::size_t largest =
          static_cast<std::size_t>(std::ranges::max_element(wanted, {}, &measure::GuardedArena::Payload::bytes) - wanted.begin());
      return Error{arranged.error().code, fmt::format("workspace '{}' needs {:.2f} GiB beside {:.2f} GiB of buffers on {}: {}",
                                                      owners[largest].slot->argument->name, gib(wanted[largest].bytes), gib(bytes_),
                                                      device_.info().id, arranged.error().message)};
    }
    workspace_owners_[place] = owners;
    std::size_t next = 0;
    for (Slot& slot : slots_) {
      if (slot.is(Direction::kWorkspace)) {
        slot.address[place] = workspaces_[place].payload(next++);
      }
    }
  }
  return {};
}

Bench::Bench(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Bench::~Bench() = default;

Result<std::unique_ptr<Bench>> Bench::create(Device& device, const KernelSpec& spec, const Problem& problem, const Compiled& reference,
                                             InputProfile profile, double max_error, const Given& given) {
  auto impl = std::make_unique<Impl>(device, spec, problem, profile, max_error);
  impl->given_ = given;
  HONE_TRY(impl->create(reference));
  return std::unique_ptr<Bench>(new Bench(std::move(impl)));
}

Result<Validation> Bench::validate(const LoadedKernel& kernel, const Configuration& configuration, std::uint64_t seed, Runs runs) {
  return impl_->validate(kernel, configuration, seed, runs);
}

Result<bool> Bench::has_answer(std::uint64_t seed) { return impl_->has_answer(seed); }
Result<void> Bench::vary(std::uint64_t seed) { return impl_->vary(seed); }

Result<std::optional<Measurement>> Bench::look(const LoadedKernel& kernel, const Configuration& configuration,
                                               const MeasureSettings& settings, double limit_us) {
  return impl_->look(kernel, configuration, settings, limit_us);
}

Result<Timing> Bench::time(const LoadedKernel& kernel, const Configuration& configuration, const MeasureSettings& settings,
                           const std::optional<Incumbent>& incumbent, Readings& readings, const OnTurn& on_turn) {
  impl_->on_turn_ = on_turn;
  Result<Timing> timed = impl_->time(kernel, configuration, settings, incumbent, readings);
  impl_->on_turn_ = nullptr;
  return timed;
}

Result<Validation> Bench::repeat(const LoadedKernel& kernel, const Configuration& configuration, int launches, double seconds,
                                 const OnTurn& on_turn) {
  impl_->on_turn_ = on_turn;
  Result<Validation> repeated = impl_->repeat(kernel, configuration, launches, seconds);
  impl_->on_turn_ = nullptr;
  return repeated;
}

Result<Counters> Bench::count(const LoadedKernel& kernel, const Configuration& configuration, const MeasureSettings& settings) {
  return impl_->count(kernel, configuration, settings);
}

Result<std::vector<Timing>> Bench::time_interleaved(std::span<const Finalist> finalists, const MeasureSettings& settings,
                                                    std::uint64_t seed, Readings& readings, const OnTurn& on_turn) {
  impl_->on_turn_ = on_turn;
  Result<std::vector<Timing>> timed = impl_->time_interleaved(finalists, settings, seed, readings);
  impl_->on_turn_ = nullptr;
  return timed;
}

Result<void> Bench::draw(std::uint64_t seed) { return impl_->compute_answer(seed); }
void Bench::watch_reference(std::function<void(bool begins)> watcher) { impl_->on_reference_ = std::move(watcher); }
std::size_t Bench::bytes() const { return impl_->bytes_; }

}  // namespace hone
