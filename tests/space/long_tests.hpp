#pragma once
// HONE_LONG_TESTS=1: the property tests look at many more spaces, and at larger ones.

#include <cstdlib>
#include <string_view>

namespace hone::test {

inline bool long_tests() {
  const char* set = std::getenv("HONE_LONG_TESTS");
  return set != nullptr && std::string_view(set) == "1";
}

}  // namespace hone::test
