#include "engine/roofline/peaks.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace hone::roofline::test {
namespace {

Peak peak(std::string_view limit, double per_second) {
  const auto found = std::ranges::find(roofline::limits(), limit, &Limit::name);
  REQUIRE(found != roofline::limits().end());
  return {&*found, per_second, "kernel", "", ""};
}

}  // namespace

TEST_CASE("a kernel is limited by what alone would take longest") {
  const std::vector<Peak> peaks{peak("memory", 4e12), peak("f32", 50e12), peak("bf16", 800e12)};
  const auto memory = place(1e6, 4e6, DType::kF32, 2.0, peaks);
  REQUIRE(memory.has_value());
  CHECK(memory->peak.limit->name == "memory");
  CHECK(memory->least_us == doctest::Approx(1.0));
  CHECK(memory->share == doctest::Approx(0.5));
  CHECK(text(*memory) == "50.0 % of memory bandwidth (copy) (4 TB/s measured)");
  CHECK(place(1e9, 4e6, DType::kF32, 40.0, peaks)->peak.limit->name == "f32");
  CHECK(place(8e9, 4e6, DType::kBF16, 20.0, peaks)->peak.limit->name == "bf16");
  CHECK(place(8e9, 4e6, DType::kF64, 20.0, peaks)->peak.limit->name == "f32");
}

TEST_CASE("without a cost or a peak nothing is said") {
  const std::vector<Peak> peaks{peak("memory", 4e12)};
  CHECK_FALSE(place(0.0, 0.0, DType::kF32, 1.0, peaks));
  CHECK_FALSE(place(1e9, 0.0, DType::kF32, 1.0, peaks));
  CHECK_FALSE(place(1e9, 1e9, DType::kF32, 1.0, {}));
  CHECK(place(1e9, 1e6, DType::kF32, 1.0, peaks)->peak.limit->name == "memory");
}

}  // namespace hone::roofline::test
