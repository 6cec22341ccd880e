#include "engine/measure/fill.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>

#include "engine/measure/element.hpp"
#include "engine/measure/input_profile.hpp"
#include "hone/random.h"

namespace hone::measure {
namespace {

/// Uniform in [0, 1), 53 bits.
double unit(std::uint64_t seed, std::uint64_t i) { return static_cast<double>(random_bits(seed, i) >> 11) * 0x1p-53; }

/// A number of [0, size) for each of them, none twice: a Feistel network (Luby and Rackoff 1988) over the next power of four, walked until
/// it falls into the range.
std::uint64_t shuffled(std::uint64_t i, std::uint64_t size, std::uint64_t seed) {
  const int half = std::max(1, (static_cast<int>(std::bit_width(size - 1)) + 1) / 2);
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  do {
    std::uint64_t left = i >> half, right = i & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t mixed = left ^ (random_bits(seed + round, right) & mask);
      left = right;
      right = mixed;
    }
    i = (left << half) | right;
  } while (i >= size);
  return i;
}

/// Uniform numbers of [0, 1) in order, as if drawn and sorted: sums of exponential steps (Devroye 1986, V.3.1).
std::vector<double> sorted_units(std::size_t count, std::uint64_t seed) {
  std::vector<double> units(count);
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    units[i] = sum += -std::log1p(-unit(seed, i));
  }
  sum += -std::log1p(-unit(seed, count));
  std::ranges::transform(units, units.begin(), [=](double partial) { return partial / sum; });
  return units;
}

class Draw {
 public:
  Draw(const FillPlan& plan, InputProfile profile, DType element, std::size_t count, std::uint64_t seed)
      : plan_(plan), profile_(profile), element_(element), integer_(is_integer(element)), count_(count), seed_(seed) {
    const bool is_signed = range_of(element).least < 0.0;
    low_ = plan.ranged ? plan.low : !integer_ ? -1.0 : is_signed ? -128.0 : 0.0;
    below_ = plan.ranged ? plan.below : !integer_ ? 1.0 : is_signed ? 128.0 : element == DType::kBool ? 2.0 : 256.0;
    if (plan.permutation) {
      low_ = 0.0;
      below_ = static_cast<double>(count);
    }
  }

  std::vector<double> values() const {
    const bool apart = plan_.distinct || plan_.permutation;
    const bool in_order = plan_.sorted || profile_ == InputProfile::kOrdered;
    if (apart) {
      return in_order ? ascending_apart() : shuffled_apart();
    }
    if (in_order && plan_.zeros == 0.0 && !plan_.normal && !provokes()) {
      return ascending();
    }
    std::vector<double> drawn = !plan_.ranged && !plan_.normal && !integer_ ? as_unmarked() : provoked();
    for (std::size_t i = 0; i < count_; ++i) {
      drawn[i] = unit(seed_ ^ 0x7a65726f, i) < plan_.zeros ? 0.0 : drawn[i];
    }
    if (in_order) {
      std::ranges::sort(drawn);
    }
    return drawn;
  }

 private:
  [[nodiscard]] bool provokes() const {
    return profile_ == InputProfile::kZero || profile_ == InputProfile::kNegativeZero || profile_ == InputProfile::kEqual ||
           profile_ == InputProfile::kLarge || profile_ == InputProfile::kTiny || profile_ == InputProfile::kMixed;
  }
  [[nodiscard]] double placed(double unit) const {
    const double value = low_ + unit * (below_ - low_);
    return integer_ ? std::min(std::floor(value), below_ - 1.0) : value;
  }
  [[nodiscard]] double largest() const { return integer_ ? below_ - 1.0 : low_ + 0.99 * (below_ - low_); }
  [[nodiscard]] bool has_zero() const { return low_ <= 0.0 && 0.0 < below_; }

  [[nodiscard]] double usual(std::size_t i) const {
    if (plan_.normal) {
      return std::sqrt(-2.0 * std::log1p(-unit(seed_, 2 * i))) * std::cos(2.0 * std::numbers::pi * unit(seed_, 2 * i + 1));
    }
    return placed(unit(seed_, i));
  }

  [[nodiscard]] double provoked(std::size_t i) const {
    const std::uint64_t which = random_bits(seed_ ^ 0x6d697865, i) % 8;
    switch (profile_) {
      case InputProfile::kZero:
        return has_zero() ? 0.0 : usual(i);
      case InputProfile::kNegativeZero:
        return low_ < 0.0 && has_zero() ? -0.0 : usual(i);
      case InputProfile::kEqual:
        return usual(0);
      case InputProfile::kLarge:
        return which < 4 ? largest() : usual(i);
      case InputProfile::kTiny:
        return which < 4 ? low_ : usual(i);
      case InputProfile::kMixed:
        return which == 0 ? low_ : which == 1 ? largest() : which == 2 && i > 0 ? usual(i - 1) : usual(i);
      default:
        return usual(i);
    }
  }

  [[nodiscard]] std::vector<double> provoked() const {
    std::vector<double> drawn(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      drawn[i] = provoked(i);
    }
    return drawn;
  }

  /// Of any magnitude that inputs without a mark have.
  [[nodiscard]] std::vector<double> as_unmarked() const {
    const std::vector<std::byte> encoded = draw(profile_, element_, count_, seed_);
    const std::size_t width = size_of(element_);
    std::vector<double> drawn(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      drawn[i] = decode(element_, encoded.data() + i * width);
    }
    return drawn;
  }

  [[nodiscard]] std::vector<double> ascending() const {
    std::vector<double> drawn = sorted_units(count_, seed_);
    std::ranges::transform(drawn, drawn.begin(), [this](double unit) { return placed(unit); });
    return drawn;
  }

  /// That many of a range that is shorter by so many, each moved up by its place.
  [[nodiscard]] std::vector<double> ascending_apart() const {
    std::vector<double> drawn = sorted_units(count_, seed_);
    const double room = below_ - low_ - static_cast<double>(count_) + 1.0;
    for (std::size_t i = 0; i < count_; ++i) {
      drawn[i] = low_ + std::min(std::floor(drawn[i] * room), room - 1.0) + static_cast<double>(i);
    }
    return drawn;
  }

  [[nodiscard]] std::vector<double> shuffled_apart() const {
    const auto size = static_cast<std::uint64_t>(below_ - low_);
    std::vector<double> drawn(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      drawn[i] = low_ + static_cast<double>(shuffled(i, size, seed_));
    }
    return drawn;
  }

  const FillPlan& plan_;
  InputProfile profile_;
  DType element_;
  bool integer_;
  std::size_t count_;
  std::uint64_t seed_;
  double low_ = 0.0, below_ = 0.0;
};

Error bad(const Argument& argument, std::string_view why) {
  return {ErrorCode::kBadKernel, fmt::format("input '{}': {}", argument.name, why)};
}

}  // namespace

Result<FillPlan> plan_fill(const Argument& argument, DType element, std::size_t count, const Bindings& bound) {
  const Fill& fill = argument.fill;
  FillPlan plan{.sorted = fill.sorted, .distinct = fill.distinct, .permutation = fill.permutation, .normal = fill.normal};
  const auto number = [&](const std::optional<Expression>& expression, double& to) -> Result<void> {
    if (expression) {
      HONE_ASSIGN(const Value value, expression->evaluate(bound));
      to = value.real();
    }
    return {};
  };
  HONE_TRY(number(fill.low, plan.low));
  HONE_TRY(number(fill.below, plan.below));
  HONE_TRY(number(fill.zeros, plan.zeros));
  plan.ranged = fill.below.has_value();
  const bool integer = is_integer(element);
  if (plan.ranged && (integer ? std::floor(plan.below) - std::ceil(plan.low) < 1.0 : plan.below <= plan.low)) {
    return bad(argument, fmt::format("its range is empty: [{:g}, {:g})", plan.low, plan.below));
  }
  if (plan.ranged && integer) {
    plan.low = std::ceil(plan.low);
    plan.below = std::floor(plan.below);
  }
  if ((plan.distinct || plan.permutation) && !integer) {
    return bad(argument, fmt::format(".distinct and .permutation are for integers, not for {}", name(element)));
  }
  if (plan.normal && integer) {
    return bad(argument, fmt::format(".normal is for real numbers, not for {}", name(element)));
  }
  if (plan.distinct && plan.below - plan.low < static_cast<double>(count)) {
    return bad(argument, fmt::format("{} distinct elements do not fit into [{:g}, {:g})", count, plan.low, plan.below));
  }
  std::array<std::byte, 8> held{};
  const double last = plan.permutation ? static_cast<double>(count) - 1.0 : plan.below - 1.0;
  encode(element, last, held.data());
  if (integer && (plan.permutation || plan.ranged) && decode(element, held.data()) != last) {
    return bad(argument, fmt::format("{} does not hold {:g}", name(element), last));
  }
  return plan;
}

std::vector<std::byte> draw(const FillPlan& plan, InputProfile profile, DType element, std::size_t count, std::uint64_t seed) {
  const std::vector<double> values = Draw(plan, profile, element, count, seed).values();
  const std::size_t width = size_of(element);
  std::vector<std::byte> drawn(count * width);
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* const to = drawn.data() + i * width;
    encode(element, values[i], to);
    if (plan.ranged && decode(element, to) >= plan.below) {  // rounded up to what is outside
      encode(element, 0.5 * (plan.low + plan.below), to);
    }
  }
  return drawn;
}

}  // namespace hone::measure
