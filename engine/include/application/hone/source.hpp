#pragma once
// Where the configuration of a problem comes from.

#include <string>
#include <string_view>

#include "hone/export.h"

namespace hone {

/// Where a kernel's configuration comes from.
enum class Source {
  kExact,    ///< a record of this problem
  kNearest,  ///< the record of the nearest tuned shape whose configuration is valid here
  kDefault,  ///< no record fits: the default of the kernel file (or, if that is not valid, the nearest valid configuration)
};
HONE_API std::string_view name(Source source);

/// A difference between a record's environment and the current one: the record is stale, still usable, and reported.
struct Staleness {
  std::string what, then, now;
};

}  // namespace hone
