#include <doctest/doctest.h>

#include "plugins/cuda/compiler_log.hpp"

using namespace hone;
using namespace hone::cuda;

TEST_CASE("resources are read for each kernel of a log") {
  const auto found = parse_resources(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function '_Z5firstv' for 'sm_90a'\n"
      "ptxas info    : Function properties for _Z5firstv\n"
      "ptxas         .     1400 bytes stack frame, 2284 bytes spill stores, 2308 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 1 barriers, 1408 bytes cumulative stack size, 128 bytes smem, 400 bytes cmem[0]\n"
      "ptxas info    : Compile time = 78.599 ms\n"
      "ptxas info    : Compiling entry function '_Z6secondv' for 'sm_90a'\n"
      "ptxas info    : Function properties for _Z6secondv\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Function properties for _Z6calleev\n"
      "    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n"
      "ptxas info    : Used 255 registers\n");
  REQUIRE(found.size() == 2);
  const Resources first = found.at("_Z5firstv"), second = found.at("_Z6secondv");
  CHECK(first.registers == 32);
  CHECK(first.spill_bytes == 2284 + 2308);
  CHECK(first.stack_bytes == 1408);
  CHECK(first.shared_bytes == 128);
  CHECK(second.registers == 255);
  CHECK(second.spill_bytes == 12);
  CHECK(second.stack_bytes == 16);
  CHECK(second.shared_bytes == 0);
}

TEST_CASE("a log without kernels has no resources") {
  CHECK(parse_resources("").empty());
  CHECK(parse_resources("nonsense\nUsed 3 registers\n").empty());
}

TEST_CASE("the first errors are kept, warnings and counts are not") {
  const std::string kept = first_errors(
      "a.cu(1): warning #177-D: variable is unused\n  int x;\n"
      "a.cu(2): error: one\n  here\n  ^\n"
      "a.cu(3): error: two\n"
      "a.cu(4): warning: no\n"
      "a.cu(5): error: three\n"
      "a.cu(6): error: four\n  there\n\n"
      "4 errors detected in the compilation of \"a.cu\".\n",
      2);
  CHECK(kept == "a.cu(2): error: one\n  here\n  ^\na.cu(3): error: two\n(2 more errors)");
}

TEST_CASE("errors of the assembler and of the options count") {
  CHECK(first_errors("ptxas info    : x\nptxas error   : Entry function 'f' uses too much shared data\n") ==
        "ptxas error   : Entry function 'f' uses too much shared data");
  CHECK(first_errors("nvrtc: error: invalid value for --gpu-architecture (-arch)\n") ==
        "nvrtc: error: invalid value for --gpu-architecture (-arch)");
  CHECK(first_errors("ptxas info    : 0 bytes gmem\n").empty());
}
