#include "engine/measure/output_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "engine/kernel/kernel_problem.hpp"
#include "engine/measure/element.hpp"
#include "engine/measure/measure.hpp"
#include "engine/measure/spots.hpp"

namespace hone::measure {
namespace {

constexpr double kBothMayBeOff = 2.0;

std::vector<double> decode_all(DType dtype, std::span<const std::byte> elements) {
  const std::size_t width = size_of(dtype);
  std::vector<double> values(elements.size() / width);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = decode(dtype, elements.data() + i * width);
  }
  return values;
}

double rms_of_finite(std::span<const double> values) {
  double squares = 0.0;
  std::size_t finite = 0;
  for (const double value : values) {
    if (std::isfinite(value)) {
      squares += value * value;
      ++finite;
    }
  }
  return finite == 0 ? 0.0 : std::sqrt(squares / static_cast<double>(finite));
}

void sort_groups(std::vector<double>& values, std::size_t group) {
  const std::size_t each = group == 0 ? std::max<std::size_t>(1, values.size()) : group;
  for (std::size_t begin = 0; begin < values.size(); begin += each) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), begin + each));
    std::sort(first, last);
  }
}

bool has_nan(std::span<const double> values) {
  return std::ranges::any_of(values, [](double value) { return std::isnan(value); });
}

Result<double> number_or(const std::optional<Expression>& expression, const Bindings& bound, double otherwise) {
  if (!expression) {
    return otherwise;
  }
  HONE_ASSIGN(const Value value, expression->evaluate(bound));
  return value.real();
}

}  // namespace

Result<OutputRule> output_rule(const KernelSpec& spec, std::size_t argument, const Problem& problem, double max_error) {
  const Argument& output = spec.arguments[argument];
  const Bindings bound = bindings(problem);
  OutputRule rule;
  rule.element = output.element(problem.dtype);
  HONE_ASSIGN(rule.sum_length, number_or(spec.cost.sum_length, bound, 1.0));
  HONE_ASSIGN(rule.tolerance, tolerance(output.bound, rule.element, rule.sum_length, bound, max_error));
  HONE_ASSIGN(rule.fraction, number_or(output.bound.fraction, bound, 1.0));
  HONE_ASSIGN(const double group, number_or(output.bound.group, bound, 0.0));
  rule.group = static_cast<std::size_t>(std::max(0.0, group));
  rule.set = output.bound.set;
  rule.is_bound = output.bound.gives_distance() || max_error > 0.0 || is_integer(rule.element);
  const KernelSpec& author = spec.judge ? *spec.judge : spec;
  const auto at = std::ranges::find(author.arguments, output.name, &Argument::name);
  rule.is_accepted = author.is_accepted(static_cast<int>(at - author.arguments.begin()));
  return rule;
}

Comparison hold_against(const OutputRule& rule, std::span<const std::byte> actual, std::span<const std::byte> standard,
                        std::span<const double> slack) {
  constexpr double kWorst = std::numeric_limits<double>::max();
  Comparison found;
  found.elements = actual.size() / size_of(rule.element);
  if (rule.is_accepted || std::ranges::equal(actual, standard)) {
    return found;
  }
  std::vector<double> ours = decode_all(rule.element, actual), expected = decode_all(rule.element, standard);
  const double floor = rule.tolerance.absolute_rms * rms_of_finite(expected) + rule.tolerance.absolute;
  const bool is_sorted = rule.set && !has_nan(ours) && !has_nan(expected);
  if (is_sorted) {
    sort_groups(ours, rule.group);
    sort_groups(expected, rule.group);
  }
  const std::size_t width = size_of(rule.element);
  for (std::size_t i = 0; i < found.elements; ++i) {
    found.not_finite += !std::isfinite(ours[i]) && std::isfinite(expected[i]) ? 1 : 0;
    const double allowed = kBothMayBeOff * (rule.tolerance.relative * std::fabs(expected[i]) + floor) + (slack.empty() ? 0.0 : slack[i]);
    double share = std::isnan(ours[i]) && std::isnan(expected[i]) ? 0.0 : error_share(ours[i], expected[i], allowed);
    // What doubles cannot tell apart, of 64-bit integers.
    const bool is_other = !is_sorted && is_integer(rule.element) && allowed == 0.0 && share == 0.0 &&
                          std::memcmp(actual.data() + i * width, standard.data() + i * width, width) != 0;
    share = is_other ? kWorst : share;
    found.max_error = std::max(found.max_error, share);
    if (share > 1.0 && found.mismatches++ == 0) {
      found.first_mismatch = i;
      found.first_actual = ours[i];
      found.first_expected = expected[i];
    }
  }
  const double forgiven = std::floor(kBothMayBeOff * (1.0 - rule.fraction) * static_cast<double>(found.elements));
  if (found.not_finite == 0 && static_cast<double>(found.mismatches) <= forgiven) {
    found.mismatches = 0;
    found.max_error = std::min(found.max_error, 1.0);
  }
  return found;
}

void add_squared_differences(DType dtype, std::span<const std::byte> one, std::span<const std::byte> other, std::span<double> squares) {
  const std::size_t width = size_of(dtype);
  for (std::size_t i = 0; i < squares.size(); ++i) {
    const double difference = decode(dtype, one.data() + i * width) - decode(dtype, other.data() + i * width);
    squares[i] += std::isfinite(difference) ? difference * difference : 0.0;
  }
}

std::uint64_t count_not_finite(DType dtype, std::span<const std::byte> elements) {
  const std::size_t width = size_of(dtype);
  std::uint64_t found = 0;
  for (std::size_t at = 0; !is_integer(dtype) && at + width <= elements.size(); at += width) {
    found += std::isfinite(decode(dtype, elements.data() + at)) ? 0 : 1;
  }
  return found;
}

}  // namespace hone::measure
