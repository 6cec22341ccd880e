#pragma once
// Whether two series of numbers rise and fall together.

#include <span>

namespace hone::search {

/// How far the correlation of two series of the same length lies above 0, in standard deviations of the correlation of unrelated ones
/// (Fisher's transformation, 1915, doi:10.2307/2331838). Infinity for fewer than four numbers, which say nothing; 0 if one series is
/// constant.
double agreement(std::span<const double> a, std::span<const double> b);

}  // namespace hone::search
