#pragma once
// Where the configuration of a problem comes from.

#include <cstdint>
#include <string>
#include <string_view>

#include "hone/export.h"

namespace hone {

/// Where a kernel's configuration comes from.
enum class Source {
  kExact,      ///< a record of this problem
  kPredicted,  ///< the member of a portfolio that its rule expects to be fastest here
  kNearest,    ///< the record of the nearest tuned shape whose configuration is valid here
  kDefault,    ///< no record fits: the default of the kernel file (or, if that is not valid, the nearest valid configuration)
};
HONE_API std::string_view name(Source source);

/// What a portfolio's rule expects of its choice.
struct Prediction {
  double slowdown = 1.0;        ///< in times what a search of this shape would find
  double doubt = 0.0;           ///< how far off that may be, as a share of it: one standard deviation
  std::int64_t generation = 0;  ///< of the portfolio, in its store
  bool shipped = false;         ///< the portfolio came with Hone
  std::string product = {};     ///< on which it was made: another one of this architecture, where none was made on this
  std::string made_for = {};    ///< where it was made for other problems, in what they differ: "bf16, head=128", "rows=1..4096"; else empty
  /// Whether the shape is worth a search of its own.
  [[nodiscard]] bool wants_tuning() const { return slowdown * (1.0 + doubt) > 1.15; }
};

/// A difference between a record's environment and the current one: the record is stale, still usable, and reported.
struct Staleness {
  std::string what, then, now;
};

}  // namespace hone
