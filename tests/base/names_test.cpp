#include "engine/base/names.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace hone {

TEST_CASE("an unknown name is answered with the nearest one and the list") {
  const std::vector<std::string> known{"copy", "gemm", "softmax"};
  CHECK(unknown_name("kernel", "sofmax", known) == "unknown kernel 'sofmax'; did you mean 'softmax'? (known: copy, gemm, softmax)");
}

TEST_CASE("a name like none of the known ones gets no suggestion") {
  const std::vector<std::string> known{"copy", "gemm"};
  CHECK(unknown_name("kernel", "convolution", known) == "unknown kernel 'convolution' (known: copy, gemm)");
}

TEST_CASE("two letters exchanged are one slip") {
  const std::vector<std::string> known{"TUNE", "OUT"};
  CHECK(unknown_name("mark", "TUEN", known) == "unknown mark 'TUEN'; did you mean 'TUNE'? (known: TUNE, OUT)");
}

TEST_CASE("a name may have a slip for every three letters") {
  const std::vector<std::string> known{"softmax"};
  CHECK(unknown_name("kernel", "sofmaxx", known) == "unknown kernel 'sofmaxx'; did you mean 'softmax'? (known: softmax)");
  CHECK(unknown_name("kernel", "sofmaxxx", known) == "unknown kernel 'sofmaxxx' (known: softmax)");
}

TEST_CASE("of names as near, the one that goes on from the given one is meant") {
  const std::vector<std::string> known{"sm_80", "sm_90a"};
  CHECK(unknown_name("architecture", "sm_90", known) == "unknown architecture 'sm_90'; did you mean 'sm_90a'? (known: sm_80, sm_90a)");
}

TEST_CASE("a name that is cut off is meant, however much is missing") {
  const std::vector<std::string> known{"gemm", "layernorm"};
  CHECK(unknown_name("kernel", "layer", known).find("did you mean 'layernorm'?") != std::string::npos);
  CHECK(unknown_name("kernel", "l", known).find("did you mean") == std::string::npos);
}

TEST_CASE("another number is no misspelling") {
  const std::vector<std::string> known{"1", "2", "4"};
  CHECK(unknown_name("value of vec", "3", known) == "unknown value of vec '3' (known: 1, 2, 4)");
}

TEST_CASE("with nothing known the message says so") {
  CHECK(unknown_name("device", "cuda:0", {}) == "unknown device 'cuda:0': there is no device to choose from");
}

}  // namespace hone
