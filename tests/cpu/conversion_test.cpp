#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "plugins/cpu/kernel_abi.hpp"
#include "tests/cpu/cpu_fixture.hpp"

using cpu_test::CpuFixture;
using cpu_test::geometry;
using cpu_test::make_spec;

namespace {

bool is_nan16(unsigned bits, unsigned exponent_mask) { return (bits & 0x7fffU) > exponent_mask; }

double half_value(unsigned bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31), mantissa = static_cast<int>(bits & 1023);
  const double magnitude = exponent == 31  ? std::numeric_limits<double>::infinity()
                           : exponent == 0 ? std::ldexp(mantissa, -24)
                                           : std::ldexp(mantissa + 1024, exponent - 25);
  return (bits & 0x8000U) != 0 ? -magnitude : magnitude;
}

struct Conversion {
  float value;
  unsigned short half, bfloat;
};
const std::vector<Conversion> kEdges{
    {0.0f, 0x0000, 0x0000},
    {-0.0f, 0x8000, 0x8000},
    {1.0f + 0x1p-11f, 0x3c00, 0x3f80},             // a tie in f16: to the even one below
    {1.0f + 0x3p-11f, 0x3c02, 0x3f80},             // a tie: to the even one above
    {1.0f + 0x1p-11f + 0x1p-23f, 0x3c01, 0x3f80},  // just above the tie
    {1.0f + 0x1p-8f, 0x3c04, 0x3f80},              // a tie in bf16: down to even
    {1.0f + 0x3p-8f, 0x3c0c, 0x3f82},              // a tie in bf16: up to even
    {65504.0f, 0x7bff, 0x4780},                    // the largest f16
    {65519.996f, 0x7bff, 0x4780},                  // still rounds down
    {65520.0f, 0x7c00, 0x4780},                    // a tie with infinity
    {0x1p-24f, 0x0001, 0x3380},                    // the smallest f16
    {0x1p-25f, 0x0000, 0x3300},                    // a tie with zero
    {0x1.000002p-25f, 0x0001, 0x3300},             // just above it
    {0x1.ff8p-15f, 0x03ff, 0x3880},                // the largest subnormal
    {0x1.ffcp-15f, 0x0400, 0x3880},                // a tie between it and the smallest normal
    {3.4028235e38f, 0x7c00, 0x7f80},               // the largest float overflows both
    {std::numeric_limits<float>::infinity(), 0x7c00, 0x7f80},
    {-std::numeric_limits<float>::infinity(), 0xfc00, 0xff80},
};

}  // namespace

TEST_CASE("every f16 and bf16 survives the way to float and back") {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto narrow = static_cast<unsigned short>(bits);
    const float half = hone_half_to_float(narrow), bfloat = hone_bfloat_to_float(narrow);
    if (is_nan16(bits, 0x7c00)) {
      REQUIRE(std::isnan(half));
      REQUIRE(is_nan16(hone_float_to_half(half), 0x7c00));
    } else {
      REQUIRE(static_cast<double>(half) == half_value(bits));
      REQUIRE(hone_float_to_half(half) == narrow);
    }
    if (is_nan16(bits, 0x7f80)) {
      REQUIRE(is_nan16(hone_float_to_bfloat(bfloat), 0x7f80));
    } else {
      REQUIRE(hone_float_to_bfloat(bfloat) == narrow);
    }
  }
}

TEST_CASE("conversions round to nearest even at every edge") {
  for (const Conversion& edge : kEdges) {
    INFO(edge.value);
    CHECK(hone_float_to_half(edge.value) == edge.half);
    CHECK(hone_float_to_bfloat(edge.value) == edge.bfloat);
  }
}

TEST_CASE("a NaN with its payload in the low bits stays a NaN") {
  const float low = std::bit_cast<float>(0x7f800001U);
  CHECK(is_nan16(hone_float_to_half(low), 0x7c00));
  CHECK(is_nan16(hone_float_to_bfloat(low), 0x7f80));
}

TEST_CASE("a kernel's conversions are those of the host") {
  CpuFixture cpu;
  constexpr std::size_t kAll = 65536;
  std::vector<float> halves(kAll), bfloats(kAll), values;
  std::vector<unsigned short> narrow(2 * kAll);
  // Floats halfway between neighbours and just beside.
  for (std::size_t i = 0; i < kAll; ++i) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(i * 65521 + (i % 3 == 0 ? 0x1000 : i % 3 == 1 ? 0x8000 : 1))));
  }
  const auto spec = make_spec(
      "#include <hone/kernel.h>\nstruct Problem { long n = 1; };\nstruct Config { int value = 1; };\n"
      "template <Config c> KERNEL void test_kernel(float* halves, float* bfloats, const float* values, f16* h, bf16* b, Problem p) {\n"
      "  const unsigned i = blockIdx.x * 256 + threadIdx.x;\n"
      "  f16 half; half.bits = i; bf16 bfloat; bfloat.bits = i;\n"
      "  halves[i] = half; bfloats[i] = bfloat; h[i] = f16(values[i]); b[i] = bf16(values[i]);\n}\n",
      5);
  REQUIRE(cpu.launch(spec, geometry({256, 1, 1}, {256, 1, 1}),
                     {halves.data(), bfloats.data(), values.data(), narrow.data(), narrow.data() + kAll})
              .ok());
  for (std::size_t i = 0; i < kAll; ++i) {
    const auto bits = static_cast<unsigned short>(i);
    REQUIRE(std::bit_cast<std::uint32_t>(halves[i]) == std::bit_cast<std::uint32_t>(hone_half_to_float(bits)));
    REQUIRE(std::bit_cast<std::uint32_t>(bfloats[i]) == std::bit_cast<std::uint32_t>(hone_bfloat_to_float(bits)));
    REQUIRE(narrow[i] == hone_float_to_half(values[i]));
    REQUIRE(narrow[kAll + i] == hone_float_to_bfloat(values[i]));
  }
}
