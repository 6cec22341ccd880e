// Is a configuration right? Two runs on equal inputs over different poison: the first is held against the reference, the second against the
// first.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/measure/bench_impl.hpp"
#include "engine/measure/element.hpp"

namespace hone {
namespace {

constexpr double kMaybeRounding = 16.0;  // times what is allowed; a wrong kernel is off by far more
// What a sum may be off by is a share of the results' rms. Of few results that says little: a single one that nearly cancels is small, and
// its error is not. Other inputs tell: what is drawn for it is as unlucky in one of thirty cases.
constexpr std::size_t kFewResults = 32;
constexpr int kMostDraws = 3;

/// What memory that a kernel must write holds before a run: NaN in the float types, and another pattern in the second run, so that a result
/// which depends on it differs. (0x7f7f7f7f is no NaN in f32 and bf16, but it need not be: the first run's is.)
std::uint8_t poison(DType dtype, bool second) {
  if (dtype == DType::kI32) {
    return second ? 0x5a : 0xa5;
  }
  return second ? 0x7f : 0xff;
}

}  // namespace

Result<Validation> Bench::Impl::validate(const LoadedKernel& kernel, const Configuration& configuration, std::uint64_t seed) {
  HONE_ASSIGN(const std::vector<std::size_t> counts, workspace_counts(configuration));
  if (const Result<void> fitted = fit_workspaces(counts); !fitted) {
    if (fitted.error().code == ErrorCode::kDevice) {
      return fitted.error();
    }
    return Validation{Outcome::kLaunchFailure, fitted.error().message, 0.0};
  }
  const auto redrawn = redrawn_.find(seed);
  Validation validation;
  HONE_ASSIGN(Verdict verdict, judge_drawn(kernel, redrawn == redrawn_.end() ? seed : redrawn->second, validation.max_error));
  for (std::uint64_t draw = 1; verdict.outcome == Outcome::kWrongResult && verdict.may_be_cancellation && draw < kMostDraws; ++draw) {
    const std::uint64_t other = seed + draw * 0x9e3779b97f4a7c15;
    validation.max_error = 0.0;
    HONE_ASSIGN(Verdict again, judge_drawn(kernel, other, validation.max_error));
    if (again.outcome == Outcome::kOk) {
      redrawn_[seed] = other;
    }
    verdict = std::move(again);
  }
  validation.outcome = verdict.outcome;
  validation.detail = std::move(verdict.detail);
  return validation;
}

Result<Bench::Impl::Verdict> Bench::Impl::judge_drawn(const LoadedKernel& kernel, std::uint64_t seed, double& max_error) {
  HONE_TRY(compute_answer(seed));
  HONE_ASSIGN(Verdict verdict, judge(kernel, max_error));
  if (verdict.outcome != Outcome::kOk) {
    verdict.detail += fmt::format(" (input seed {})", seed);
    HONE_TRY(repair());
  }
  return verdict;
}

Result<Bench::Impl::Verdict> Bench::Impl::judge(const LoadedKernel& kernel, double& max_error) {
  HONE_ASSIGN(Verdict first, run_and_compare(kernel, Run::kFirst, max_error));
  if (first.outcome != Outcome::kOk) {
    return first;
  }
  HONE_ASSIGN(const std::vector<std::uint64_t> checksums, output_checksums());
  HONE_ASSIGN(Verdict second, run(kernel, Run::kSecond));
  if (second.outcome == Outcome::kOk) {
    HONE_ASSIGN(second, compare_runs(checksums, max_error));
  }
  if (second.outcome != Outcome::kOk || !kernel.overlaps()) {
    return second;
  }
  HONE_ASSIGN(Verdict behind, run_and_compare(kernel, Run::kBehindWriter, max_error));
  if (behind.outcome != Outcome::kOk) {
    behind.outcome = Outcome::kRace;
    behind.detail =
        "right by itself, wrong behind a kernel that still writes its arguments (Launch::overlap: all it reads and writes must come behind "
        "await_pass_before()): " +
        behind.detail;
  }
  return behind;
}

Result<Bench::Impl::Verdict> Bench::Impl::run_and_compare(const LoadedKernel& kernel, Run which, double& max_error) {
  HONE_ASSIGN(Verdict verdict, run(kernel, which));
  if (verdict.outcome == Outcome::kOk) {
    HONE_ASSIGN(verdict, compare_outputs(false, max_error));
  }
  return verdict;
}

Result<void> Bench::Impl::prepare(bool second) {
  for (Slot& slot : slots_) {
    if (slot.is(Direction::kInOut)) {
      HONE_TRY(device_.copy(slot.buffer.payload(), slot.original->address(), slot.bytes()));
    } else if ((slot.is(Direction::kOut) || slot.is(Direction::kWorkspace)) && slot.count > 0) {
      HONE_TRY(device_.fill(slot.buffer.payload(), slot.bytes(), slot.argument->zeroed ? std::uint8_t{0} : poison(slot.element, second)));
    }
  }
  return device_.synchronize();
}

/// Spoils all that the kernel may touch and has a kernel mend it that is still at it when ours is launched. Who reads too early reads
/// nonsense; what is written too early is spoiled.
Result<void> Bench::Impl::write_late() {
  std::vector<Region> regions;
  for (const Slot& slot : slots_) {
    if (!slot.is(Direction::kScalar) && slot.count > 0) {
      regions.push_back({slot.buffer.payload(), slot.bytes()});
    }
  }
  HONE_TRY(device_.invert(regions, false));
  return device_.invert(regions, true);
}

/// One run on prepared buffers, and whether it stayed within them. Guards come before values: who writes past an end may have
/// spoiled any value, and should hear of the end first.
Result<Bench::Impl::Verdict> Bench::Impl::run(const LoadedKernel& kernel, Run which) {
  HONE_TRY(prepare(which == Run::kSecond));
  if (which == Run::kBehindWriter) {
    HONE_TRY(write_late());
  }
  Result<void> ran = kernel.launch(nullptr, arguments_);
  if (ran) {
    ran = device_.synchronize();
  }
  if (!ran) {
    if (ran.error().code != ErrorCode::kLaunch) {
      return ran.error();
    }
    const bool deadlock = ran.error().message.starts_with("deadlock:");
    return Verdict{deadlock ? Outcome::kDeadlock : Outcome::kLaunchFailure, ran.error().message};
  }
  return find_damage();
}

Result<Bench::Impl::Verdict> Bench::Impl::find_damage() {
  for (const Slot& slot : slots_) {
    if (slot.is(Direction::kScalar)) {
      continue;
    }
    HONE_ASSIGN(const auto damage, slot.buffer.damage(device_, size_of(slot.element)));
    if (damage) {
      return Verdict{Outcome::kIllegalAccess, fmt::format("argument '{}' {}", slot.argument->name, *damage)};
    }
    if (slot.is(Direction::kIn)) {
      HONE_ASSIGN(const std::uint64_t now, device_.checksum(slot.buffer.payload(), slot.bytes()));
      if (now != slot.input_checksum) {
        return Verdict{Outcome::kIllegalAccess, fmt::format("argument '{}' is an input (IN) and was written", slot.argument->name)};
      }
    }
  }
  return Verdict{};
}

Result<Bench::Impl::Verdict> Bench::Impl::compare_outputs(bool second, double& max_error) {
  for (const Slot& slot : slots_) {
    if (!slot.is_output()) {
      continue;
    }
    const auto* expected = reinterpret_cast<const double*>(slot.expected.payload());
    // An argument of a type of its own (an index, a float beside half inputs) rounds as that type does.
    Tolerance allowed = tolerance_;
    if (slot.element != problem_.dtype) {
      HONE_ASSIGN(const Value sum_length, spec_.cost.sum_length.evaluate(bindings(problem_)));
      allowed = tolerance(slot.element, sum_length.real());
    }
    HONE_ASSIGN(const Comparison comparison, device_.compare(slot.buffer.payload(), slot.element, expected, slot.count, allowed));
    max_error = std::max(max_error, comparison.max_error);
    if (comparison.mismatches > 0 || comparison.not_finite > 0) {
      return describe(slot, comparison, second);
    }
  }
  return Verdict{};
}

Result<Bench::Impl::Verdict> Bench::Impl::describe(const Slot& slot, const Comparison& comparison, bool second) {
  HONE_ASSIGN(const std::uint64_t expected_now, device_.checksum(slot.expected.payload(), slot.expected.bytes()));
  if (expected_now != slot.expected_checksum) {
    return Verdict{Outcome::kIllegalAccess, "it wrote to memory that belongs to none of its arguments"};
  }
  const std::size_t width = size_of(slot.element);
  std::vector<std::byte> actual(width);
  HONE_TRY(device_.download(actual, slot.buffer.payload() + comparison.first_mismatch * width));
  std::string detail = fmt::format("argument '{}': {} of {} elements {} wrong", slot.argument->name, comparison.mismatches, slot.count,
                                   comparison.mismatches == 1 ? "is" : "are");
  if (comparison.not_finite > 0) {
    detail += fmt::format(", {} of them NaN or infinite", comparison.not_finite);
  }
  detail += fmt::format("; the first at index {}: {:.9g}, expected {:.9g}", comparison.first_mismatch, comparison.first_actual,
                        comparison.first_expected);
  const std::byte unwritten{poison(slot.element, second)};
  if (slot.is(Direction::kOut) && !slot.argument->zeroed && std::ranges::all_of(actual, [&](std::byte b) { return b == unwritten; })) {
    detail += " (never written, or made of memory that nobody wrote)";
  } else if (std::isfinite(comparison.max_error)) {
    detail += fmt::format("; the largest error is {:.3g} times what is allowed", comparison.max_error);
    if (comparison.max_error < kMaybeRounding) {
      detail += ": rounding, if an output is a sum that `cost` does not tell of (sum_length)";
    }
  }
  const bool few = slot.count < kFewResults && comparison.not_finite == 0 && comparison.max_error < kMaybeRounding;
  return Verdict{Outcome::kWrongResult, std::move(detail), few};
}

Result<std::vector<std::uint64_t>> Bench::Impl::output_checksums() {
  std::vector<std::uint64_t> checksums(slots_.size(), 0);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].is_output()) {
      HONE_ASSIGN(checksums[i], device_.checksum(slots_[i].buffer.payload(), slots_[i].bytes()));
    }
  }
  return checksums;
}

/// A zeroed float argument is there for atomic additions, and their order is free: such a kernel may differ from itself by rounding.
bool Bench::Impl::sums_in_any_order() const {
  return std::ranges::any_of(slots_, [](const Slot& slot) {
    return !slot.is(Direction::kScalar) && slot.argument->zeroed && slot.element != DType::kI32 && slot.count > 0;
  });
}

Result<Bench::Impl::Verdict> Bench::Impl::compare_runs(const std::vector<std::uint64_t>& first, double& max_error) {
  HONE_ASSIGN(const std::vector<std::uint64_t> second, output_checksums());
  const auto [at, other] = std::ranges::mismatch(first, second);
  if (at == first.end()) {
    return Verdict{};
  }
  HONE_ASSIGN(Verdict compared, compare_outputs(true, max_error));
  if (compared.outcome == Outcome::kOk && sums_in_any_order()) {
    return compared;
  }
  if (compared.outcome == Outcome::kIllegalAccess) {
    return compared;
  }
  const Slot& slot = slots_[static_cast<std::size_t>(at - first.begin())];
  std::string detail = fmt::format("argument '{}': two runs on the same inputs differ", slot.argument->name);
  if (compared.outcome != Outcome::kOk) {
    detail += "; in the second, " + compared.detail;
  }
  return Verdict{Outcome::kRace, std::move(detail)};
}

/// After a failure nothing on the device is taken for intact: the next configuration must not pay for it.
Result<void> Bench::Impl::repair() {
  inputs_seed_.reset();
  const auto answered = answer_seed_;
  bool answer_intact = true;
  for (Slot& slot : slots_) {
    if (slot.is(Direction::kScalar)) {
      continue;
    }
    HONE_TRY(slot.buffer.paint(device_));
    if (slot.is_output()) {
      HONE_ASSIGN(const std::uint64_t now, device_.checksum(slot.expected.payload(), slot.expected.bytes()));
      answer_intact = answer_intact && now == slot.expected_checksum;
      HONE_TRY(slot.expected.paint(device_));
    }
  }
  if (answered) {
    HONE_TRY(fill_inputs(*answered));
  }
  if (answer_intact) {
    answer_seed_ = answered;  // the inputs are the same numbers again, and so is the answer
  }
  return {};
}

}  // namespace hone
