#include <numeric>
#include <thread>

#include "gpu.hpp"
#include "tests/skip.hpp"

using namespace test;

namespace {

PassLaunch one_block(std::int64_t threads, std::vector<int> arguments = {0}) {
  PassLaunch pass;
  pass.block[0] = threads;
  pass.arguments = std::move(arguments);
  return pass;
}

}  // namespace

TEST_CASE_FIXTURE(Gpu, "two configurations of one artifact run, on any thread, and their reference agrees") {
  constexpr std::int64_t kCount = 1000;
  const KernelSpec spec = twice_spec();
  const Problem problem{DType::kF32, {{"n", kCount}, {"unused", 7}}};
  const auto compiled = compile(*compiler, spec, {configuration({256, 1, 0, 0}), configuration({64, 1, 16, 0})});
  const auto reference = compile_reference(*compiler, spec);
  REQUIRE_MESSAGE(reference.ok(), reference.error().message);
  const auto x = allocate(kCount * 4), y = allocate(kCount * 4), expected = allocate(kCount * 8);
  require(device->randomize(x->address(), DType::kF32, kCount, 1));
  void *from = x->address(), *to = y->address(), *answer = expected->address();
  const std::array<void*, 2> arguments{&from, &to}, reference_arguments{&from, &answer};
  const auto loaded_reference = device->load_reference(*reference, plan_reference(spec, problem).value(), problem);
  REQUIRE_MESSAGE(loaded_reference.ok(), loaded_reference.error().message);
  require((*loaded_reference)->launch(nullptr, reference_arguments));
  for (std::size_t i = 0; i < 2; ++i) {
    REQUIRE_MESSAGE(compiled[i].ok(), compiled[i].error().message);
    PassLaunch pass = one_block(i == 0 ? 256 : 64, {0, 1, -1});
    pass.grid[0] = (kCount + pass.block[0] - 1) / pass.block[0];
    const auto loaded = device->load(*compiled[i], {pass}, problem);
    REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
    CHECK((*loaded)->resources().registers > 0);
    CHECK((*loaded)->resources().occupancy > 0.0);
    CHECK((*loaded)->resources().occupancy <= 1.0);
    require(device->fill(y->address(), y->bytes(), 0xff));
    Result<void> launched;
    std::thread([&] { launched = (*loaded)->launch(nullptr, arguments); }).join();
    require(launched);
    require(device->synchronize());
    const auto result =
        device->compare(y->address(), DType::kF32, static_cast<const double*>(expected->address()), kCount, {.relative = 1e-6});
    REQUIRE_MESSAGE(result.ok(), result.error().message);
    CHECK(result->mismatches == 0);
  }
}

TEST_CASE_FIXTURE(Gpu, "times are positive, and preparations happen before each run") {
  auto loaded = load("template <Config c> KERNEL void k(int* y) { if (threadIdx.x == 0) y[0] += 1; }", one_block(32));
  REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
  const auto y = upload(std::vector<int>{41});
  const auto original = upload(std::vector<int>{7});
  void* to = y->address();
  const std::array<void*, 1> arguments{&to};
  const auto time = [&](int samples, std::span<const Preparation> preparations, bool flush) {
    const TimeRequest request{
        .kernel = loaded->get(), .arguments = arguments, .preparations = preparations, .samples = samples, .flush_cache = flush};
    const auto taken = device->time(request);
    REQUIRE_MESSAGE(taken.ok(), taken.error().message);
    REQUIRE(taken->us.size() == static_cast<std::size_t>(samples));
    for (const double us : taken->us) {
      CHECK(us > 0.0);
      CHECK(us < 1e5);
    }
    return taken->us.back();
  };
  const double flushed = time(70, {}, true);
  CHECK(download<int>(*y) == std::vector<int>{111});
  const std::array<Preparation, 1> restore{Preparation{Preparation::Kind::kCopy, y->address(), original->address(), 4}};
  const double warm = time(40, restore, false);
  CHECK(download<int>(*y) == std::vector<int>{8});
  const std::array<Preparation, 1> zero{Preparation{Preparation::Kind::kZero, y->address(), nullptr, 4}};
  time(3, zero, true);
  CHECK(download<int>(*y) == std::vector<int>{1});
  MESSAGE("an empty kernel: " << flushed << " us after a flush, " << warm << " us without");
}

TEST_CASE_FIXTURE(Gpu, "dynamic shared memory beyond 48 KiB is declared to the driver, beyond the limit refused") {
  const std::string source =
      "template <Config c> KERNEL void k(int* y) {\n"
      "  SHARED_DYNAMIC(int, memory);\n  memory[25599] = 5;\n  __syncthreads();\n  y[0] = memory[25599];\n}";
  PassLaunch pass = one_block(32);
  pass.shared_bytes = 100 * 1024;
  const auto y = upload(std::vector<int>{0});
  void* to = y->address();
  const std::array<void*, 1> arguments{&to};
  if (info.properties.at("shared_memory_per_block") >= pass.shared_bytes) {
    const auto loaded = load(source, pass);
    REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
    CHECK((*loaded)->resources().shared_bytes >= 100 * 1024);
    require((*loaded)->launch(nullptr, arguments));
    require(device->synchronize());
    CHECK(download<int>(*y) == std::vector<int>{5});
  }
  pass.shared_bytes = info.properties.at("shared_memory_per_block") + 1024;
  const auto refused = load(source, pass);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kLaunch);
}

TEST_CASE_FIXTURE(Gpu, "clusters launch, also those that are not portable") {
  if (info.properties.at("compute_capability") < 90) {
    hone::tests::skip("hopper", "no clusters before compute capability 9.0");
    return;
  }
  const std::string source =
      "template <Config c> KERNEL void k(int* y) {\n"
      "  unsigned rank, size;\n"
      "  asm volatile(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(rank));\n"
      "  asm volatile(\"mov.u32 %0, %%cluster_nctarank;\" : \"=r\"(size));\n"
      "  if (threadIdx.x == 0) y[blockIdx.x] = rank * 100 + size;\n}";
  for (const std::int64_t size : {4, 16}) {
    CAPTURE(size);
    PassLaunch pass = one_block(32);
    pass.grid[0] = 32;
    pass.cluster[0] = size;
    const auto loaded = load(source, pass);
    REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
    const auto y = upload(std::vector<int>(32, -1));
    void* to = y->address();
    require((*loaded)->launch(nullptr, std::array<void*, 1>{&to}));
    require(device->synchronize());
    const auto ranks = download<int>(*y);
    for (int block = 0; block < 32; ++block) {
      CHECK(ranks[static_cast<std::size_t>(block)] == block % size * 100 + size);
    }
  }
}

TEST_CASE_FIXTURE(Gpu, "a cooperative grid meets at a barrier; one that is too large is a launch error") {
  const std::string source =
      "template <Config c> KERNEL void k(int* arrived, int* y) {\n"
      "  if (threadIdx.x == 0) {\n"
      "    atomicAdd(arrived, 1);\n"
      "    while (atomicAdd(arrived, 0) < (int)gridDim.x) {}\n"
      "    y[blockIdx.x] = 1;\n  }\n}";
  PassLaunch pass = one_block(64, {0, 1});
  pass.cooperative = true;
  pass.grid[0] = info.properties.at("multiprocessors");
  const auto arrived = upload(std::vector<int>{0});
  const auto y = upload(std::vector<int>(static_cast<std::size_t>(pass.grid[0]), 0));
  void *counter = arrived->address(), *to = y->address();
  const std::array<void*, 2> arguments{&counter, &to};
  const auto loaded = load(source, pass);
  REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
  require((*loaded)->launch(nullptr, arguments));
  require(device->synchronize());
  CHECK(download<int>(*y) == std::vector<int>(static_cast<std::size_t>(pass.grid[0]), 1));
  pass.grid[0] *= 1000;
  const auto large = load(source, pass);
  REQUIRE_MESSAGE(large.ok(), large.error().message);
  const auto launched = (*large)->launch(nullptr, arguments);
  REQUIRE_FALSE(launched.ok());
  CHECK(launched.error().code == ErrorCode::kLaunch);
  CHECK(device->synchronize().ok());
}

TEST_CASE_FIXTURE(Gpu, "a pass that overlaps what was launched before it sees what that wrote") {
  if (info.properties.at("compute_capability") < 90) {
    hone::tests::skip("hopper", "no dependent launches before compute capability 9.0");
    return;
  }
  const std::string source =
      "template <Config c> KERNEL void k(int* y) {\n"
      "  launch_dependents();\n"
      "  grid_dependency_wait();\n"
      "  const int i = blockIdx.x * blockDim.x + threadIdx.x, before = *(volatile int*)(y + i);\n"
      "  __nanosleep(20000);\n"
      "  y[i] = before * 2 + 1;\n}";
  PassLaunch pass = one_block(64);
  pass.grid[0] = 64;
  pass.overlap = true;
  const std::vector<PassLaunch> passes(2, pass);
  const auto loaded = load(source, passes);
  REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
  const auto y = upload(std::vector<int>(64 * 64, 0));
  void* to = y->address();
  for (int launch = 0; launch < 2; ++launch) {
    require((*loaded)->launch(nullptr, std::array<void*, 1>{&to}));
  }
  require(device->synchronize());
  CHECK(download<int>(*y) == std::vector<int>(64 * 64, 15));
}

TEST_CASE_FIXTURE(Gpu, "a kernel that overlaps meets a late writer: it must wait for it") {
  if (info.properties.at("compute_capability") < 90) {
    hone::tests::skip("hopper", "no dependent launches before compute capability 9.0");
    return;
  }
  constexpr std::size_t kCount = 64 * 64;
  PassLaunch pass = one_block(64);
  pass.grid[0] = 64;
  pass.overlap = true;
  const auto y = upload(std::vector<int>(kCount, 5));
  const std::array<Region, 1> region{Region{y->address(), y->bytes()}};
  void* to = y->address();
  for (const bool waits : {true, false}) {
    const std::string source = std::string("template <Config c> KERNEL void k(int* y) {\n") + (waits ? "  grid_dependency_wait();\n" : "") +
                               "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  y[i] += 1;\n}";
    const auto loaded = load(source, pass);
    REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
    CHECK((*loaded)->overlaps(0));
    require((*loaded)->launch(nullptr, std::array<void*, 1>{&to}));  // the first launch loads its code, and comes too late
    constexpr int kAttempts = 10;                                    // so may another, where the host is busy
    int right = 0;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      require(device->fill(y->address(), y->bytes(), 0));
      require(device->invert(region, false));
      CHECK(download<int>(*y) == std::vector<int>(kCount, -1));
      require(device->invert(region, true));
      require((*loaded)->launch(nullptr, std::array<void*, 1>{&to}));
      require(device->synchronize());
      right += download<int>(*y) == std::vector<int>(kCount, 1) ? 1 : 0;
    }
    CHECK((right == kAttempts) == waits);
  }
}

TEST_CASE_FIXTURE(Gpu, "a graph of calls runs each on its own memory, behind its preparations") {
  const auto loaded = load("template <Config c> KERNEL void k(int* y) { if (threadIdx.x == 0) y[0] += 1; }", one_block(32));
  REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<void*> addresses(3);
  std::vector<std::array<void*, 1>> arguments(3);
  std::vector<GraphCall> calls;
  for (std::size_t i = 0; i < 3; ++i) {
    buffers.push_back(upload(std::vector<int>{10}));
    addresses[i] = buffers[i]->address();
    arguments[i] = {&addresses[i]};
    calls.push_back({arguments[i], {}, {}});
  }
  calls[2].preparations.push_back({Preparation::Kind::kZero, addresses[2], nullptr, 4});
  const auto graph = device->graph(**loaded, calls);
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  const auto taken = (*graph)->time(40, 1);
  REQUIRE_MESSAGE(taken.ok(), taken.error().message);
  REQUIRE(taken->us.size() == 40);
  CHECK(*std::min_element(taken->us.begin(), taken->us.end()) > 0.0);
  CHECK(download<int>(*buffers[0]) == std::vector<int>{50});
  CHECK(download<int>(*buffers[1]) == std::vector<int>{50});
  CHECK(download<int>(*buffers[2]) == std::vector<int>{1});
}

TEST_CASE_FIXTURE(Gpu, "constant memory holds what each launch passes for it, on any thread and in a graph") {
  PassLaunch pass = one_block(32);
  pass.constants = {{.argument = 1, .symbol = "table", .bytes = 128}};
  const auto loaded =
      load("CONSTANT(32) int table[40];\ntemplate <Config c> KERNEL void k(int* y) { y[threadIdx.x] += table[threadIdx.x]; }", pass);
  REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
  const auto y = upload(std::vector<int>(32, 0)), z = upload(std::vector<int>(32, 0));
  const auto ones = upload(std::vector<int>(32, 1)), tens = upload(std::vector<int>(32, 10));
  void *to = y->address(), *first = ones->address(), *second = tens->address(), *other = z->address();
  const std::array<void*, 2> with_ones{&to, &first}, with_tens{&to, &second}, others{&other, &second};
  require((*loaded)->launch(nullptr, with_ones));
  Result<void> launched;
  std::thread([&] { launched = (*loaded)->launch(nullptr, with_tens); }).join();
  require(launched);
  require(device->synchronize());
  CHECK(download<int>(*y) == std::vector<int>(32, 11));
  const std::vector<GraphCall> calls{{with_ones, {}, {}}, {others, {}, {}}};
  const auto graph = device->graph(**loaded, calls);
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  REQUIRE((*graph)->time(1, 1).ok());
  const std::vector<int> added = download<int>(*y), added_others = download<int>(*z);  // the graph may have run more than once
  CHECK(added[0] > 11);
  CHECK(added_others == std::vector<int>(32, 10 * (added[0] - 11)));
  pass.constants[0].bytes = 161;
  CHECK(load("CONSTANT(32) int table[40];\ntemplate <Config c> KERNEL void k(int* y) { y[0] = table[0]; }", pass)
            .error()
            .message.find("has 160 bytes; 161 are to be copied") != std::string::npos);
  pass.constants[0].symbol = "none";
  CHECK(load("template <Config c> KERNEL void k(int* y) { y[0] = 0; }", pass)
            .error()
            .message.find("no variable 'none' in the compiled code") != std::string::npos);
}

TEST_CASE_FIXTURE(Gpu, "watched outputs are spoiled before each run, and what a run leaves wrong is counted") {
  constexpr std::size_t kCount = 100000;
  const auto expected = upload(std::vector<double>(kCount, 3.0));
  const auto y = upload(std::vector<float>(kCount, 3.0F));
  void* to = y->address();
  const std::array<void*, 1> arguments{&to};
  const std::array<Watch, 1> watches{Watch{.address = to,
                                           .element = DType::kF32,
                                           .expected = static_cast<const double*>(expected->address()),
                                           .count = kCount,
                                           .relative = 1e-6}};
  for (const bool works : {true, false}) {
    const std::string body = works ? "for (int i = threadIdx.x; i < 100000; i += blockDim.x) y[i] = 3.0f;" : "";
    const auto loaded = load("template <Config c> KERNEL void k(float* y) { " + body + " }", one_block(256));
    REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
    const auto taken =
        device->time({.kernel = loaded->get(), .arguments = arguments, .preparations = {}, .watches = watches, .seed = 5, .samples = 40});
    REQUIRE_MESSAGE(taken.ok(), taken.error().message);
    CHECK((taken->unmended == 0) == works);
  }
  const Spots all{1, kCount};
  require(device->spoil(watches, all));
  CHECK(device->unmended(watches, all).value() == kCount);
}

TEST_CASE_FIXTURE(Gpu, "checksums of many regions are those of each") {
  const auto memory = upload(std::vector<int>(1 << 20, 7));
  std::vector<Region> regions;
  for (std::size_t i = 0; i < 300; ++i) {
    regions.push_back({static_cast<std::byte*>(memory->address()) + 13 * i, i == 5 ? std::size_t{3} << 20 : 100 + 7 * i});
  }
  const auto sums = device->checksums(regions).value();
  for (const std::size_t i : {std::size_t{0}, std::size_t{5}, std::size_t{127}, std::size_t{128}, std::size_t{299}}) {
    CHECK(sums[i] == device->checksum(regions[i].address, regions[i].bytes).value());
  }
}

TEST_CASE_FIXTURE(Gpu, "shared memory that nobody wrote holds what it was painted with") {
  const auto y = upload(std::vector<unsigned>(132, 0));
  void* to = y->address();
  PassLaunch pass = one_block(128);
  pass.grid[0] = 132;
  const auto loaded = load(
      "template <Config c> KERNEL void k(unsigned* y) { __shared__ volatile unsigned s[1024]; if (threadIdx.x == 0) y[blockIdx.x] = s[5]; "
      "}",
      pass);
  REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
  for (const std::uint8_t pattern : {std::uint8_t{0xff}, std::uint8_t{0x7f}}) {
    require(device->paint_shared(pattern));
    require((*loaded)->launch(nullptr, std::array<void*, 1>{&to}));
    require(device->synchronize());
    CHECK(download<unsigned>(*y) == std::vector<unsigned>(132, pattern * 0x01010101U));
  }
}

TEST_CASE_FIXTURE(Gpu, "a launch the device cannot do is a launch error, and the device goes on") {
  PassLaunch pass = one_block(32);
  const std::string source = "template <Config c> KERNEL void k(int* y) { y[0] = 1; }";
  const auto y = upload(std::vector<int>{0});
  void* to = y->address();
  const std::array<void*, 1> arguments{&to};
  pass.block[0] = 4096;
  const auto loaded = load(source, pass);
  if (loaded.ok()) {
    const auto launched = (*loaded)->launch(nullptr, arguments);
    REQUIRE_FALSE(launched.ok());
    CHECK(launched.error().code == ErrorCode::kLaunch);
  } else {
    CHECK(loaded.error().code == ErrorCode::kLaunch);
  }
  pass.block[0] = 32;
  const auto good = load(source, pass);
  REQUIRE_MESSAGE(good.ok(), good.error().message);
  CHECK((*good)->launch(nullptr, {}).error().code == ErrorCode::kInvalidArgument);
  require((*good)->launch(nullptr, arguments));
  require(device->synchronize());
  CHECK(download<int>(*y) == std::vector<int>{1});
}

TEST_CASE_FIXTURE(Gpu, "a tensor map copies a box to shared memory, with zeros beyond the array") {
  if (info.properties.at("compute_capability") < 90) {
    hone::tests::skip("hopper", "no tensor maps before compute capability 9.0");
    return;
  }
  const std::string source =
      "#include <hone/kernel_hopper.h>\n"
      "template <Config c> KERNEL void k(const __grid_constant__ TensorMap map, int* y) {\n"
      "#ifdef HONE_HOPPER\n"
      "  __shared__ __align__(128) int box[32];\n"
      "  __shared__ __align__(8) unsigned long long barrier;\n"
      "  const unsigned at = hopper::shared_address(&barrier);\n"
      "  if (threadIdx.x == 0) {\n"
      "    hopper::mbarrier_init(at, 1);\n    hopper::fence_mbarrier_init();\n"
      "    hopper::mbarrier_arrive_expect_tx(at, 128);\n"
      "    hopper::tma_load(hopper::shared_address(box), map, 4, 1, at);\n  }\n"
      "  __syncthreads();\n  hopper::mbarrier_wait(at, 0);\n"
      "  y[threadIdx.x] = box[threadIdx.x];\n#endif\n}";
  PassLaunch pass = one_block(32, {kTensorMapParameter, 1});
  // 3 rows of 10 numbers, 12 apart; the box is 8 wide and 4 high, at column 4 (a multiple of 16 bytes) of row 1.
  pass.tensor_maps.push_back(
      {.argument = 0, .element = DType::kI32, .axes = 2, .size = {10, 3}, .box = {8, 4}, .stride_bytes = {4, 48}, .swizzle = 0, .l2 = 128});
  const auto loaded = load(source, pass);
  REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
  std::vector<int> numbers(36);
  std::iota(numbers.begin(), numbers.end(), 100);
  const auto x = upload(numbers), y = upload(std::vector<int>(32, -1));
  void *from = x->address(), *to = y->address();
  require((*loaded)->launch(nullptr, std::array<void*, 2>{&from, &to}));
  require(device->synchronize());
  std::vector<int> expected(32, 0);
  for (int row = 0; row < 2; ++row) {
    for (int column = 0; column < 6; ++column) {
      expected[8 * static_cast<std::size_t>(row) + static_cast<std::size_t>(column)] = 100 + (row + 1) * 12 + 4 + column;
    }
  }
  CHECK(download<int>(*y) == expected);
  from = static_cast<char*>(from) + 4;
  const auto refused = (*loaded)->launch(nullptr, std::array<void*, 2>{&from, &to});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("not aligned to 16 bytes") != std::string::npos);
}
