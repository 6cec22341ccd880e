// Outputs that are not held against the reference element by element: sets, shares that may be wrong, results that a function of the
// author's accepts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/measure/bench_impl.hpp"
#include "engine/measure/element.hpp"
#include "engine/measure/spots.hpp"

namespace hone {
namespace {

Result<double> number(const std::optional<Expression>& expression, const Bindings& bound, double otherwise) {
  if (!expression) {
    return otherwise;
  }
  HONE_ASSIGN(const Value value, expression->evaluate(bound));
  return value.real();
}

constexpr std::uint64_t kNone = ~std::uint64_t{0};

}  // namespace

Result<Tolerance> tolerance(const Bound& bound, DType dtype, double sum_length, const Bindings& problem, double max_error) {
  if (!bound.gives_distance() && (max_error == 0.0 || epsilon(dtype) == 0.0)) {
    return tolerance(dtype, sum_length);
  }
  if (!bound.gives_distance()) {
    return Tolerance{.relative = max_error + 0.5 * epsilon(dtype), .absolute_rms = max_error, .absolute = tolerance(dtype, 1.0).absolute};
  }
  Tolerance allowed;
  HONE_ASSIGN(allowed.absolute, number(bound.absolute, problem, 0.0));
  HONE_ASSIGN(allowed.relative, number(bound.relative, problem, 0.0));
  HONE_ASSIGN(const double ulps, number(bound.ulps, problem, 0.0));
  if (allowed.absolute < 0.0 || allowed.relative < 0.0 || ulps < 0.0) {
    return Error{ErrorCode::kBadKernel, "a tolerance is below 0"};
  }
  if (is_integer(dtype)) {
    allowed.absolute += ulps;
  } else if (bound.ulps) {  // and half of one for the reference's own rounding
    allowed.relative += (ulps + 0.5) * epsilon(dtype);
    allowed.absolute += tolerance(dtype, 1.0).absolute * (2.0 * ulps + 1.0);
  }
  return allowed;
}

Result<void> Bench::Impl::size_judgement(Slot& slot, const Bindings& bound) {
  if (!slot.is_output()) {
    return {};
  }
  const Bound& given = slot.argument->bound;
  HONE_ASSIGN(slot.fraction, number(given.fraction, bound, 1.0));
  HONE_ASSIGN(const double group, number(given.group, bound, 0.0));
  if (slot.fraction < 0.0 || slot.fraction > 1.0 || group < 0.0) {
    return Error{ErrorCode::kBadKernel, fmt::format("{}: argument '{}': a .fraction is between 0 and 1, and a .group is at least 0",
                                                    spec_.file, slot.argument->name)};
  }
  slot.group = static_cast<std::size_t>(group);
  const auto at = std::ranges::find(judge().arguments, slot.argument->name, &Argument::name);
  const int argument = static_cast<int>(at - judge().arguments.begin());
  slot.is_accepted = judge().is_accepted(argument);
  slot.has_answer = !slot.is_accepted || std::ranges::any_of(judge().reference, [=](const ReferencePass& pass) {
    return std::ranges::find(pass.arguments, argument) != pass.arguments.end();
  });
  return {};
}

/// On the host: these outputs are few, or their kernels are.
Result<Comparison> Bench::Impl::compare_freely(const Slot& slot, const void* address, const Tolerance& allowed) {
  const std::size_t width = size_of(slot.element);
  std::vector<std::byte> bytes(slot.bytes());
  std::vector<double> actual(slot.count), expected(slot.count);
  HONE_TRY(device_.download(bytes, address));
  HONE_TRY(device_.download(std::as_writable_bytes(std::span(expected)), slot.expected));
  Comparison comparison;
  comparison.elements = slot.count;
  for (std::size_t i = 0; i < slot.count; ++i) {
    actual[i] = measure::decode(slot.element, bytes.data() + i * width);
    comparison.not_finite += !std::isfinite(actual[i]) && std::isfinite(expected[i]) ? 1 : 0;
  }
  if (comparison.not_finite == 0) {
    const std::size_t group = slot.group == 0 ? slot.count : slot.group;
    for (std::size_t begin = 0; begin < slot.count; begin += group) {
      const auto first = static_cast<std::ptrdiff_t>(begin), last = static_cast<std::ptrdiff_t>(std::min(slot.count, begin + group));
      std::sort(actual.begin() + first, actual.begin() + last);
      std::sort(expected.begin() + first, expected.begin() + last);
    }
  }
  for (std::size_t i = 0; i < slot.count; ++i) {
    const double share = measure::error_share(actual[i], expected[i], allowed.relative * std::fabs(expected[i]) + allowed.absolute);
    comparison.max_error = std::max(comparison.max_error, share);
    if (share > 1.0 && comparison.mismatches++ == 0) {
      comparison.first_mismatch = i;
      comparison.first_actual = actual[i];
      comparison.first_expected = expected[i];
    }
  }
  return comparison;
}

/// A share of an output that its author allows to be wrong. What is not a number is wrong whoever allows what.
void Bench::Impl::forgive(const Slot& slot, Comparison& comparison) {
  const auto most = static_cast<std::uint64_t>(std::floor((1.0 - slot.fraction) * static_cast<double>(slot.count)));
  if (comparison.not_finite == 0 && comparison.mismatches <= most) {
    comparison.mismatches = 0;
    comparison.max_error = std::min(comparison.max_error, 1.0);
  }
}

/// Those outputs that nothing is known of element by element, at these addresses, by slot.
Result<Bench::Impl::Verdict> Bench::Impl::compare_unwatched(const std::vector<void*>& addresses) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (!slot.is_output() || slot.is_watched() || slot.is_accepted) {
      continue;
    }
    HONE_ASSIGN(const Comparison comparison, compare_slot(slot, addresses[i]));
    if (comparison.mismatches > 0 || comparison.not_finite > 0) {
      return Verdict{Outcome::kWrongResult,
                     fmt::format("argument '{}': {} of {} elements are wrong", slot.argument->name, comparison.mismatches, slot.count)};
    }
  }
  return accept(addresses);
}

/// What the author's functions say of the outputs at these addresses, by slot.
Result<Bench::Impl::Verdict> Bench::Impl::accept(const std::vector<void*>& addresses) {
  if (acceptances_ == nullptr) {
    return Verdict{};
  }
  const KernelSpec& author = judge();
  const std::size_t count = author.arguments.size();
  HONE_ASSIGN(const auto buffer, device_.allocate(2 * sizeof(std::uint64_t)));
  std::vector<const void*> values(2 * count + 2, nullptr);
  std::vector<void*> arguments(2 * count + 2, nullptr);
  void* const rejected = buffer->address();
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<std::size_t> place = slot_of(i);
    if (!place) {
      continue;
    }
    Slot& slot = slots_[*place];
    values[i] = addresses[*place];
    values[static_cast<std::size_t>(author.expected(static_cast<int>(i)))] = slot.expected;
    arguments[i] = slot.is(Direction::kScalar) ? static_cast<void*>(slot.scalar.data()) : static_cast<void*>(&values[i]);
  }
  values[static_cast<std::size_t>(author.rejected())] = rejected;
  for (std::size_t i = count + 1; i < values.size(); ++i) {
    arguments[i] = &values[i];
  }
  std::array<std::uint64_t, 2> found{0, kNone};
  HONE_TRY(device_.upload(rejected, std::as_bytes(std::span(found))));
  HONE_TRY(acceptances_->launch(nullptr, arguments));
  HONE_TRY(device_.synchronize());
  HONE_TRY(device_.download(std::as_writable_bytes(std::span(found)), rejected));
  if (found[0] == 0) {
    return Verdict{};
  }
  std::string functions;
  for (const Acceptance& acceptance : author.acceptances) {
    functions += fmt::format("{}{}", functions.empty() ? "" : ", ", acceptance.function);
  }
  return Verdict{Outcome::kWrongResult, fmt::format("{} rejects the result at {} {}, the first at {}", functions, found[0],
                                                    found[0] == 1 ? "index" : "indices", found[1])};
}

}  // namespace hone
