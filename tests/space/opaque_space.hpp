#pragma once
// A space that no diagram of bounded size holds.

#include <string>
#include <vector>

#include "tests/space/described.hpp"

namespace hone::test {

/// One in ten combinations of eight parameters of sixteen values meets it, and no two states of the sum so far are alike.
inline const std::string kOpaque =
    "(((((((a * 7919) ^ (b * 104729)) * 31 ^ (c * 1299709)) * 17 ^ d * 15485863) * 13 ^ e * 32452843) * 11 ^ f * 49979687) * 7 ^ "
    "g * 67867967) % 1000003 < 100000 + h";

inline std::vector<Parameter> eight() {
  std::vector<Parameter> parameters;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    parameters.push_back(described(name, counting(1, 16)));
  }
  return parameters;
}

inline const SearchSpace& opaque_space() {
  static const SearchSpace space = build(eight(), {"a * b <= 64", kOpaque});
  return space;
}

}  // namespace hone::test
