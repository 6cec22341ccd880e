// Ranges of shapes: what can be written, and what is drawn from them.
#include "engine/store/shape_range.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "engine/kernel/builtin_kernels.hpp"

namespace hone {
namespace {

const KernelSpec& builtin(const char* kernel) { return *find_builtin_kernel(kernel).value(); }

std::string range_error(const char* kernel, std::string_view given) {
  const Result<ShapeRange> range = parse_range(builtin(kernel), given);
  return range ? "" : range.error().message;
}

}  // namespace

TEST_CASE("a range names spans, values and alternatives, and the rest has its default") {
  const ShapeRange range = parse_range(builtin("gemm"), "m=1..16384,n=4096|14336,k=512").value();
  CHECK(text(range) == "m=1..16384,n=4096|14336,k=512,layout=1,terms=1,activation=1");
  CHECK(parse_range(builtin("gemm"), text(range)).value() == range);
  CHECK(range.axes[0].varies());
  CHECK(range.axes[1].varies());
  CHECK_FALSE(range.axes[2].varies());
  CHECK(range.axes[3].exact);
}

TEST_CASE("a part of a range has what it does not name from the range") {
  const KernelSpec& gemm = builtin("gemm");
  const ShapeRange whole = parse_range(gemm, "m=1..16384,n=4096|14336,k=512,layout=2").value();
  CHECK(text(parse_range_within(gemm, "n=4096", whole).value()) == "m=1..16384,n=4096,k=512,layout=2,terms=1,activation=1");
  CHECK(parse_range_within(gemm, "rows=1", whole).error().message == parse_range(gemm, "rows=1").error().message);
}

TEST_CASE("what is wrong with a range is said") {
  CHECK(range_error("softmax", "rows").find("is not of the form") != std::string::npos);
  CHECK(range_error("softmax", "rows=").find("is not of the form") != std::string::npos);
  CHECK(range_error("softmax", "row=1..5").find("rows") != std::string::npos);
  CHECK(range_error("softmax", "rows=1..5,rows=7").find("given twice") != std::string::npos);
  CHECK(range_error("softmax", "rows=9..5").find("is empty") != std::string::npos);
  CHECK(range_error("softmax", "rows=0..5").find("at least 1") != std::string::npos);
  CHECK(range_error("attention", "window=0..4096").find("write window=0|1..4096, or window=1..4096") != std::string::npos);
  CHECK(range_error("softmax", "rows=1..x").find("'rows=1..x': 'x' is no number") != std::string::npos);
  CHECK(range_error("softmax", "rows=1...5").find("'.5' is no number") != std::string::npos);
  CHECK(range_error("gemm", "layout=1|2").find("STATIC") != std::string::npos);
}

TEST_CASE("a range has as many shapes as its parts have extents") {
  CHECK(shapes_in(parse_range(builtin("softmax"), "rows=1..8|64,cols=16").value()) == 9.0);
  CHECK(shapes_in(parse_range(builtin("gemm"), "m=1..16384,n=4096|14336,k=4096|14336").value()) == 4.0 * 16384.0);
  CHECK(shapes_in(parse_range(builtin("softmax"), "rows=3,cols=16").value()) == 1.0);
}

TEST_CASE("a drawn shape lies in its range, and half of the extents are ragged") {
  const ShapeRange range = parse_range(builtin("softmax"), "rows=1..65536,cols=16..131072").value();
  int ragged = 0, small = 0, all = 0;
  std::set<std::string> different;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const Shape shape = draw(range, i);
    CHECK(distance(range, shape) == 0.0);
    different.insert(text(shape));
    for (const auto& [name, extent] : shape) {
      if (extent >= 64) {
        ++all;
        ragged += extent % 8 != 0 ? 1 : 0;
      }
    }
    small += shape[0].second < 256 ? 1 : 0;  // half of the range in log space
  }
  CHECK(different.size() > 380);
  CHECK(std::abs(2 * ragged - all) < all / 5);
  CHECK(small > 160);
  CHECK(small < 240);
}

TEST_CASE("values that stand alone are drawn as they are") {
  const ShapeRange range = parse_range(builtin("gemm"), "m=7,n=4096|14336,k=512").value();
  std::set<std::int64_t> values;
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Shape shape = draw(range, i);
    CHECK(shape[0].second == 7);
    values.insert(shape[1].second);
  }
  CHECK(values == std::set<std::int64_t>{4096, 14336});
}

TEST_CASE("the distance from a range counts factors, and other code is infinitely far") {
  const ShapeRange range = parse_range(builtin("gemm"), "m=16..64,n=4096|14336,k=512").value();
  const auto at = [&](std::int64_t m, std::int64_t n, std::int64_t layout) {
    return distance(range, {{"m", m}, {"n", n}, {"k", 512}, {"layout", layout}, {"terms", 1}, {"activation", 1}});
  };
  CHECK(at(16, 4096, 1) == 0.0);
  CHECK(at(20, 8192, 1) == 52.0 / 64.0);  // in steps, up from .807  // between alternatives: from the nearest
  CHECK(at(256, 4096, 1) == doctest::Approx(2.0));
  CHECK(at(4, 4096, 1) == doctest::Approx(2.0));
  CHECK(std::isinf(at(16, 4096, 2)));
  CHECK(std::isinf(distance(range, {{"m", 16}})));
}

TEST_CASE("a shape is as different as the values that are compiled in, and an extent of 0 differs from all others") {
  const ShapeRange range = parse_range(builtin("attention"), "batch=1..8,queries=16..64,keys=16..64,head=128,causal=1").value();
  const auto shape = [](std::int64_t head, std::int64_t causal, std::int64_t window = 0, std::int64_t keys = 64) {
    return Shape{{"batch", 8},      {"heads", 32},      {"group", 1},       {"queries", 64}, {"keys", keys}, {"head", head},
                 {"value_head", 0}, {"causal", causal}, {"window", window}, {"layout", 1},   {"packed", 0},  {"varied", 0}};
  };
  CHECK(difference(range, shape(128, 1)) == 0.0);
  CHECK(difference(range, shape(64, 1)) == doctest::Approx(0.5 + 1.0 / 6));
  CHECK(difference(range, shape(2048, 1)) == 1.0);
  CHECK(difference(range, shape(128, 0)) == 1.0);
  CHECK(difference(range, shape(256, 0)) == doctest::Approx(1.5 + 1.0 / 6));
  CHECK(std::isinf(difference(range, {{"batch", 8}})));
  CHECK(extents_outside(range, shape(64, 0)) == 0.0);
  CHECK(extents_outside(range, shape(64, 0, 0, 256)) == doctest::Approx(2.0));
  CHECK(difference(range, shape(128, 1, 1)) == 1.0);  // a window of 0 has a meaning of its own
  CHECK(difference(range, shape(64, 1, 4096)) == doctest::Approx(1.5 + 1.0 / 6));
  CHECK(extents_outside(range, shape(128, 1, 4096)) == 0.0);
  CHECK(std::isinf(distance(range, shape(128, 1, 8))));
  const ShapeRange some = parse_range(builtin("attention"), "heads=32,queries=1..64,keys=1..64,batch=8,window=0|64..256").value();
  CHECK(extents_outside(some, shape(128, 1, 0)) == 0.0);
  CHECK(difference(some, shape(128, 1, 0)) == 0.0);
  CHECK(difference(some, shape(128, 1, 16)) == 0.0);
  const ShapeRange windows = parse_range(builtin("attention"), "window=64..256").value();
  CHECK(difference(windows, shape(128, 1, 0)) == 1.0);
  CHECK(difference(windows, shape(128, 1, 16)) == 0.0);
  CHECK(extents_outside(some, shape(128, 1, 16)) == doctest::Approx(2.0));
  CHECK(extents_outside(some, shape(128, 1, 512)) == doctest::Approx(1.0));
  CHECK(std::isinf(extents_outside(range, {{"batch", 8}})));
  CHECK(distance(range, shape(128, 1)) == 0.0);
  CHECK(std::isinf(distance(range, shape(64, 1))));
}

}  // namespace hone
