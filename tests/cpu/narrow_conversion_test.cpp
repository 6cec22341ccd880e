// 8-bit floats and 4-bit integers on the cpu device, and the same conversions on the host.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "engine/measure/element.hpp"
#include "plugins/cpu/elements.hpp"
#include "tests/cpu/cpu_fixture.hpp"

using cpu_test::CpuFixture;
using cpu_test::geometry;
using cpu_test::make_spec;
using hone::DType;

namespace {

unsigned encoded(DType dtype, double value) {
  std::byte byte{};
  hone::measure::encode(dtype, value, &byte);
  return std::to_integer<unsigned>(byte);
}

double decoded(DType dtype, unsigned bits) {
  const std::byte byte{static_cast<unsigned char>(bits)};
  return hone::measure::decode(dtype, &byte);
}

struct Edge {
  float value;
  unsigned e4m3, e5m2;
};
// The bits are those of the OCP's "8-bit Floating Point Specification" (2023), rounded to nearest even and saturated.
const std::vector<Edge> kNarrowEdges{
    {0.0F, 0x00, 0x00},
    {-0.0F, 0x80, 0x80},
    {1.0F, 0x38, 0x3c},
    {-1.5F, 0xbc, 0xbe},
    {1.0625F, 0x38, 0x3c},   // a tie in e4m3: to the even one below
    {1.1875F, 0x3a, 0x3d},   // a tie in e4m3: to the even one above
    {1.125F, 0x39, 0x3c},    // a tie in e5m2: to the even one below
    {0x1p-9F, 0x01, 0x18},   // the smallest e4m3
    {0x1p-10F, 0x00, 0x14},  // a tie with zero
    {0x3p-10F, 0x02, 0x1a},  // a tie between the two smallest
    {0x1p-6F, 0x08, 0x24},   // the smallest normal e4m3
    {0x1p-16F, 0x00, 0x01},  // the smallest e5m2
    {448.0F, 0x7e, 0x5f},
    {464.0F, 0x7e, 0x5f},  // halfway to what e4m3 has no number for
    {1.0e6F, 0x7e, 0x7b},
    {-57344.0F, 0xfe, 0xfb},
    {std::numeric_limits<float>::infinity(), 0x7e, 0x7b},
    {-std::numeric_limits<float>::infinity(), 0xfe, 0xfb},
};

}  // namespace

TEST_CASE("numbers become the 8-bit floats of the specification, and what is beyond them the largest") {
  for (const Edge& edge : kNarrowEdges) {
    CAPTURE(edge.value);
    CHECK(encoded(DType::kE4M3, edge.value) == edge.e4m3);
    CHECK(encoded(DType::kE5M2, edge.value) == edge.e5m2);
    CHECK(hone::cpu::to_e4m3(edge.value) == edge.e4m3);
    CHECK(hone::cpu::to_e5m2(edge.value) == edge.e5m2);
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(decoded(DType::kE4M3, encoded(DType::kE4M3, nan))));
  CHECK(std::isnan(hone_fp8_to_float<2, -14>(hone::cpu::to_e5m2(nan))));
}

TEST_CASE("every 8-bit float survives the way to float and back, by either code") {
  for (unsigned bits = 0; bits < 256; ++bits) {
    const auto byte = static_cast<unsigned char>(bits);
    const double e4m3 = decoded(DType::kE4M3, bits), e5m2 = decoded(DType::kE5M2, bits);
    if ((bits & 0x7fU) == 0x7f) {
      REQUIRE(std::isnan(e4m3));
      REQUIRE(std::isnan(hone_fp8_to_float<3, -6>(byte)));
    } else {
      REQUIRE(static_cast<double>(hone_fp8_to_float<3, -6>(byte)) == e4m3);
      REQUIRE(hone::cpu::to_e4m3(static_cast<float>(e4m3)) == byte);
      REQUIRE(encoded(DType::kE4M3, e4m3) == bits);
    }
    if (std::isfinite(e5m2)) {
      REQUIRE(static_cast<double>(hone_fp8_to_float<2, -14>(byte)) == e5m2);
      REQUIRE(hone::cpu::to_e5m2(static_cast<float>(e5m2)) == byte);
      REQUIRE(encoded(DType::kE5M2, e5m2) == bits);
    }
  }
}

TEST_CASE("a float becomes the nearest 8-bit float, by either code") {
  for (std::uint32_t bits = 0; bits < 0x7f000000U; bits += 40009) {
    float value = 0.0F;
    std::memcpy(&value, &bits, sizeof(value));
    REQUIRE(hone::cpu::to_e4m3(value) == encoded(DType::kE4M3, value));
    REQUIRE(hone::cpu::to_e5m2(-value) == encoded(DType::kE5M2, -value));
    const double nearest = decoded(DType::kE4M3, encoded(DType::kE4M3, value)), error = std::fabs(nearest - std::fmin(value, 448.0));
    REQUIRE(error <= 0.5 * std::fmax(0x1p-9, nearest * 0.125));
  }
}

TEST_CASE("a kernel's own types convert as the device does, and 4-bit integers come apart") {
  CpuFixture cpu;
  const hone::KernelSpec spec = make_spec(
      "#include <hone/kernel.h>\n#include <hone/kernel_narrow.h>\n"
      "struct Problem { long n = 1; };\nstruct Config { int value = 1; };\n"
      "template <Config c> KERNEL void test_kernel(float* out, Problem p) {\n"
      "  const i4x2 signs(-8, 7);\n  const u4x2 plain(3, 12);\n  const e4m3 most = 1e9f;\n  const e5m2 third = 1.0f / 3;\n"
      "  out[0] = signs.low(); out[1] = signs.high(); out[2] = plain.low(); out[3] = plain.high();\n"
      "  out[4] = most; out[5] = third; out[6] = plain.bits; out[7] = e4m3::largest;\n"
      "  Vector<i8, 4> bytes{{1, -2, 3, -4}};\n  store((i8*)(out + 8), bytes);\n  out[9] = load<4>((const i8*)(out + 8))[3];\n}\n");
  const std::unique_ptr<hone::Buffer> out = cpu.device().allocate(64).value();
  void* address = out->address();
  REQUIRE(cpu.launch(spec, geometry({1, 1, 1}, {1, 1, 1}), {address}).ok());
  const auto* const written = static_cast<const float*>(address);
  CHECK(written[0] == -8.0F);
  CHECK(written[1] == 7.0F);
  CHECK(written[2] == 3.0F);
  CHECK(written[3] == 12.0F);
  CHECK(written[4] == 448.0F);
  CHECK(written[5] == 0.3125F);
  CHECK(written[6] == 195.0F);
  CHECK(written[7] == 448.0F);
  CHECK(written[9] == -4.0F);
}

TEST_CASE("the device draws, compares and spoils elements of every dtype as the host does") {
  CpuFixture cpu;
  constexpr std::size_t kCount = 1000;
  for (const DType dtype : hone::all_dtypes()) {
    CAPTURE(hone::name(dtype));
    const std::size_t width = hone::size_of(dtype);
    const auto elements = cpu.device().allocate(kCount * width).value();
    const auto answers = cpu.device().allocate(kCount * sizeof(double)).value();
    REQUIRE(cpu.device().randomize(elements->address(), dtype, kCount, 7).ok());
    std::vector<std::byte> drawn(kCount * width), expected(width);
    REQUIRE(cpu.device().download(drawn, elements->address()).ok());
    std::vector<double> values(kCount);
    double least = 0.0, most = 0.0;
    for (std::size_t i = 0; i < kCount; ++i) {
      hone::measure::encode(dtype, hone::measure::usual_element(dtype, 7, i), expected.data());
      REQUIRE(std::memcmp(drawn.data() + i * width, expected.data(), width) == 0);
      values[i] = hone::measure::decode(dtype, expected.data());
      least = std::min(least, values[i]);
      most = std::max(most, values[i]);
    }
    CHECK(most > (hone::is_integer(dtype) && dtype != DType::kBool ? 100.0 : 0.9));
    CHECK((least < -0.9) == (hone::range_of(dtype).least < 0.0));
    REQUIRE(cpu.device().upload(answers->address(), std::as_bytes(std::span(values))).ok());
    const auto* const answer = static_cast<const double*>(answers->address());
    CHECK(cpu.device().compare(elements->address(), dtype, answer, kCount, {}).value().mismatches == 0);

    const hone::Watch watch{.address = elements->address(), .element = dtype, .expected = answer, .count = kCount};
    REQUIRE(cpu.device().spoil({&watch, 1}, {.seed = 3, .most = kCount}).ok());
    CHECK(cpu.device().unmended({&watch, 1}, {.seed = 3, .most = kCount}).value() > kCount * 9 / 10);
  }
}
