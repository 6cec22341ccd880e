#include "engine/base/digest.hpp"

#include <doctest/doctest.h>

namespace hone {

TEST_CASE("a digest is 32 hex digits of the contents alone") {
  CHECK(digest("kernel").size() == 32);
  CHECK(digest("kernel") == digest(std::string("kernel")));
  CHECK(digest("kernel") != digest("kernel "));
}

}  // namespace hone
