#pragma once
// How much slower than recorded a case may be before it counts as slower: from how much its recorded runs differ.

#include <span>
#include <vector>

namespace hone::gate {

/// What one run of a suite came to for a case: medians over its processes.
struct Level {
  double us = 0.0;
  /// The case's time / its control's in the same pass, so that a machine whose clocks are lower is not taken for a regression. Without a
  /// control it is `us`.
  double relative = 0.0;
};

/// How much runs differ: the standard deviation of the logarithm of Level::relative between runs.
struct Spread {
  double deviation = 0.0;
  double freedom = 0.0;  ///< degrees of freedom: how far it can be relied on
};

/// Of a case's own runs. Nothing is known of fewer than two: no freedom.
Spread spread_of(std::span<const Level> runs);

/// That of a typical case of a device: a case with few runs borrows from the others. Where nothing is recorded, 1 % is assumed, which
/// gives way to what is known as that grows.
Spread typical_spread(std::span<const Spread> cases);

/// What is expected of a case.
struct Allowance {
  double relative = 0.0;  ///< the mean of the recorded runs
  double slower = 0.0;    ///< so much slower it may be: 0.03 is 3 %
};

/// The upper end of the interval in which one more run lies, all but one of ten thousand (Student's t; the spread is a weighted mean of the
/// case's own and the typical one, as in Smyth 2004, doi 10.2202/1544-6115.1027). At least `least`. `runs` must not be empty.
Allowance allowance(std::span<const Level> runs, const Spread& typical, double least);

}  // namespace hone::gate
