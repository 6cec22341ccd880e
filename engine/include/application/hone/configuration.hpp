#pragma once
// A configuration is one value for each tunable parameter.

#include <vector>

#include "hone/value.hpp"

namespace hone {

/// Values in the order of the kernel's parameters.
struct Configuration {
  std::vector<Value> values;
  friend bool operator==(const Configuration&, const Configuration&) = default;
};

}  // namespace hone
