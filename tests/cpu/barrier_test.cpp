#include <numeric>
#include <set>

#include "tests/cpu/cpu_fixture.hpp"
#include "tests/skip.hpp"

using cpu_test::CpuFixture;
using cpu_test::geometry;
using cpu_test::kernel_source;
using cpu_test::make_spec;

TEST_CASE("threads see their indices in three dimensions") {
  CpuFixture cpu;
  const auto out = cpu.run(
      "const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);\n"
      "const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);\n"
      "out[block * blockDim.x * blockDim.y * blockDim.z + thread] = (int)(block * 1000 + thread);",
      geometry({3, 2, 4}, {5, 3, 2}), 24 * 30);
  for (int i = 0; i < 24 * 30; ++i) {
    REQUIRE(out[static_cast<std::size_t>(i)] == i / 30 * 1000 + i % 30);
  }
}

TEST_CASE("a block's barrier orders writes to shared memory") {
  CpuFixture cpu;
  const auto out = cpu.run(
      "__shared__ int tile[1024];\n"
      "const int t = threadIdx.x;\n"
      "int value = t;\n"
      "for (int round = 0; round < 10; ++round) {\n"
      "  tile[t] = value; __syncthreads();\n"
      "  value = tile[(t + 1) % blockDim.x]; __syncthreads();\n"
      "}\n"
      "out[blockIdx.x * blockDim.x + t] = value;",
      geometry({5, 1, 1}, {1024, 1, 1}), 5 * 1024);
  for (std::size_t i = 0; i < out.size(); ++i) {
    REQUIRE(out[i] == static_cast<int>((i + 10) % 1024));
  }
}

TEST_CASE("of two painted runs one begins with the last thread of a block") {
  CpuFixture cpu;
  const auto compiled =
      cpu.compile(make_spec(kernel_source("out[atomicAdd(&out[6], 1)] = (int)(threadIdx.x + 100 * threadIdx.y);"))).at(0).value();
  std::vector<int> out(7, 0);  // the last one counts
  const auto kernel = cpu.device().load(compiled, {geometry({1, 1, 1}, {3, 2, 1})}, {hone::DType::kF32, {{"n", 6}}}).value();
  void* pointer = out.data();
  void* const arguments[] = {&pointer};
  std::set<std::vector<int>> orders;
  for (int run = 0; run < 2; ++run) {
    REQUIRE(cpu.device().paint_shared(0xff).ok());
    out.back() = 0;
    REQUIRE(kernel->launch(nullptr, arguments).ok());
    orders.insert(out);
  }
  CHECK(orders == std::set<std::vector<int>>{{0, 1, 2, 100, 101, 102, 6}, {102, 101, 100, 2, 1, 0, 6}});
}

TEST_CASE("barriers with a predicate count, and and or") {
  CpuFixture cpu;
  const auto out = cpu.run(
      "const int t = threadIdx.x;\n"
      "const int count = __syncthreads_count(t % 3 == 0);\n"
      "const int all = __syncthreads_and(t < 40), almost = __syncthreads_and(t < 39);\n"
      "const int any = __syncthreads_or(t == 17), none = __syncthreads_or(t == 77);\n"
      "out[t] = count * 10000 + (all != 0) * 1000 + (almost != 0) * 100 + (any != 0) * 10 + (none != 0);",
      geometry({1, 1, 1}, {40, 1, 1}), 40);
  for (const int value : out) {
    REQUIRE(value == 141010);
  }
}

TEST_CASE("threads that have ended are counted out of barriers") {
  CpuFixture cpu;
  const auto out = cpu.run(
      "const int t = threadIdx.x;\n"
      "if (t >= 50) { return; }\n"
      "const int first = __syncthreads_count(1);\n"
      "if (t % 2 == 1) { return; }\n"
      "out[t] = first * 100 + __syncthreads_count(1);",
      geometry({1, 1, 1}, {96, 1, 1}), 96);
  for (int t = 0; t < 96; ++t) {
    REQUIRE(out[static_cast<std::size_t>(t)] == (t < 50 && t % 2 == 0 ? 5025 : -1));
  }
}

TEST_CASE("dynamic shared memory belongs to the block and is aligned") {
  CpuFixture cpu;
  const auto out = cpu.run(
      "SHARED_DYNAMIC(int, tile);\n"
      "const int t = threadIdx.x;\n"
      "if (blockIdx.x == 0 && t == 0 && (unsigned long)tile % 128 != 0) { return; }\n"
      "tile[t] = blockIdx.x * 100 + t; __syncthreads();\n"
      "out[blockIdx.x * 64 + t] = tile[63 - t];",
      geometry({7, 1, 1}, {64, 1, 1}, 64 * 4), 7 * 64);
  for (std::size_t i = 0; i < out.size(); ++i) {
    REQUIRE(out[i] == static_cast<int>(i / 64 * 100 + 63 - i % 64));
  }
}

TEST_CASE("dynamic shared memory that nobody wrote is a NaN, not a zero") {
  CpuFixture cpu;
  const auto out =
      cpu.run("SHARED_DYNAMIC(int, tile);\nout[threadIdx.x] = tile[threadIdx.x] == -1;", geometry({1, 1, 1}, {32, 1, 1}, 128), 32);
  CHECK(std::accumulate(out.begin(), out.end(), 0) == 32);
}

TEST_CASE("a kernel that uses more dynamic shared memory than its launch asks for is told so") {
#if defined(__SANITIZE_ADDRESS__)
  hone::tests::skip("fences", "the address sanitizer takes the fence's place");
  return;
#endif
  CpuFixture cpu;
  std::vector<int> out(64, 0);
  const auto spec = make_spec(kernel_source("SHARED_DYNAMIC(int, tile);\ntile[threadIdx.x] = 1;\nout[threadIdx.x] = tile[0];"));
  CHECK(cpu.launch(spec, geometry({3, 1, 1}, {64, 1, 1}, 256), {out.data()}).ok());
  const auto failed = cpu.launch(spec, geometry({3, 1, 1}, {64, 1, 1}, 240), {out.data()});
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().code == hone::ErrorCode::kLaunch);
  CHECK(failed.error().message ==
        "it writes past the end of its dynamic shared memory: its Launch asks for 240 bytes (.shared), and a block wrote to byte 240");
  CHECK(cpu.launch(spec, geometry({1, 1, 1}, {64, 1, 1}), {out.data()}).error().message.find("asks for 0 bytes") != std::string::npos);
  const auto far = make_spec(kernel_source("SHARED_DYNAMIC(int, tile);\nfor (int i = threadIdx.x; i < 50000; i += 64) tile[i] = 1;"));
  CHECK_FALSE(cpu.launch(far, geometry({2, 1, 1}, {64, 1, 1}, 256), {out.data()}).ok());
}

TEST_CASE("a lane that leaves itself out of its mask is an error") {
  CpuFixture cpu;
  std::vector<int> out(64, 0);
  const auto spec = make_spec(kernel_source("if (threadIdx.x == 37) { __syncwarp(0x10000u); }"));
  const auto failed = cpu.launch(spec, geometry({1, 1, 1}, {64, 1, 1}), {out.data()});
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().code == hone::ErrorCode::kLaunch);
  CHECK(failed.error().message.find("thread (37, 0, 0), lane 5 of its warp, calls a warp function with the mask 0x00010000") !=
        std::string::npos);
}

TEST_CASE("a deadlock names the block and who waits where") {
  CpuFixture cpu;
  std::vector<int> out(64, 0);
  const auto spec =
      make_spec(kernel_source("if (blockIdx.y == 1) {\n"
                              "  if (threadIdx.x < 31) { __syncthreads(); }\n"
                              "  else if (threadIdx.x == 31) { __syncwarp(); }\n"
                              "}"));
  const auto failed = cpu.launch(spec, geometry({1, 2, 1}, {64, 1, 1}), {out.data()});
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().code == hone::ErrorCode::kLaunch);
  CHECK(
      failed.error().message ==
      "deadlock: block (0, 1, 0): no thread of the block can continue: 31 wait at the block's barrier (__syncthreads), 1 wait for lanes of "
      "their warp (__syncwarp, shuffles, votes), 32 of 64 have ended");
}

TEST_CASE("the device goes on after a deadlock") {
  CpuFixture cpu;
  std::vector<int> out(256, 0);
  const auto bad =
      make_spec(kernel_source("if (threadIdx.x == 0) { __syncthreads(); } else { __syncwarp(); __syncthreads(); __syncthreads(); }"));
  for (int i = 0; i < 3; ++i) {
    const auto failed = cpu.launch(bad, geometry({8, 1, 1}, {32, 1, 1}), {out.data()});
    REQUIRE_FALSE(failed.ok());
    CHECK(failed.error().message.starts_with("deadlock:"));
  }
  const auto good = cpu.run("out[threadIdx.x] = __syncthreads_count(1);", geometry({1, 1, 1}, {256, 1, 1}), 256);
  CHECK(std::accumulate(good.begin(), good.end(), 0) == 256 * 256);
}

TEST_CASE("a block may wait for an earlier one, and a thread for another of its block") {
  CpuFixture cpu;
  std::vector<int> out(65, 0);
  const auto spec =
      make_spec(kernel_source("volatile int* flags = out;\n"
                              "if (threadIdx.x == 0) {\n"
                              "  if (blockIdx.x > 0) { while (flags[blockIdx.x - 1] == 0) { __nanosleep(100); } }\n"
                              "  __shared__ volatile int go; go = 0;\n"
                              "  while (go == 0) { __nanosleep(100); go = flags[64]; }\n"
                              "  flags[blockIdx.x] = 1;\n"
                              "} else { flags[64] = 1; }"));
  REQUIRE(cpu.launch(spec, geometry({64, 1, 1}, {2, 1, 1}), {out.data()}).ok());
  CHECK(std::accumulate(out.begin(), out.end(), 0) == 65);
}

TEST_CASE("what the device does not have is refused before a launch") {
  CpuFixture cpu;
  std::vector<int> out(1, 0);
  const auto compiled = cpu.compile(make_spec(kernel_source("out[0] = 1;"))).at(0).value();
  auto clustered = geometry({2, 1, 1}, {32, 1, 1});
  clustered.cluster = {2, 1, 1};
  CHECK(cpu.launch(compiled, clustered, {out.data()}).error().message.find("clusters") != std::string::npos);
  auto cooperative = geometry({2, 1, 1}, {32, 1, 1});
  cooperative.cooperative = true;
  CHECK(cpu.launch(compiled, cooperative, {out.data()}).error().message.find("cooperative") != std::string::npos);
  CHECK(cpu.launch(compiled, geometry({1, 1, 1}, {1025, 1, 1}), {out.data()}).error().code == hone::ErrorCode::kLaunch);
  CHECK(out[0] == 0);
}
