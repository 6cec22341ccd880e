#include <tuple>

#include "reader_fixture.hpp"

using hone::Direction;
using hone::DType;
using hone::ParameterKind;
using hone::Value;
using reader_test::can_read;
using reader_test::Folder;

namespace {

// Every construct of the format once; a kernel of two passes.
constexpr const char* kProduct = R"cuda(// Product of a matrix and a vector: y = alpha * a x.
// Rows are split over blocks.
//
// Not part of the summary.
#include <hone/kernel.h>
#include "product_tiles.h"

enum class Order { rows, columns = 7 };
constexpr int kWarp = 32;

struct Problem {
  long m = 1 << 10;  // rows of a
  long k = 512;
};

struct Config {
  // how the matrix is walked
  TUNE(Order::rows, Order::columns) Order order = Order::rows;
  TUNE(32, 64, 128) int block = 64;  // threads in a block;
                                     // a whole number of warps
  TUNE(1, 2, kWarp / 8) unsigned split = 1;
  TUNE(false, true) bool wide = false;
  TUNE(0.1f, 0.5f) float share = 0.5f; /* of the cache */
  TUNE(0, 64) OPTION("--maxrregcount={}") long registers = 0;
};

template <class U> constexpr int lanes(int bytes = 16) { return bytes / (int)sizeof(U); }

template <class T> constexpr bool valid(Problem q, Config k, Device dev) {
  static_assert(kWarp == 32);
  if (k.block > dev.threads_per_block) return false;  // the device's limit
  if (k.order == Order::columns) {
    if (k.split > 1) return false;
  }
  const long slice = ceil_div<long>(q.k, k.split);
  return slice % tile(lanes<T>()) == 0 && !(k.wide && sizeof(T) < 4);
}

template <class T> constexpr Launch launch_product(Problem p, Config c) {
  const long blocks = max_of(1L, ceil_div(p.m, (long)c.block));
  if (c.wide) return {.grid = {blocks, c.split}, .block = {c.block}, .shared = lanes<T>() * c.block, .cooperative = true};
  return {.grid = {blocks, c.split}, .block = {c.block}};
}
constexpr Launch launch(Problem p, Config c) {
  return Launch{.grid = {ceil_div(p.m, 256L)}, .block = {256}, .cluster = {c.wide ? 2 : 1}, .enabled = c.split != 1, .overlap = c.wide};
}

template <class T> constexpr bool likely(Problem q, Config k, Device dev) {
  if (k.order == Order::columns || k.block < 64) return false;  // walks against memory
  return sizeof(T) > 4 || q.m / k.block >= dev.multiprocessors;  // one wave at least (measured 2026-11)
}

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.m * p.k, .sum_length = double(p.k)}; }

template <class T> REFERENCE(p.m) void product_reference(long i, const T* a, const T* x, double* y, float alpha, Problem p) {
  double sum = 0;
  for (long j = 0; j < p.k; ++j) sum += (double)(float)a[i * p.k + j] * (double)(float)x[j];
  y[i] = alpha * sum;
}

template <class T, Config c>
KERNEL DTYPES(f32, f64) LAUNCH_BOUNDS(c.block) void product(IN(p.m * p.k) const T* __restrict__ a, IN(p.k) const T* x,
    WORKSPACE_ZEROED(c.split *
                     p.m) float* partial, Problem p) {
  __shared__ float s[32];
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(s)), "l"(a) : "memory");
  s[threadIdx.x % 32] = __some_new_intrinsic(a[0]) + __shfl_xor_sync(0xffffffffu, (float)x[0], 16);
  __syncthreads();
  atomicAdd(&partial[blockIdx.x], s[0]);
}

template <class T, Config c>
KERNEL void product_sum(WORKSPACE_ZEROED(c.split * p.m) const float* partial, OUT(p.m) T* y, SCALAR(2.5f) float alpha, Problem p) {
  y[0] = T(alpha * partial[0]);
}
)cuda";

constexpr const char* kTiles = "constexpr int tile(int lanes) { return lanes * 2; }\n";

hone::KernelSpec read_product() {
  const Folder folder;
  folder.write("product_tiles.h", kTiles);
  auto spec = hone::read_kernel_file(folder.write("product.cu", kProduct));
  INFO((spec ? std::string() : spec.error().message));
  REQUIRE(spec.ok());
  return *spec;
}

}  // namespace

TEST_CASE("the built-in softmax can be read from its source") {
  if (!can_read()) {
    return;
  }
  const auto spec = hone::read_kernel_file(std::string(HONE_SOURCE_DIR) + "/kernels_src/softmax/softmax.cu");
  REQUIRE(spec.ok());
  CHECK(spec->name == "softmax");
  CHECK(spec->templated_on_type);
  CHECK(spec->problem.size() == 2);
  CHECK(spec->arguments.size() == 2);
  CHECK_FALSE(spec->constraints.empty());
}

TEST_CASE("a file's name, summary, includes and extents") {
  if (!can_read()) {
    return;
  }
  const auto spec = read_product();
  CHECK(spec.name == "product");
  CHECK(spec.summary == "Product of a matrix and a vector: y = alpha * a x. Rows are split over blocks.");
  CHECK(spec.source == kProduct);
  REQUIRE(spec.includes.size() == 1);
  CHECK(spec.includes[0].first == "product_tiles.h");
  CHECK(spec.includes[0].second == kTiles);
  CHECK(spec.source_hash.size() == 32);
  CHECK(spec.dtypes == std::vector<hone::DTypes>{DType::kF32, DType::kF64});
  REQUIRE(spec.problem.size() == 2);
  CHECK(spec.problem[0].name == "m");
  CHECK(spec.problem[0].default_value == 1024);
  CHECK(spec.problem[0].comment == "rows of a");
}

TEST_CASE("parameters: kinds, values, labels, options and comments") {
  if (!can_read()) {
    return;
  }
  const auto spec = read_product();
  REQUIRE(spec.parameters.size() == 6);
  const auto& order = spec.parameters[0];
  CHECK(order.kind == ParameterKind::kEnumeration);
  CHECK(order.values == std::vector<Value>{0, 7});
  CHECK(order.labels == std::vector<std::string>{"rows", "columns"});
  CHECK(order.cpp_type == "Order");
  CHECK(order.comment == "how the matrix is walked");
  const auto& block = spec.parameters[1];
  CHECK(block.values == std::vector<Value>{32, 64, 128});
  CHECK(block.default_value == Value(64));
  CHECK(block.comment == "threads in a block; a whole number of warps");
  CHECK(spec.parameters[2].values == std::vector<Value>{1, 2, 4});
  CHECK(spec.parameters[3].kind == ParameterKind::kBoolean);
  CHECK(spec.parameters[3].values == std::vector<Value>{false, true});
  CHECK(spec.parameters[4].kind == ParameterKind::kReal);
  CHECK(spec.parameters[4].values == std::vector<Value>{0.1, 0.5});
  CHECK(spec.parameters[4].comment == "of the cache");
  CHECK(spec.parameters[5].compile_option == "--maxrregcount={}");
  CHECK(spec.find_parameter("wide") == &spec.parameters[3]);
  CHECK(spec.find_parameter("narrow") == nullptr);
}

TEST_CASE("valid becomes conjuncts that know their line and their text") {
  if (!can_read()) {
    return;
  }
  const auto spec = read_product();
  REQUIRE(spec.constraints.size() == 4);
  CHECK(spec.constraints[0].condition.text() == "c.block <= d.threads_per_block");
  CHECK(spec.constraints[0].line == 31);
  CHECK(spec.constraints[0].comment == "the device's limit");
  CHECK(spec.constraints[1].comment == "");
  CHECK(spec.constraints[1].condition.text() == "c.order != 7 || c.split <= 1");
  CHECK(spec.constraints[1].text == "c.order != columns || c.split <= 1");
  CHECK(spec.constraints[2].condition.text() == "(p.k + c.split - 1) / c.split % (16 / sizeof(T) * 2) == 0");
  CHECK(spec.constraints[2].text == "slice % tile(lanes<T>()) == 0");
  CHECK(spec.constraints[2].line == 36);
  CHECK(spec.constraints[3].condition.text() == "!c.wide || sizeof(T) >= 4");
}

TEST_CASE("likely becomes expectations as valid becomes constraints, with the reason beside each") {
  if (!can_read()) {
    return;
  }
  const auto spec = read_product();
  REQUIRE(spec.expectations.size() == 3);
  CHECK(spec.expectations[0].condition.text() == "c.order != 7");
  CHECK(spec.expectations[0].text == "c.order != columns");
  CHECK(spec.expectations[0].comment == "walks against memory");
  CHECK(spec.expectations[0].line == 49);
  CHECK(spec.expectations[1].text == "c.block >= 64");
  CHECK(spec.expectations[1].comment == "walks against memory");
  CHECK(spec.expectations[2].condition.text() == "sizeof(T) > 4 || p.m / c.block >= d.multiprocessors");
  CHECK(spec.expectations[2].text == "sizeof(T) > 4 || q.m / k.block >= dev.multiprocessors");
  CHECK(spec.expectations[2].comment == "one wave at least (measured 2026-11)");
  CHECK(spec.constraints.size() == 4);
}

TEST_CASE("conditions know their line and comment behind a local constant, and in a list of them that another file has") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  folder.write("shared.h", R"cuda(#pragma once
constexpr long words(Problem p, Config c) { return (p.n / c.block + c.block / 2) * (p.n / c.block + c.block / 4) * (p.n / c.block + c.block / 8) * (p.n / c.block + 1); }
constexpr bool is_legal(Problem p, Config c) {
  if (p.n % c.block != 0) return false;  // whole blocks
  const bool is_large = p.n > 1000;
  if (is_large && c.block < 64) return false;  // too many blocks
  if (words(p, c) < 8) return false;  // too few words
  return c.block != 96;  // never
}
)cuda");
  const auto spec = hone::read_kernel_file(folder.write("add.cu", R"cuda(#include <hone/kernel.h>
struct Problem { long n = 64; };
struct Config { TUNE(32, 64, 96) int block = 32; };
#include "shared.h"
constexpr bool valid(Problem p, Config c) {
  if (!is_legal(p, c)) return false;
  const bool is_small = p.n < 100;
  if (is_small && c.block > 32) return false;  // few elements
  return true;
}
constexpr Launch launch(Problem p, Config c) { return {.grid = {p.n}, .block = {c.block}}; }
template <class T> REFERENCE(p.n) void add_reference(long i, const T* x, double* y, Problem p) {}
template <class T, Config c> KERNEL void add(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {}
)cuda"));
  REQUIRE(spec.ok());
  const std::vector<std::tuple<int, std::string, std::string>> expected{
      {4, "p.n % c.block == 0", "whole blocks"},          {6, "p.n <= 1000 || c.block >= 64", "too many blocks"},
      {7, "!(words(p, c) < 8)", "too few words"},         {8, "c.block != 96", "never"},
      {8, "p.n >= 100 || c.block <= 32", "few elements"},
  };
  REQUIRE(spec->constraints.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(spec->constraints[i].line == std::get<0>(expected[i]));
    CHECK(spec->constraints[i].text == std::get<1>(expected[i]));
    CHECK(spec->constraints[i].comment == std::get<2>(expected[i]));
  }
}

TEST_CASE("an expectation changes no record, unless the kernel's code names likely") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  const std::string file = R"cuda(#include <hone/kernel.h>
struct Problem { long n = 64; };
struct Config { TUNE(32, 64) int block = 32; };
constexpr Launch launch(Problem p, Config c) { return {.grid = {p.n}, .block = {c.block}}; }
template <class T> REFERENCE(p.n) void add_reference(long i, const T* x, double* y, Problem p) {}
)cuda";
  const auto hash_of = [&](const std::string& likely, const std::string& body = "if (p.n > 1) [[likely]] y[0] = x[0];") {
    const auto spec = hone::read_kernel_file(folder.write(
        "add.cu",
        file + likely + "template <class T, Config c> KERNEL void add(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) { " + body + " }\n"));
    INFO((spec ? std::string() : spec.error().message));
    REQUIRE(spec.ok());
    return spec->source_hash;
  };
  const std::string small = "constexpr bool likely(Problem p, Config c) { return c.block < 64; }  // few\n";
  const std::string large = "template <class T> constexpr bool likely(Problem p, Config c, Device d) { return c.block > 32; }\n";
  CHECK(hash_of(small) == hash_of(large));
  CHECK(hash_of(small) == hash_of(""));
  const std::string body = "if (likely(p, c)) y[0] = x[0];";
  CHECK(hash_of(small, body) != hash_of("constexpr bool likely(Problem p, Config c) { return c.block > 32; }\n", body));
  const auto shared = [&](const std::string& header) {
    folder.write("rows.h", "#pragma once\nconstexpr int kRows = 4;\n" + header);
    return hash_of("#include \"rows.h\"\n");
  };
  CHECK(shared(small) == shared(large));
  CHECK(shared(small) == shared(""));
  CHECK(hash_of("constexpr int twice(int n) { return 2 * n; }\n" + small) != hash_of(small));
}

TEST_CASE("each pass has the launch of its name, else the common one") {
  if (!can_read()) {
    return;
  }
  const auto spec = read_product();
  REQUIRE(spec.passes.size() == 2);
  const auto& first = spec.passes[0];
  CHECK(first.function == "product");
  CHECK(first.arguments == std::vector<int>{0, 1, 2, -1});
  CHECK(first.grid[1].text() == "c.split");
  CHECK(first.block[0].text() == "c.block");
  CHECK(first.shared_bytes.text() == "c.wide ? 16 / sizeof(T) * c.block : 0");
  CHECK(first.enabled.text() == "true");
  const hone::Bindings bound{{"p.m", 1000}, {"c.block", 64}, {"c.wide", true}};
  CHECK(*first.grid[0].evaluate(bound) == Value(16));
  CHECK(*first.cooperative.evaluate(bound) == Value(true));
  const auto& second = spec.passes[1];
  CHECK(second.arguments == std::vector<int>{2, 3, 4, -1});
  CHECK(second.cluster[0].text() == "c.wide ? 2 : 1");
  CHECK(second.enabled.text() == "c.split != 1");
  CHECK(first.overlap.text() == "false");
  CHECK(second.overlap.text() == "c.wide");
}

TEST_CASE("arguments are shared by name over the passes") {
  if (!can_read()) {
    return;
  }
  const auto spec = read_product();
  REQUIRE(spec.arguments.size() == 5);
  CHECK(spec.arguments[0].element_is_t);
  CHECK(spec.arguments[0].extent.text() == "p.m * p.k");
  CHECK(spec.arguments[2].direction == Direction::kWorkspace);
  CHECK(spec.arguments[2].zeroed);
  CHECK_FALSE(spec.arguments[2].element_is_t);
  CHECK(spec.arguments[2].dtype == DType::kF32);
  CHECK(spec.arguments[2].extent.text() == "c.split * p.m");
  CHECK(spec.arguments[3].direction == Direction::kOut);
  CHECK(spec.arguments[4].direction == Direction::kScalar);
  CHECK(spec.arguments[4].scalar_default == Value(2.5));
}

TEST_CASE("cost and reference") {
  if (!can_read()) {
    return;
  }
  const auto spec = read_product();
  const hone::Bindings bound{{"p.m", 3}, {"p.k", 5}};
  CHECK(*spec.cost.flops.evaluate(bound) == Value(30.0));
  CHECK(spec.cost.bytes.evaluate(bound)->real() == 0.0);
  CHECK(*spec.cost.sum_length.evaluate(bound) == Value(5.0));
  REQUIRE(spec.reference.size() == 1);
  CHECK(spec.reference[0].function == "product_reference");
  CHECK(spec.reference[0].extent.text() == "p.m");
  CHECK(spec.reference[0].arguments == std::vector<int>{0, 1, 3, 4, -1});
}

TEST_CASE("several references are passes in the order of the file, each with an extent and arguments of its own") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  const auto spec = hone::read_kernel_file(folder.write("total.cu", R"cuda(
#include <hone/kernel.h>
struct Problem { long n = 64; };
struct Config { TUNE(1, 2) int vec = 1; };
constexpr long kShare = 8;
constexpr Launch launch(Problem p, Config c) { return {.grid = {1}}; }
REFERENCE(1) void total_reference_zero(long, double* y) { y[0] = 0; }
REFERENCE(ceil_div(p.n, kShare)) void total_reference(long i, double* y, const int* x, Problem p) { atomicAdd(y, (double)x[i]); }
REFERENCE(p.n) void total_reference_after(long, const int* x, Problem) {}
template <Config c> KERNEL void total(IN(p.n) const int* x, OUT(1) int* y, Problem p) {}
)cuda"));
  INFO((spec ? std::string() : spec.error().message));
  REQUIRE(spec.ok());
  REQUIRE(spec->reference.size() == 3);
  CHECK(spec->reference[0].function == "total_reference_zero");
  CHECK(spec->reference[0].extent.text() == "1");
  CHECK(spec->reference[0].arguments == std::vector<int>{1});
  CHECK(spec->reference[1].function == "total_reference");
  CHECK(spec->reference[1].extent.evaluate({{"p.n", 65}})->integer() == 9);
  CHECK(spec->reference[1].arguments == std::vector<int>{1, 0, -1});
  CHECK(spec->reference[2].function == "total_reference_after");
  CHECK(spec->reference[2].extent.text() == "p.n");
  CHECK(spec->reference[2].arguments == std::vector<int>{0, -1});
  CHECK(hone::parse_kernel_spec(spec->serialize())->serialize() == spec->serialize());
}

TEST_CASE("a spec survives its JSON") {
  if (!can_read()) {
    return;
  }
  const auto spec = read_product();
  const auto again = hone::parse_kernel_spec(spec.serialize());
  REQUIRE(again.ok());
  CHECK(again->serialize() == spec.serialize());
  CHECK(again->source == spec.source);
}

TEST_CASE("the hash covers the file and its headers") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  folder.write("product_tiles.h", kTiles);
  const auto path = folder.write("product.cu", kProduct);
  const auto first = hone::read_kernel_file(path);
  CHECK(hone::read_kernel_file(path)->source_hash == first->source_hash);
  folder.write("product_tiles.h", std::string(kTiles) + "constexpr int changed = 1;\n");
  CHECK(hone::read_kernel_file(path)->source_hash != first->source_hash);
}

TEST_CASE("names of an earlier release are read, and warned of with where they stand and what replaces them") {
  if (!can_read()) {
    return;
  }
  const auto text = [](const std::string& wait, const std::string& launch) {
    return "#include <hone/kernel.h>\nstruct Problem { long n = 4; };\nstruct Config { TUNE(1) int one = 1; };\n"
           "constexpr Launch launch(Problem p, Config c) { return {.grid = {p.n}, .overlap = true}; }\n"
           "REFERENCE(p.n) void add_reference(long i, double* y, Problem p) { y[i] = 1; }\n"
           "template <Config c> KERNEL void add(OUT(p.n) f32* y, Problem p) {\n  " +
           wait + "();\n  " + launch + "();\n  y[blockIdx.x] = 1;\n}\n";
  };
  const Folder folder;
  const auto old = hone::read_kernel_file(folder.write("add.cu", text("await_pass_before", "let_next_pass_begin")));
  REQUIRE_MESSAGE(old.ok(), old.error().message);
  REQUIRE(old->warnings.size() == 2);
  CHECK(old->warnings[0].ends_with("add.cu:7:3: warning: 'await_pass_before' is deprecated: use grid_dependency_wait()"));
  CHECK(old->warnings[1].ends_with("add.cu:8:3: warning: 'let_next_pass_begin' is deprecated: use launch_dependents()"));
  CHECK(hone::parse_kernel_spec(old->serialize())->warnings == old->warnings);
  CHECK(hone::read_kernel_file(folder.write("add.cu", text("grid_dependency_wait", "launch_dependents")))->warnings.empty());
}

TEST_CASE("a kernel without an element type, without valid and cost, with member functions") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  const auto spec = hone::read_kernel_file(folder.write("count.cu", R"cuda(/* Counts.
 * Quickly. */
#include <cstdint>
#include <cuda_fp16.h>
#include <hone/kernel.h>
struct Problem { long n = 64; constexpr long twice() const { return n + n; } };
struct Config {
  enum class Path { slow = 2, fast };
  TUNE(Path::slow, Path::fast) Path path = Path::fast;
  TUNE(1, 2) int vec = 1;
  constexpr int threads() const { return path == Path::fast ? 32 * vec : 32; }
};
constexpr Launch launch(Problem p, Config c) { return {.grid = p.twice(), .block = {c.threads(), min(c.vec, 4)}}; }
REFERENCE(1) void count_reference(long, const int* x, double* y, Problem p) {}
template <Config c> KERNEL void count(IN(p.n) const int* x, OUT(1) int* y, Problem p) { __half h = __float2half(1.0f); }
)cuda"));
  INFO((spec ? std::string() : spec.error().message));
  REQUIRE(spec.ok());
  CHECK(spec->summary == "Counts. Quickly.");
  CHECK_FALSE(spec->templated_on_type);
  CHECK(spec->dtypes == std::vector<hone::DTypes>{DType::kI32});
  CHECK(spec->parameters[0].cpp_type == "Config::Path");
  CHECK(spec->constraints.empty());
  CHECK(spec->passes[0].grid[0].text() == "p.n + p.n");
  CHECK(spec->passes[0].block[0].text() == "c.path == 3 ? 32 * c.vec : 32");
  CHECK(spec->passes[0].block[1].text() == "c.vec < 4 ? c.vec : 4");
  CHECK(spec->cost.sum_length.evaluate({})->real() == 1.0);
}

TEST_CASE("a file that is not there is not found") {
  const auto spec = hone::read_kernel_file("/nowhere/add.cu");
  REQUIRE_FALSE(spec.ok());
  CHECK(spec.error().code == hone::ErrorCode::kNotFound);
  CHECK(spec.error().message == "no kernel file at /nowhere/add.cu");
}
