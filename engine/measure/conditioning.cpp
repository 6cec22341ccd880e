// What rounding may do to an answer. A length and the results' rms say it of random numbers in the mean; of the answer at hand, the answer
// itself: how much it changes when its inputs change by rounding errors. A kernel whose result is the exact answer to inputs that differ so
// little is backward stable (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, 1.5), and one with n rounding errors on the
// way is off by about sqrt(n) such changes. For a sum the change is the root of the sum of its terms' squares: the magnitudes that were
// summed.
//
// Measured, not derived, since the reference is somebody's code: it runs on inputs whose elements were moved one step of their type up or
// down at random, and the root mean square of the differences, over a few draws, stands for the change.
#include <algorithm>
#include <cmath>

#include "engine/measure/bench_impl.hpp"
#include "engine/measure/element.hpp"
#include "engine/measure/perturbation.hpp"
#include "engine/measure/spots.hpp"
#include "hone/random.h"

namespace hone {
namespace {

// Roundings of f32, in one step of a sum, that a kernel may leave where zero is due; and what a reference in double leaves, of the inputs.
constexpr double kZeroIsDue = 8.0, kRounding = 4e-15;
/// Inputs that provoke are not held against rounding, but against numbers that are nonsense.
constexpr double kProvokedMargin = 4.0;

double rms_of(DType dtype, std::span<const std::byte> elements) {
  const std::size_t width = size_of(dtype), count = elements.size() / width;
  double squares = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = measure::decode(dtype, elements.data() + i * width);
    squares += value * value;
  }
  return std::sqrt(squares / static_cast<double>(std::max<std::size_t>(1, count)));
}

}  // namespace

/// The relative size of the changes: a step of the coarsest input, since others cannot be changed by less.
double Bench::Impl::perturbation_step() const {
  double step = measure::kFinestStep;
  for (const Slot& slot : slots_) {
    if (slot.is(Direction::kIn) || slot.is(Direction::kInOut)) {
      step = std::max(step, epsilon(slot.element));
    }
  }
  return step;
}

double Bench::Impl::where_zero_is_due(const Slot& slot) const {
  const Result<Value> length = spec_.cost.sum_length.evaluate(bindings(problem_));
  const double walk = std::sqrt(length ? std::max(1.0, length->real()) : 1.0);
  const bool is_due = !is_integer(slot.element) && slot.rms <= kRounding * walk * largest_input_rms_;
  return is_due ? kZeroIsDue * epsilon(DType::kF32) * walk * std::max(1.0, largest_input_rms_) : 0.0;
}

/// For all outputs, by the reference on changed inputs; what the device holds afterwards is what it held before.
Result<void> Bench::Impl::measure_sensitivity() {
  std::vector<std::vector<double>> answers(slots_.size());
  std::vector<std::vector<std::byte>> exact(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].exact != nullptr) {
      exact[i].resize(slots_[i].bytes());
      HONE_TRY(device_.download(exact[i], slots_[i].exact));
    }
    if (slots_[i].is_output()) {
      answers[i].resize(slots_[i].count);
      HONE_TRY(device_.download(std::as_writable_bytes(std::span(answers[i])), slots_[i].expected));
      slots_[i].sensitivity.assign(slots_[i].count, 0.0);
    }
  }
  largest_input_rms_ = 0.0;
  const double step = perturbation_step();
  for (std::uint64_t draw = 0; draw < measure::kDraws; ++draw) {
    HONE_TRY(add_perturbed_answer(draw, step, answers));
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].is_output()) {
      continue;
    }
    for (double& squares : slots_[i].sensitivity) {
      squares = std::sqrt(squares / measure::kDraws);
    }
    HONE_TRY(device_.upload(slots_[i].expected, std::as_bytes(std::span(answers[i]))));
    if (slots_[i].exact != nullptr) {
      HONE_TRY(device_.upload(slots_[i].exact, exact[i]));
    }
  }
  return {};
}

Result<void> Bench::Impl::add_perturbed_answer(std::uint64_t draw, double step, const std::vector<std::vector<double>>& answers) {
  std::vector<std::vector<std::byte>> inputs(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    void* const input = slot.is(Direction::kIn) ? slot.address[kFirst] : slot.original;
    if (input == nullptr || slot.is(Direction::kScalar)) {
      continue;
    }
    inputs[i].resize(slot.bytes());
    HONE_TRY(device_.download(inputs[i], input));
    if (!is_integer(slot.element)) {  // others are indices, counts and keys: no magnitudes
      largest_input_rms_ = std::max(largest_input_rms_, rms_of(slot.element, inputs[i]));
    }
    std::vector<std::byte> changed = inputs[i];
    measure::perturb(slot.element, changed, step, random_bits(draw, i));
    HONE_TRY(device_.upload(input, changed));
  }
  HONE_TRY(launch_reference());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (!inputs[i].empty()) {
      HONE_TRY(device_.upload(slot.is(Direction::kIn) ? slot.address[kFirst] : slot.original, inputs[i]));
    }
    if (!slot.is_output()) {
      continue;
    }
    std::vector<double> other(slot.count);
    HONE_TRY(device_.download(std::as_writable_bytes(std::span(other)), slot.expected));
    for (std::size_t e = 0; e < slot.count; ++e) {
      const double difference = other[e] - answers[i][e];
      slot.sensitivity[e] += std::isfinite(difference) ? difference * difference : 0.0;
    }
  }
  return {};
}

Result<Comparison> Bench::Impl::compare_conditioned(const Slot& slot, const void* address) {
  if (slot.sensitivity.empty()) {
    HONE_TRY(measure_sensitivity());
  }
  HONE_ASSIGN(const Value length, spec_.cost.sum_length.evaluate(bindings(problem_)));
  const double per_change = measure::rounding_per_change(slot.element, perturbation_step(), length.real());
  const double margin = profile_ == InputProfile::kUsual ? 1.0 : kProvokedMargin;
  // A term that cancels on the way, as in 1 + erf(x), leaves rounding of the inputs' size where next to nothing is due.
  const double provoked = profile_ == InputProfile::kUsual ? 0.0 : epsilon(DType::kF32) * largest_input_rms_;
  const double floor = slot.tolerance.absolute_rms * slot.rms + slot.tolerance.absolute + where_zero_is_due(slot) + provoked;
  std::vector<std::byte> actual(slot.bytes());
  std::vector<double> expected(slot.count);
  HONE_TRY(device_.download(actual, address));
  HONE_TRY(device_.download(std::as_writable_bytes(std::span(expected)), slot.expected));
  Comparison comparison;
  comparison.elements = slot.count;
  const std::size_t width = size_of(slot.element);
  for (std::size_t e = 0; e < slot.count; ++e) {
    const double value = measure::decode(slot.element, actual.data() + e * width);
    const double allowed = margin * (slot.tolerance.relative * std::fabs(expected[e]) + floor + per_change * slot.sensitivity[e]);
    const double share = measure::error_share(value, expected[e], allowed);
    comparison.max_error = std::max(comparison.max_error, share);
    comparison.not_finite += !std::isfinite(value) && std::isfinite(expected[e]) ? 1 : 0;
    if (share > 1.0 && comparison.mismatches++ == 0) {
      comparison.first_mismatch = e;
      comparison.first_actual = value;
      comparison.first_expected = expected[e];
    }
  }
  return comparison;
}

}  // namespace hone
