#include "reader_fixture.hpp"

using hone::kProblemParameter;
using hone::kTensorMapParameter;
using reader_test::can_read;
using reader_test::error_of;
using reader_test::Folder;

namespace {

// A pass that widens rows into a workspace, and the lines of one that reads tiles.
constexpr const char* kHead = R"cuda(#include <hone/kernel.h>
struct Problem { long m = 64, k = 128; };
struct Config { TUNE(64, 128) int bm = 64; };
constexpr Launch launch(Problem p, Config c) { return {.grid = {p.m / c.bm}, .block = {128}}; }
template <class T> REFERENCE(p.m) void add_reference(long i, const T* x, double* y, Problem p) { y[i] = x[i * p.k]; }
constexpr long padded(long k, int bytes) { return round_up(k, 16L / bytes); }
template <class T, Config c> KERNEL void widen(IN(p.m * p.k) const T* x, WORKSPACE(p.m * padded(p.k, sizeof(T))) T* wide, Problem p) {}
)cuda";

std::string kernel(const std::string& parameter) {
  return std::string(kHead) + "template <class T, Config c>\nKERNEL void add(" + parameter + ",\n  OUT(p.m) T* y, Problem p) {}\n";
}

std::int64_t at(const hone::Expression& expression) {
  return expression.evaluate({{"p.m", 64}, {"p.k", 100}, {"c.bm", 64}, {"sizeof(T)", 2}}).value().integer();
}

}  // namespace

TEST_CASE("a tensor map names an argument of any pass and shows how it lies in memory") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  const auto spec = hone::read_kernel_file(folder.write("add.cu", kernel(R"(
    TENSOR_MAP(wide, .size = {p.k, p.m},
                     .box = {128 / sizeof(T), c.bm}, .swizzle = 128, .stride = {1, padded(p.k, sizeof(T))}) const __grid_constant__ TensorMap tiles,
    TENSOR_MAP(x, {p.k * p.m}, {64}) const __grid_constant__ TensorMap flat)")));
  REQUIRE_MESSAGE(spec.ok(), spec.error().message);
  const hone::Pass& pass = spec->passes.at(1);
  CHECK(pass.arguments == std::vector<int>{kTensorMapParameter, kTensorMapParameter, 2, kProblemParameter});
  REQUIRE(pass.tensor_maps.size() == 2);
  const hone::TensorMapping& tiles = pass.tensor_maps[0];
  CHECK(spec->arguments.at(static_cast<std::size_t>(tiles.argument)).name == "wide");
  CHECK(tiles.size[0].text() == "p.k");
  CHECK(tiles.size[1].text() == "p.m");
  CHECK(at(tiles.size[2]) == 0);
  CHECK(at(tiles.box[0]) == 64);
  CHECK(at(tiles.box[1]) == 64);
  CHECK(at(tiles.stride[1]) == 104);
  CHECK(at(tiles.swizzle) == 128);
  CHECK(at(tiles.l2) == 128);
  const hone::TensorMapping& flat = pass.tensor_maps[1];
  CHECK(spec->arguments.at(static_cast<std::size_t>(flat.argument)).name == "x");
  CHECK(at(flat.size[0]) == 6400);
  CHECK(at(flat.swizzle) == 0);
  const auto again = hone::parse_kernel_spec(spec->serialize());
  REQUIRE_MESSAGE(again.ok(), again.error().message);
  CHECK(again->serialize() == spec->serialize());
}

TEST_CASE("a tensor map that cannot be read is an error at its place") {
  if (!can_read()) {
    return;
  }
  const auto begins = [](const std::string& parameter, const std::string& expected) {
    const std::string error = error_of(kernel(parameter));
    CAPTURE(error);
    CHECK(error.substr(0, expected.size()) == expected);
  };
  begins("const __grid_constant__ TensorMap x_map", "add.cu:9:51: error: tensor map 'x_map' needs a mark: TENSOR_MAP(");
  begins("TENSOR_MAP(x, {p.m}, {64}) TensorMap x_map",
         "add.cu:9:54: error: tensor map 'x_map' must be `const __grid_constant__ TensorMap`");
  begins("TENSOR_MAP(z, {p.m}, {64}) const TensorMap x_map", "add.cu:9:30: error: TENSOR_MAP names 'z', which is not a pointer");
  begins("TENSOR_MAP(x) const TensorMap x_map", "add.cu:9:28: error: TENSOR_MAP needs an argument and its view");
  begins("TENSOR_MAP(x, {p.rows}, {64}) const TensorMap x_map", "add.cu:9:34: error: no member named 'rows'");
}

TEST_CASE("a spec with a damaged tensor map is refused") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  const auto spec = hone::read_kernel_file(folder.write("add.cu", kernel("TENSOR_MAP(x, {p.k}, {64}) const TensorMap x_map")));
  REQUIRE_MESSAGE(spec.ok(), spec.error().message);
  const auto refused = [&](auto damage) {
    hone::KernelSpec damaged = *spec;
    damage(damaged.passes.at(1));
    return !hone::parse_kernel_spec(damaged.serialize()).ok();
  };
  CHECK_FALSE(refused([](hone::Pass&) {}));
  CHECK(refused([](hone::Pass& pass) { pass.tensor_maps.clear(); }));
  CHECK(refused([](hone::Pass& pass) { pass.tensor_maps[0].argument = 99; }));
  CHECK(refused([](hone::Pass& pass) { pass.tensor_maps[0].argument = kProblemParameter; }));
}

TEST_CASE("a macro of the file's own may hold the mark: an array of maps needs no copies") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  const std::string macro =
      "#define PART(i) TENSOR_MAP(x, .size = {p.k, p.m / 2}, .box = {64, c.bm}, .offset = i * p.m / 2 * p.k) const TensorMap part_##i\n";
  const auto spec = hone::read_kernel_file(folder.write("add.cu", macro + kernel("PART(0), PART(1)")));
  REQUIRE_MESSAGE(spec.ok(), spec.error().message);
  REQUIRE(spec->passes.at(1).tensor_maps.size() == 2);
  CHECK(at(spec->passes.at(1).tensor_maps[0].offset) == 0);
  CHECK(at(spec->passes.at(1).tensor_maps[1].offset) == 3200);
  CHECK(at(spec->passes.at(1).tensor_maps[1].box[1]) == 64);
}

TEST_CASE("the hash covers Hone's headers that a file includes") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  const std::string text = kernel("TENSOR_MAP(x, {p.k}, {64}) const TensorMap x_map");
  const auto plain = hone::read_kernel_file(folder.write("add.cu", text));
  const auto hopper = hone::read_kernel_file(folder.write("add.cu", "#include <hone/kernel.h>\n#include <hone/kernel_hopper.h>\n" + text));
  REQUIRE_MESSAGE(hopper.ok(), hopper.error().message);
  CHECK(plain->source_hash != hopper->source_hash);
}
