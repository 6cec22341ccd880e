#include "engine/device/tensor_map.hpp"

#include <doctest/doctest.h>

#include "engine/device/device.hpp"

using namespace hone;

namespace {

/// A row-major matrix of p.rows x p.columns in tiles of 64 rows and c.width columns.
TensorMapping matrix() {
  TensorMapping mapping;
  mapping.size = {Expression::variable("p.columns"), Expression::variable("p.rows")};
  mapping.box = {Expression::variable("c.width"), Expression::constant(64)};
  mapping.swizzle = Expression::constant(128);
  mapping.l2 = Expression::constant(256);
  return mapping;
}

Bindings bound(std::int64_t rows, std::int64_t columns, std::int64_t width) {
  return {{"p.rows", rows}, {"p.columns", columns}, {"c.width", width}};
}

std::string error_of(const TensorMapping& mapping, const Bindings& values) {
  const auto map = plan_tensor_map(mapping, DType::kBF16, values);
  return map ? "" : map.error().message;
}

}  // namespace

TEST_CASE("a packed matrix has the stride of its rows") {
  const auto map = plan_tensor_map(matrix(), DType::kBF16, bound(100, 72, 64));
  REQUIRE_MESSAGE(map.ok(), map.error().message);
  CHECK(map->axes == 2);
  CHECK(map->size == std::array<std::int64_t, 5>{72, 100});
  CHECK(map->box == std::array<std::int64_t, 5>{64, 64});
  CHECK(map->stride_bytes == std::array<std::int64_t, 5>{2, 144});
  CHECK(map->swizzle == 128);
  CHECK(map->l2 == 256);
}

TEST_CASE("a given stride counts elements, and axes behind it are packed on top of it") {
  TensorMapping mapping = matrix();
  mapping.stride[1] = Expression::constant(128);
  mapping.size[2] = Expression::constant(3);
  mapping.box[2] = Expression::constant(1);
  const auto map = plan_tensor_map(mapping, DType::kF32, bound(10, 72, 32));
  REQUIRE_MESSAGE(map.ok(), map.error().message);
  CHECK(map->stride_bytes == std::array<std::int64_t, 5>{4, 512, 5120});
}

TEST_CASE("a size of 0 along x is a map that is not used") {
  const auto map = plan_tensor_map(matrix(), DType::kBF16, bound(100, 0, 64));
  REQUIRE_MESSAGE(map.ok(), map.error().message);
  CHECK(map->axes == 0);
}

TEST_CASE("extents whose bytes overflow are refused") {
  TensorMapping mapping = matrix();
  mapping.stride[1] = Expression::constant((std::int64_t{1} << 62) + 64);  // twice that is 128 after it has wrapped around
  CHECK(error_of(mapping, bound(100, 64, 64)).find("along y") != std::string::npos);
  mapping = matrix();
  mapping.offset = Expression::constant(std::int64_t{1} << 62);
  CHECK(error_of(mapping, bound(100, 64, 64)).find("bytes into the argument") != std::string::npos);
}

TEST_CASE("rules of the hardware are errors that say what is wrong") {
  CHECK(error_of(matrix(), bound(100, 4097, 64)) == "8194 bytes from one to the next along y; a multiple of 16 below 2^40 is needed");
  CHECK(error_of(matrix(), bound(100, 4096, 128)) == "rows of the box take 256 bytes, more than the swizzle of 128");
  CHECK(error_of(matrix(), bound(100, 4096, 12)) == "rows of the box take 24 bytes; a multiple of 16 is needed");
  CHECK(error_of(matrix(), bound(100, 4096, 0)) == "a box of 0 elements along x; 1 to 256 are possible");
  CHECK(error_of(matrix(), bound(100, -8, 64)) == "-8 elements along x; 1 to 2^32 are possible");
  TensorMapping odd = matrix();
  odd.swizzle = Expression::constant(48);
  CHECK(error_of(odd, bound(100, 4096, 16)) == "a swizzle of 48 bytes; there are 0, 32, 64 and 128");
  odd = matrix();
  odd.l2 = Expression::constant(32);
  CHECK(error_of(odd, bound(100, 4096, 64)) == "l2 = 32 bytes; there are 0, 64, 128 and 256");
  odd = matrix();
  odd.offset = Expression::constant(4);
  CHECK(error_of(odd, bound(100, 4096, 64)) == "the array begins 8 bytes into the argument; a multiple of 16 is needed");
  odd = matrix();
  odd.box[1] = Expression::constant(257);
  CHECK(error_of(odd, bound(1000, 4096, 64)) == "a box of 257 elements along y; 1 to 256 are possible");
}

TEST_CASE("the static gate refuses tensor maps before Hopper") {
  DeviceInfo info;
  for (const std::string_view property : device_property_names()) {
    info.properties.emplace(property, 1 << 20);
  }
  PassLaunch launch;
  launch.tensor_maps.emplace_back();
  CHECK(static_reject({launch}, {}, info).empty());
  info.properties["compute_capability"] = 89;
  CHECK(static_reject({launch}, {}, info).starts_with("tensor maps need compute capability 9.0"));
}
