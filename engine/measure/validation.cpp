// Is a configuration right? Two runs on equal inputs over different poison and, where memory allows, at different addresses: the first is
// held against the reference, the second against the first.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/measure/bench_impl.hpp"
#include "engine/measure/element.hpp"

namespace hone {
namespace {

constexpr double kMaybeRounding = 16.0;  // times what is allowed; a wrong kernel is off by far more
// What a sum may be off by is a share of the results' rms. Of few results that says little: a single one that nearly cancels is small, and
// its error is not.
constexpr std::size_t kFewResults = 32;
// A problem with no more elements in any argument is judged by its answer's conditioning whatever the error: that costs little.
constexpr std::size_t kSmallProblem = std::size_t{1} << 17;

/// What memory that a kernel must write holds before a run: NaN in the float types, and another pattern in the second run, so that a result
/// which depends on it differs. (0x7f7f7f7f is no NaN in f32 and bf16, but it need not be: the first run's is.)
std::uint8_t poison(DType dtype, bool second) {
  if (is_integer(dtype)) {
    return second ? 0x5a : 0xa5;
  }
  return second ? 0x7f : 0xff;
}

}  // namespace

Result<Validation> Bench::Impl::validate(const LoadedKernel& kernel, const Configuration& configuration, std::uint64_t seed, Runs runs) {
  HONE_ASSIGN(const std::vector<std::size_t> counts, workspace_counts(configuration));
  if (const Result<void> fitted = fit_workspaces(counts); !fitted) {
    if (fitted.error().code == ErrorCode::kDevice) {
      return fitted.error();
    }
    return Validation{Outcome::kLaunchFailure, fitted.error().message, 0.0};
  }
  use(configuration);
  HONE_TRY(compute_answer(seed));
  Validation validation;
  HONE_ASSIGN(Verdict verdict, judge(kernel, runs, validation.max_error));
  if (verdict.outcome != Outcome::kIllegalAccess) {
    HONE_ASSIGN(std::optional<std::string> stray, damage(written_by_none(verdict.ok())));
    if (stray) {
      verdict = {Outcome::kIllegalAccess, *std::move(stray)};
    }
  }
  if (!verdict.ok()) {
    verdict.detail += fmt::format(" (input seed {}{}{}{})", seed, profile_ == InputProfile::kUsual ? "" : ", inputs: ",
                                  profile_ == InputProfile::kUsual ? "" : name(profile_), inputs_text());
    HONE_TRY(repair());
  }
  validation.outcome = verdict.outcome;
  validation.detail = std::move(verdict.detail);
  return validation;
}

/// The inputs, and for who failed also what he was held against: it may be his own work.
std::vector<Bench::Impl::Frozen> Bench::Impl::written_by_none(bool inputs_alone) const {
  std::vector<Frozen> watched;
  for (const std::vector<Frozen>& of_place : inputs_) {
    watched.insert(watched.end(), of_place.begin(), of_place.end());
  }
  if (!inputs_alone) {
    watched.insert(watched.end(), own_.begin(), own_.end());
  }
  return watched;
}

Result<Bench::Impl::Verdict> Bench::Impl::judge(const LoadedKernel& kernel, Runs runs, double& max_error) {
  // Where inputs change, the first launch on the new ones is where the last one on the old ones was: what keeps a result by the address of
  // its inputs gives an old one.
  const bool begins_elsewhere = has_second_place_ && draws_ % 2 == 0;
  const Run begin{.place = begins_elsewhere ? kSecond : kFirst};
  HONE_ASSIGN(Verdict first, run_and_compare(kernel, begin, max_error));
  if (!first.ok() || runs == Runs::kOne || profile_ != InputProfile::kUsual) {
    return first;
  }
  HONE_ASSIGN(const std::vector<std::uint64_t> checksums, output_checksums(begin.place));
  const Run again{.place = has_second_place_ && !begins_elsewhere ? kSecond : kFirst, .second = true};
  HONE_ASSIGN(Verdict second, run(kernel, again));
  if (second.ok()) {
    HONE_ASSIGN(second, compare_runs(checksums, again, max_error));
  }
  return second.ok() ? behind_late_writers(kernel, max_error) : second;
}

/// Each pass that may begin early, with the one before it held up.
Result<Bench::Impl::Verdict> Bench::Impl::behind_late_writers(const LoadedKernel& kernel, double& max_error) {
  constexpr std::size_t kMostHeldUp = 16;  // of a pass that repeats, one run is like another
  for (std::size_t pass = 0, held_up = 0; pass < kernel.passes() && held_up < kMostHeldUp; ++pass) {
    if (!kernel.overlaps(pass)) {
      continue;
    }
    ++held_up;
    HONE_ASSIGN(Verdict behind, run_and_compare(kernel, Run{.late_before = pass}, max_error));
    if (!behind.ok()) {
      behind.outcome = Outcome::kRace;
      behind.detail = fmt::format(
          "correct alone, wrong {} a kernel that is still writing its arguments (Launch::overlap: every read and write must come after "
          "grid_dependency_wait()): {}",
          pass == 0 ? "behind" : fmt::format("with pass {} behind", pass + 1), behind.detail);
      return behind;
    }
  }
  return Verdict{};
}

Result<Bench::Impl::Verdict> Bench::Impl::run_and_compare(const LoadedKernel& kernel, const Run& which, double& max_error) {
  HONE_ASSIGN(Verdict verdict, run(kernel, which));
  if (verdict.ok()) {
    HONE_ASSIGN(verdict, compare_outputs(which, max_error));
  }
  return verdict;
}

Result<void> Bench::Impl::prepare(const Run& which) {
  for (Slot& slot : slots_) {
    void* const address = slot.address[which.place];
    if (slot.is_output() && slot.is(Direction::kInOut)) {
      HONE_TRY(device_.copy(address, slot.original, slot.bytes()));
    } else if ((slot.is(Direction::kOut) || slot.is(Direction::kWorkspace)) && slot.count > 0) {
      const std::uint8_t pattern = slot.argument->zeroed ? std::uint8_t{0} : poison(slot.element, which.second);
      HONE_TRY(device_.fill_on(nullptr, address, slot.bytes(), pattern));
    }
  }
  return device_.paint_shared(poison(DType::kF32, which.second));
}

/// Spoils all that the kernel may touch and has a kernel mend it that is still at it when ours is launched. Who reads too early reads
/// nonsense; what is written too early is spoiled.
Result<void> Bench::Impl::write_late(std::size_t place) {
  std::vector<Region> regions;
  for (const Slot& slot : slots_) {
    if (!slot.is(Direction::kScalar) && slot.count > 0) {
      regions.push_back({slot.address[place], slot.bytes()});
    }
  }
  HONE_TRY(device_.invert(regions, false));
  return device_.invert(regions, true);
}

Result<void> Bench::Impl::launch(const LoadedKernel& kernel, const Run& which) {
  const std::span<void* const> arguments = arguments_[which.place];
  if (!which.late_before || *which.late_before == 0) {
    if (which.late_before) {
      HONE_TRY(write_late(which.place));
    }
    return kernel.launch(nullptr, arguments);
  }
  const std::size_t late = *which.late_before;
  HONE_TRY(kernel.launch_passes(nullptr, arguments, 0, late));
  HONE_TRY(write_late(which.place));
  return kernel.launch_passes(nullptr, arguments, late, kernel.passes() - late);
}

Bench::Impl::Verdict Bench::Impl::launch_failure(const Error& error) {
  return {error.message.starts_with("deadlock:") ? Outcome::kDeadlock : Outcome::kLaunchFailure, error.message};
}

/// One run on prepared buffers, and whether it stayed within them. Guards come before values: who writes past an end may have
/// spoiled any value, and should hear of the end first.
Result<Bench::Impl::Verdict> Bench::Impl::run(const LoadedKernel& kernel, const Run& which) {
  HONE_TRY(prepare(which));
  Result<void> ran = launch(kernel, which);
  if (ran) {
    ran = device_.synchronize();
  }
  if (!ran) {
    return ran.error().code == ErrorCode::kLaunch ? Result<Verdict>(launch_failure(ran.error())) : Result<Verdict>(ran.error());
  }
  HONE_ASSIGN(std::optional<std::string> found, damage(bands(which.place)));
  return found ? Verdict{Outcome::kIllegalAccess, *std::move(found)} : Verdict{};
}

Result<Bench::Impl::Verdict> Bench::Impl::compare_outputs(const Run& which, double& max_error) {
  for (Slot& slot : slots_) {
    if (!slot.is_output() || slot.is_accepted) {
      continue;
    }
    HONE_ASSIGN(const Comparison comparison, compare_slot(slot, slot.address[which.place]));
    max_error = std::max(max_error, comparison.max_error);
    if (comparison.mismatches > 0 || comparison.not_finite > 0) {
      return describe(slot, comparison, which);
    }
  }
  return accept(addresses(which.place));
}

/// By the tolerance first. What is beyond it may be the rounding of an answer that is conditioned worse than most: then the magnitudes that
/// went into this very answer decide, unless the author has said how far is too far.
Result<Comparison> Bench::Impl::compare_slot(Slot& slot, const void* address) {
  // The rms is known: a device that is asked for it would read the whole answer once more.
  const Tolerance allowed{slot.tolerance.relative, 0.0, slot.tolerance.absolute_rms * slot.rms + slot.tolerance.absolute};
  if (slot.argument->bound.set) {
    HONE_ASSIGN(Comparison as_set, compare_freely(slot, address, allowed));
    forgive(slot, as_set);
    return as_set;
  }
  HONE_ASSIGN(Comparison comparison, device_.compare(address, slot.element, slot.expected, slot.count, allowed));
  const bool is_bound = slot.argument->bound.gives_distance() || max_error_ > 0.0 || is_integer(slot.element);
  if (slot.exact != nullptr && comparison.mismatches == 0 && !slot.argument->bound.gives_distance()) {
    HONE_ASSIGN(comparison, compare_exact(slot, address));
  }
  forgive(slot, comparison);
  const bool is_small =
      std::ranges::all_of(slots_, [](const Slot& other) { return !other.has_fixed_memory() || other.count <= kSmallProblem; });
  const bool may_cancel = profile_ != InputProfile::kUsual;  // as ordered ones do, where random ones do not
  const bool worth_it = comparison.max_error < kMaybeRounding || slot.count < kFewResults || is_small || may_cancel;
  if (comparison.mismatches == 0 || comparison.not_finite > 0 || is_bound || !worth_it) {
    return comparison;
  }
  const double plain_error = comparison.max_error;
  HONE_ASSIGN(Comparison again, compare_conditioned(slot, address));
  if (again.mismatches == 0 && where_zero_is_due(slot) == 0.0) {
    slot.slack = std::max(slot.slack, plain_error);
  }
  forgive(slot, again);
  return again;
}

/// What doubles cannot tell apart: every bit.
Result<Comparison> Bench::Impl::compare_exact(const Slot& slot, const void* address) {
  Comparison comparison;
  comparison.elements = slot.count;
  HONE_ASSIGN(const std::uint64_t sum, device_.checksum(address, slot.bytes()));
  HONE_ASSIGN(const std::uint64_t right, device_.checksum(slot.exact, slot.bytes()));
  if (sum == right) {
    return comparison;
  }
  std::vector<std::byte> actual(slot.bytes()), expected(slot.bytes());
  HONE_TRY(device_.download(actual, address));
  HONE_TRY(device_.download(expected, slot.exact));
  const std::size_t width = size_of(slot.element);
  for (std::size_t i = 0; i < slot.count; ++i) {
    if (std::memcmp(actual.data() + i * width, expected.data() + i * width, width) != 0 && comparison.mismatches++ == 0) {
      comparison.first_mismatch = i;
      comparison.first_actual = measure::decode(slot.element, actual.data() + i * width);
      comparison.first_expected = measure::decode(slot.element, expected.data() + i * width);
      comparison.max_error = std::numeric_limits<double>::max();
    }
  }
  return comparison;
}

Result<Bench::Impl::Verdict> Bench::Impl::describe(const Slot& slot, const Comparison& comparison, const Run& which) {
  const std::size_t width = size_of(slot.element);
  std::vector<std::byte> actual(width);
  HONE_TRY(device_.download(actual, static_cast<const std::byte*>(slot.address[which.place]) + comparison.first_mismatch * width));
  std::string detail = fmt::format("argument '{}': {} of {} elements {} wrong", slot.argument->name, comparison.mismatches, slot.count,
                                   comparison.mismatches == 1 ? "is" : "are");
  if (comparison.not_finite > 0) {
    detail += fmt::format(", {} of them NaN or infinite", comparison.not_finite);
  }
  const auto shown = [&slot](double value) {
    return is_integer(slot.element) ? fmt::format("{:.0f}", value) : fmt::format("{:.9g}", value);
  };
  detail += fmt::format("; the first at index {}: {}, expected {}", comparison.first_mismatch, shown(comparison.first_actual),
                        shown(comparison.first_expected));
  const std::byte unwritten{poison(slot.element, which.second)};
  if (slot.is(Direction::kOut) && !slot.argument->zeroed && std::ranges::all_of(actual, [&](std::byte b) { return b == unwritten; })) {
    detail += " (never written, or computed from uninitialized memory)";
  } else if (std::isfinite(comparison.max_error) && comparison.max_error < std::numeric_limits<double>::max()) {
    detail += fmt::format("; the largest error is {:.3g} times the tolerance", comparison.max_error);
    if (comparison.max_error < kMaybeRounding) {
      detail += ": this may be rounding, if an output is a sum that `cost` does not state (sum_length)";
    }
  }
  return Verdict{Outcome::kWrongResult, std::move(detail)};
}

Result<std::vector<std::uint64_t>> Bench::Impl::output_checksums(std::size_t place) {
  std::vector<Region> outputs;
  for (const Slot& slot : slots_) {
    if (slot.is_output()) {
      outputs.push_back({slot.address[place], slot.bytes()});
    }
  }
  return device_.checksums(outputs);
}

/// A zeroed float argument is there for atomic additions, and their order is free: such a kernel may differ from itself by rounding.
bool Bench::Impl::sums_in_any_order() const {
  return std::ranges::any_of(slots_, [](const Slot& slot) {
    if (slot.is_accepted || slot.argument->bound.set) {  // several results are right
      return true;
    }
    return !slot.is(Direction::kScalar) && slot.argument->zeroed && !is_integer(slot.element) && slot.count > 0;
  });
}

Result<Bench::Impl::Verdict> Bench::Impl::compare_runs(const std::vector<std::uint64_t>& first, const Run& second, double& max_error) {
  HONE_ASSIGN(const std::vector<std::uint64_t> now, output_checksums(second.place));
  const auto [at, other] = std::ranges::mismatch(first, now);
  if (at == first.end()) {
    return Verdict{};
  }
  HONE_ASSIGN(Verdict compared, compare_outputs(second, max_error));
  if ((compared.ok() && sums_in_any_order()) || compared.outcome == Outcome::kIllegalAccess) {
    return compared;
  }
  std::vector<const Slot*> outputs;
  for (const Slot& slot : slots_) {
    if (slot.is_output()) {
      outputs.push_back(&slot);
    }
  }
  std::string detail = fmt::format("argument '{}': two runs on the same inputs differ",
                                   outputs[static_cast<std::size_t>(at - first.begin())]->argument->name);
  if (!compared.ok()) {
    detail += "; in the second, " + compared.detail;
  } else if (!is_integer(outputs[static_cast<std::size_t>(at - first.begin())]->element)) {
    detail += "; each of them is right: additions in any order (atomicAdd) are for an argument that is marked OUT_ZEROED";
  }
  return Verdict{Outcome::kRace, std::move(detail)};
}

}  // namespace hone
