#include <bit>
#include <cstdlib>

#include "tests/cpu/cpu_fixture.hpp"

using cpu_test::CpuFixture;
using cpu_test::geometry;
using cpu_test::kernel_source;
using cpu_test::make_spec;

namespace {

/// The lane each shuffle reads, written down from the tables of the programming guide: a warp is cut into groups of `width` lanes.
int shuffle_source(int kind, int lane, int operand, int width) {
  const int begin = lane / width * width, end = begin + width;
  operand %= 32;  // shfl has five bits of operand
  switch (kind) {
    case 0:
      return begin + operand % width;
    case 1:
      return lane - operand < begin ? lane : lane - operand;
    case 2:
      return lane + operand >= end ? lane : lane + operand;
    default:
      return (lane ^ operand) >= end ? lane : lane ^ operand;
  }
}

}  // namespace

TEST_CASE("every shuffle follows CUDA's clamp rules for every operand and width") {
  CpuFixture cpu;
  constexpr int kOperands = 40;
  const auto out = cpu.run(
      "const int lane = threadIdx.x;\n"
      "int at = 0;\n"
      "for (int width = 1; width <= 32; width *= 2) {\n"
      "  for (int operand = 0; operand < 40; ++operand, at += 4 * 32) {\n"
      "    out[at + lane] = __shfl_sync(0xffffffffu, lane, operand, width);\n"
      "    out[at + 32 + lane] = __shfl_up_sync(0xffffffffu, lane, operand, width);\n"
      "    out[at + 64 + lane] = __shfl_down_sync(0xffffffffu, lane, operand, width);\n"
      "    out[at + 96 + lane] = __shfl_xor_sync(0xffffffffu, lane, operand, width);\n"
      "  }\n"
      "}",
      geometry({1, 1, 1}, {32, 1, 1}), 6 * kOperands * 4 * 32);
  std::size_t at = 0;
  for (int width = 1; width <= 32; width *= 2) {
    for (int operand = 0; operand < kOperands; ++operand) {
      for (int kind = 0; kind < 4; ++kind) {
        for (int lane = 0; lane < 32; ++lane, ++at) {
          INFO("width ", width, " operand ", operand, " kind ", kind, " lane ", lane);
          REQUIRE(out[at] == shuffle_source(kind, lane, operand, width));
        }
      }
    }
  }
}

TEST_CASE("shuffles carry every type of four and eight bytes") {
  CpuFixture cpu;
  const auto out = cpu.run(
      "const int lane = threadIdx.x, from = 31 - lane;\n"
      "bool right = __shfl_sync(0xffffffffu, -lane, from) == -from;\n"
      "right = right && __shfl_sync(0xffffffffu, 0xfffffff0u - lane, from) == 0xfffffff0u - from;\n"
      "right = right && __shfl_sync(0xffffffffu, -(1LL << 40) - lane, from) == -(1LL << 40) - from;\n"
      "right = right && __shfl_sync(0xffffffffu, (1UL << 63) + lane, from) == (1UL << 63) + from;\n"
      "right = right && __shfl_sync(0xffffffffu, 0.1f * lane, from) == 0.1f * from;\n"
      "right = right && __shfl_sync(0xffffffffu, 0.1 * lane, from) == 0.1 * from;\n"
      "out[lane] = right;",
      geometry({1, 1, 1}, {32, 1, 1}), 32);
  for (const int right : out) {
    REQUIRE(right == 1);
  }
}

TEST_CASE("halves of a divergent warp exchange among themselves") {
  CpuFixture cpu;
  const auto out = cpu.run(
      "const int lane = threadIdx.x % 32;\n"
      "int sum = lane;\n"
      "if (lane % 2 == 0) {\n"
      "  for (int o = 2; o < 32; o *= 2) { sum += __shfl_xor_sync(0x55555555u, sum, o); }\n"
      "} else {\n"
      "  for (int round = 0; round < 3; ++round) { __syncwarp(0xaaaaaaaau); }\n"
      "  for (int o = 2; o < 32; o *= 2) { sum += __shfl_xor_sync(0xaaaaaaaau, sum, o); }\n"
      "}\n"
      "__syncwarp();\n"
      "out[threadIdx.x] = sum + 1000 * __shfl_sync(0xffffffffu, sum, 1);",
      geometry({1, 1, 1}, {96, 1, 1}), 96);
  for (std::size_t t = 0; t < 96; ++t) {
    REQUIRE(out[t] == (t % 2 == 0 ? 240 : 256) + 256000);
  }
}

TEST_CASE("votes see the lanes of their mask alone") {
  CpuFixture cpu;
  const auto out = cpu.run(
      "const unsigned lane = threadIdx.x;\n"
      "if (lane < 8) { out[lane] = (int)__ballot_sync(0xffu, lane % 2); return; }\n"
      "const unsigned mask = 0xffffff00u;\n"
      "out[lane] = (__any_sync(mask, lane == 9) != 0) + 2 * (__any_sync(mask, lane == 99) != 0) + 4 * (__all_sync(mask, lane >= 8) != 0)\n"
      "          + 8 * (__all_sync(mask, lane >= 9) != 0);",
      geometry({1, 1, 1}, {32, 1, 1}), 32);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    REQUIRE(out[lane] == (lane < 8 ? 0xaa : 1 + 4));
  }
}

TEST_CASE("reductions and matches over a warp") {
  CpuFixture cpu;
  const auto out = cpu.run(
      "const int lane = threadIdx.x;\n"
      "bool right = __reduce_add_sync(0xffffffffu, lane) == 496 && __reduce_min_sync(0xffffffffu, lane - 16) == -16;\n"
      "right = right && __reduce_max_sync(0xffffffffu, -lane) == 0 && __reduce_max_sync(0xffffffffu, (unsigned)-lane) == 0xffffffffu;\n"
      "right = right && __reduce_and_sync(0xffffffffu, 0xf0u | lane) == 0xf0u && __reduce_or_sync(0xffffffffu, 1u << lane) == "
      "0xffffffffu;\n"
      "right = right && __reduce_xor_sync(0xffffffffu, 1u << (lane / 2)) == 0u;\n"
      "right = right && __match_any_sync(0xffffffffu, lane / 4) == 0xfu << (lane / 4 * 4);\n"
      "int all; right = right && __match_all_sync(0xffffffffu, 7, &all) == 0xffffffffu && all == 1;\n"
      "right = right && __match_all_sync(0xffffffffu, lane / 31, &all) == 0u && all == 0;\n"
      "out[lane] = right;",
      geometry({1, 1, 1}, {32, 1, 1}), 32);
  for (const int right : out) {
    REQUIRE(right == 1);
  }
}

TEST_CASE("lanes that have ended, or that the block lacks, do not hold up their warp and yield NaNs") {
  CpuFixture cpu;
  const auto out = cpu.run(
      "const int lane = threadIdx.x;\n"
      "if (lane >= 10) { return; }\n"
      "out[lane] = __shfl_down_sync(0xffffffffu, lane, 4);",
      geometry({1, 1, 1}, {20, 1, 1}), 20);
  for (int lane = 0; lane < 20; ++lane) {
    REQUIRE(out[static_cast<std::size_t>(lane)] == (lane < 6 ? lane + 4 : -1));
  }
}

TEST_CASE("warps of a block are independent") {
  CpuFixture cpu;
  const auto out = cpu.run(
      "int sum = threadIdx.x / 32 + 1;\n"
      "for (unsigned round = 0; round <= threadIdx.x / 32; ++round) {\n"
      "  sum = __shfl_xor_sync(0xffffffffu, sum, 1) + 1;\n"
      "}\n"
      "__syncthreads();\n"
      "out[threadIdx.x] = sum;",
      geometry({1, 1, 1}, {256, 1, 1}), 256);
  for (std::size_t t = 0; t < 256; ++t) {
    REQUIRE(out[t] == static_cast<int>(2 * (t / 32 + 1)));
  }
}

TEST_CASE("a shuffle of a width that CUDA does not allow is an error") {
  CpuFixture cpu;
  std::vector<int> out(32, 0);
  const auto failed = cpu.launch(make_spec(kernel_source("out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0, 12);")),
                                 geometry({1, 1, 1}, {32, 1, 1}), {out.data()});
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().message.find("width 12") != std::string::npos);
}

TEST_CASE("the active mask is the lanes that have not ended") {
  CpuFixture cpu;
  const auto out = cpu.run("if (threadIdx.x % 4 == 0) { return; }\n__syncwarp();\nout[threadIdx.x] = (int)__activemask(); __syncwarp();",
                           geometry({1, 1, 1}, {30, 1, 1}), 30);
  for (std::size_t lane = 0; lane < 30; ++lane) {
    REQUIRE(out[lane] == (lane % 4 == 0 ? -1 : 0x2eeeeeee));
  }
}
