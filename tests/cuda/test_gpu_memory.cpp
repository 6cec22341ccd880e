#include <cmath>
#include <limits>

#include "engine/measure/element.hpp"
#include "engine/measure/input_profile.hpp"
#include "gpu.hpp"
#include "hone/random.h"

using namespace test;

TEST_CASE_FIXTURE(Gpu, "the device describes itself") {
  CHECK(info.id == "cuda:0");
  CHECK_FALSE(info.product.empty());
  CHECK(info.uuid.size() == 40);
  for (const std::string_view property : device_property_names()) {
    CAPTURE(std::string(property));
    REQUIRE(info.properties.contains(property));
    CHECK(info.properties.find(property)->second > 0);
  }
  CHECK(info.properties.size() == device_property_names().size());
  CHECK_FALSE(info.environment.at("driver").empty());
  const Readings readings = device->readings();
  MESSAGE(info.product << " " << info.architecture << ", driver " << info.environment.at("driver") << ", SM clock " << readings.sm_clock_mhz
                       << " MHz, " << readings.temperature_c << " C, " << readings.power_w << " W");
}

TEST_CASE_FIXTURE(Gpu, "memory is written, filled, copied and read") {
  const std::vector<int> numbers{1, 2, 3, 4, 5};
  const auto first = upload(numbers);
  const auto second = allocate(first->bytes());
  require(device->fill(second->address(), second->bytes(), 0xab));
  CHECK(download<unsigned char>(*second) == std::vector<unsigned char>(20, 0xab));
  require(device->copy(second->address(), first->address(), first->bytes()));
  CHECK(download<int>(*second) == numbers);
  require(device->fill_on(nullptr, second->address(), 4, 0));
  require(device->synchronize());
  CHECK(download<int>(*second) == std::vector<int>{0, 2, 3, 4, 5});
}

TEST_CASE_FIXTURE(Gpu, "more memory than there is is refused, and the device goes on") {
  const auto refused = device->allocate(std::size_t{1} << 50);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kUnavailable);
  CHECK(refused.error().message.find("MiB") != std::string::npos);
  CHECK(device->allocate(1024).ok());
}

TEST_CASE_FIXTURE(Gpu, "random inputs are the numbers of every device") {
  constexpr std::size_t kCount = 10007;
  for (const DType dtype : all_dtypes()) {
    CAPTURE(std::string(name(dtype)));
    const auto buffer = allocate(kCount * size_of(dtype));
    require(device->randomize(buffer->address(), dtype, kCount, 42));
    const auto bytes = download<std::byte>(*buffer);
    CHECK(bytes == measure::draw(InputProfile::kUsual, dtype, kCount, 42));
  }
}

TEST_CASE_FIXTURE(Gpu, "comparison finds what is wrong, and where") {
  constexpr std::size_t kCount = 100003;
  std::vector<float> actual(kCount, 1.0F);
  std::vector<double> expected(kCount, 1.0);
  const auto reference = upload(expected);
  const auto* doubles = static_cast<const double*>(reference->address());
  const Tolerance tolerance{.relative = 1e-3};
  const auto compare = [&] {
    const auto buffer = upload(actual);
    const auto result = device->compare(buffer->address(), DType::kF32, doubles, kCount, tolerance);
    REQUIRE_MESSAGE(result.ok(), result.error().message);
    return *result;
  };
  CHECK(compare().mismatches == 0);
  CHECK(compare().elements == kCount);
  CHECK(compare().max_error == 0.0);
  actual[500] = 1.0005F;
  CHECK(compare().mismatches == 0);
  CHECK(compare().max_error == doctest::Approx(0.5).epsilon(0.01));
  actual[70000] = 3.0F;
  actual[90000] = std::numeric_limits<float>::quiet_NaN();
  actual[90001] = std::numeric_limits<float>::infinity();
  const Comparison found = compare();
  CHECK(found.mismatches == 3);
  CHECK(found.not_finite == 2);
  CHECK(found.first_mismatch == 70000);
  CHECK(found.first_actual == 3.0);
  CHECK(found.first_expected == 1.0);
  CHECK(std::isinf(found.max_error));
}

TEST_CASE_FIXTURE(Gpu, "comparison: the rms sets a floor, equal infinities pass, NaN never does") {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto run = [&](const std::vector<double>& actual, const std::vector<double>& expected, Tolerance tolerance) {
    const auto a = upload(actual), e = upload(expected);
    const auto result = device->compare(a->address(), DType::kF64, static_cast<const double*>(e->address()), actual.size(), tolerance);
    REQUIRE_MESSAGE(result.ok(), result.error().message);
    return result->mismatches;
  };
  // rms of (3, 4, 0, 0) is 2.5.
  CHECK(run({3, 4, 0.2, 0}, {3, 4, 0, 0}, {.absolute_rms = 0.1}) == 0);
  CHECK(run({3, 4, 0.3, 0}, {3, 4, 0, 0}, {.absolute_rms = 0.1}) == 1);
  CHECK(run({3, 4, 0.3, 0}, {3, 4, 0, 0}, {.absolute = 0.3}) == 0);
  CHECK(run({infinity, -infinity, 1}, {infinity, -infinity, 1}, {}) == 0);
  CHECK(run({infinity, 1}, {-infinity, 1}, {.relative = 1, .absolute_rms = 1}) == 1);
  CHECK(run({1, 1}, {infinity, 1}, {.relative = 1, .absolute_rms = 1}) == 1);
  CHECK(run({nan, 1}, {nan, 1}, {.relative = 1, .absolute_rms = 1}) == 1);
}

TEST_CASE_FIXTURE(Gpu, "checksums differ where one bit does, at any size and alignment") {
  std::vector<unsigned char> bytes(100003);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(i * 7);
  }
  const auto same = upload(bytes);
  const auto sum = [&](const Buffer& buffer, std::size_t begin, std::size_t size) {
    const auto result = device->checksum(static_cast<const std::byte*>(buffer.address()) + begin, size);
    REQUIRE_MESSAGE(result.ok(), result.error().message);
    return *result;
  };
  CHECK(sum(*same, 0, bytes.size()) == sum(*same, 0, bytes.size()));
  CHECK(sum(*same, 256, 1024) == sum(*same, 512, 1024));
  CHECK(sum(*same, 3, 1021) == sum(*same, 3 + 256, 1021));
  bytes.back() = static_cast<unsigned char>(bytes.back() ^ 1);
  const auto other = upload(bytes);
  CHECK(sum(*same, 0, bytes.size()) != sum(*other, 0, bytes.size()));
  CHECK(sum(*same, 0, bytes.size() - 1) == sum(*other, 0, bytes.size() - 1));
}
