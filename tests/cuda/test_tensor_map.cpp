#include <doctest/doctest.h>

#include "plugins/cuda/encoded_maps.hpp"
#include "plugins/cuda/tensor_map.hpp"

using namespace hone;

namespace {

/// What the last call of the driver's function was given.
struct Call {
  int element = -1, interleave = -1, swizzle = -1, l2 = -1, fill = -1;
  std::uint32_t axes = 0;
  void* base = nullptr;
  std::vector<std::uint64_t> size = {}, stride_bytes = {};
  std::vector<std::uint32_t> box = {}, element_strides = {};
};
Call last;
int calls = 0;

cuda::Status record(cuda::EncodedTensorMap* into, int element, std::uint32_t axes, void* base, const std::uint64_t* size,
                    const std::uint64_t* stride_bytes, const std::uint32_t* box, const std::uint32_t* element_strides, int interleave,
                    int swizzle, int l2, int fill) {
  last = {.element = element, .interleave = interleave, .swizzle = swizzle, .l2 = l2, .fill = fill, .axes = axes, .base = base};
  last.size.assign(size, size + axes);
  last.stride_bytes.assign(stride_bytes, stride_bytes + axes - 1);
  last.box.assign(box, box + axes);
  last.element_strides.assign(element_strides, element_strides + axes);
  into->opaque[0] = 42;
  ++calls;
  return cuda::status::kSuccess;
}

cuda::DriverApi driver() {
  cuda::DriverApi api{};
  api.tensor_map_encode_tiled = record;
  return api;
}

}  // namespace

TEST_CASE("a tensor map is encoded with the numbers of the driver") {
  const TensorMap map{.argument = 3,
                      .element = DType::kBF16,
                      .axes = 3,
                      .size = {4096, 1000, 7},
                      .box = {64, 128, 1},
                      .stride_bytes = {2, 8192, 8192000},
                      .swizzle = 128,
                      .l2 = 256,
                      .offset_bytes = 16};
  const cuda::TensorMapEncoding encoding(map);
  CHECK(encoding.argument() == 3);
  cuda::EncodedTensorMap encoded{};
  std::array<char, 32> array{};
  REQUIRE(encoding.encode(driver(), array.data(), encoded) == cuda::status::kSuccess);
  CHECK(encoded.opaque[0] == 42);
  CHECK(last.element == 9);
  CHECK(last.axes == 3);
  CHECK(last.base == array.data() + 16);
  CHECK(last.size == std::vector<std::uint64_t>{4096, 1000, 7});
  CHECK(last.stride_bytes == std::vector<std::uint64_t>{8192, 8192000});
  CHECK(last.box == std::vector<std::uint32_t>{64, 128, 1});
  CHECK(last.element_strides == std::vector<std::uint32_t>{1, 1, 1});
  CHECK(last.interleave == 0);
  CHECK(last.swizzle == 3);
  CHECK(last.l2 == 3);
  CHECK(last.fill == 0);
}

TEST_CASE("element types, swizzles and L2 fetches have the driver's numbers") {
  const auto encoded = [](DType element, std::int64_t swizzle, std::int64_t l2) {
    cuda::EncodedTensorMap into{};
    const TensorMap map{.element = element, .axes = 1, .size = {64}, .box = {8}, .stride_bytes = {2}, .swizzle = swizzle, .l2 = l2};
    REQUIRE(cuda::TensorMapEncoding(map).encode(driver(), nullptr, into) == cuda::status::kSuccess);
    return std::vector<int>{last.element, last.swizzle, last.l2};
  };
  CHECK(encoded(DType::kI32, 0, 0) == std::vector<int>{3, 0, 0});
  CHECK(encoded(DType::kF16, 32, 64) == std::vector<int>{6, 1, 1});
  CHECK(encoded(DType::kF32, 64, 128) == std::vector<int>{7, 2, 2});
  CHECK(encoded(DType::kF64, 128, 256) == std::vector<int>{8, 3, 3});
}

TEST_CASE("a map that is not used becomes zeros without the driver") {
  cuda::EncodedTensorMap encoded{};
  encoded.opaque[3] = 1;
  const int before = calls;
  CHECK(cuda::TensorMapEncoding(TensorMap{}).encode(driver(), nullptr, encoded) == cuda::status::kSuccess);
  CHECK(encoded.opaque[3] == 0);
  CHECK(calls == before);
}

TEST_CASE("maps are found again by all their addresses, as many sets as there is room for") {
  cuda::EncodedMaps maps(2);
  std::array<char, 64> memory{};
  const auto addresses = [&](std::size_t i) { return std::array<const void*, 2>{&memory[i], &memory[63 - i]}; };
  CHECK(maps.find(addresses(0)) == nullptr);
  constexpr std::size_t kTried = cuda::EncodedMaps::kSets + 4;
  for (std::size_t i = 0; i < kTried; ++i) {
    std::array<cuda::EncodedTensorMap, 2> encoded{};
    encoded[0].opaque[0] = i;
    encoded[1].opaque[15] = 100 + i;
    maps.put(addresses(i), encoded);
  }
  for (std::size_t i = 0; i < kTried; ++i) {
    const cuda::EncodedTensorMap* const found = maps.find(addresses(i));
    REQUIRE((found != nullptr) == (i < cuda::EncodedMaps::kSets));
    if (found != nullptr) {
      CHECK(found[0].opaque[0] == i);
      CHECK(found[1].opaque[15] == 100 + i);
    }
  }
  CHECK(maps.find(std::array<const void*, 2>{&memory[0], &memory[62]}) == nullptr);
}
