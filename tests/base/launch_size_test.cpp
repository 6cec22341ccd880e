// How much a kernel launches, and how evenly that fills a device.
#include "engine/device/launch_size.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace hone {
namespace {

const Expression kRows = Expression::variable("p.rows"), kOne = Expression::constant(1),
                 kMultiprocessors = Expression::variable("d.multiprocessors");

KernelSpec launching(std::vector<std::array<Expression, 3>> grids) {
  KernelSpec spec;
  for (std::array<Expression, 3>& grid : grids) {
    spec.passes.emplace_back().grid = std::move(grid);
  }
  return spec;
}

/// On a device of ten multiprocessors.
std::optional<LaunchSize> size_at(const KernelSpec& spec, std::int64_t rows) {
  return LaunchSizes(spec, {{"p.rows", Value(rows)}, {"d.multiprocessors", Value(10)}}).at({});
}

}  // namespace

TEST_CASE("the main pass is the one with most shared memory, where it runs, however many blocks others have") {
  KernelSpec spec = launching({{Expression::constant(1000), kOne, kOne}, {kRows, kOne, kOne}, {kRows, kRows, kOne}});
  CHECK(size_at(spec, 15)->blocks == 1000.0);
  spec.passes[1].shared_bytes = Expression::constant(2048);
  spec.passes[2].shared_bytes = Expression::constant(1024);
  const std::optional<LaunchSize> main = size_at(spec, 15);
  CHECK(main->blocks == 15.0);
  CHECK(main->pieces == 15.0);
  CHECK(main->tail == doctest::Approx(std::log2(4.0 / 3.0)));
  spec.passes[1].enabled = Expression::constant(false);
  CHECK(size_at(spec, 15)->blocks == 225.0);
}

TEST_CASE("a launch without shared memory has the blocks of its largest pass") {
  KernelSpec spec = launching({{kOne, kOne, kOne}, {kRows, Expression::constant(1 << 20), kOne}, {kRows, kRows, kRows}});
  spec.passes.back().enabled = Expression::constant(false);
  CHECK(size_at(spec, 3)->blocks == 3 << 20);
  CHECK(size_at(spec, 0)->blocks == 1.0);  // of the small pass
  spec.passes.erase(spec.passes.begin());
  CHECK_FALSE(size_at(spec, 0).has_value());
  CHECK_FALSE(LaunchSizes(spec, {}).at({}).has_value());
}

TEST_CASE("the tail is what whole waves take over even ones") {
  const KernelSpec spec = launching({{kRows, kOne, kOne}});
  CHECK(size_at(spec, 5)->tail == 0.0);  // a part of one wave
  CHECK(size_at(spec, 10)->tail == 0.0);
  CHECK(size_at(spec, 11)->tail == doctest::Approx(std::log2(20.0 / 11.0)));
  CHECK(size_at(spec, 15)->tail == doctest::Approx(std::log2(4.0 / 3.0)));
  CHECK(size_at(spec, 20)->tail == 0.0);
  CHECK(size_at(spec, 10001)->tail < 0.01);
  CHECK(LaunchSizes(spec, {{"p.rows", Value(11)}}).at({}) == LaunchSize{.blocks = 11.0});
}

TEST_CASE("blocks that take one piece of work after another have one each in a wave") {
  // Two blocks on a multiprocessor, or as many as there are rows; and before them a copy.
  const Expression resident = Expression::make(Operator::kMultiply, {kMultiprocessors, Expression::constant(2)});
  const Expression fewer = Expression::make(Operator::kLess, {kRows, resident});
  const Expression blocks = Expression::make(Operator::kSelect, {fewer, kRows, resident});
  const KernelSpec spec = launching({{Expression::constant(1000), kOne, kOne}, {blocks, kOne, kOne}});
  CHECK(size_at(spec, 25) == LaunchSize{.blocks = 20.0, .tail = std::log2(40.0 / 25.0), .pieces = 25.0});
  CHECK(size_at(spec, 40)->tail == 0.0);
  CHECK(size_at(spec, 41)->tail == doctest::Approx(std::log2(60.0 / 41.0)));
  KernelSpec with_sum = spec;  // of which blocks share the work, too
  with_sum.passes.push_back(with_sum.passes.back());
  with_sum.passes.back().grid[1] = Expression::constant(3);
  with_sum.passes[1].shared_bytes = Expression::constant(64);
  CHECK(size_at(with_sum, 25) == size_at(spec, 25));
}

TEST_CASE("what would fill any device evenly has no tail") {
  const KernelSpec spec = launching({{kMultiprocessors, kOne, kOne}});
  CHECK(size_at(spec, 1)->blocks == 10.0);
  CHECK(size_at(spec, 1)->tail < 0.001);
}

TEST_CASE("the padding is what pieces of work cover beyond the problem, along each of its fields that has more of them") {
  const auto tiles = [](const Expression& extent, std::int64_t tile) {
    const Expression up = Expression::make(Operator::kAdd, {extent, Expression::constant(tile - 1)});
    return Expression::make(Operator::kDivide, {up, Expression::constant(tile)});
  };
  KernelSpec spec = launching({{tiles(kRows, 64), tiles(Expression::variable("p.cols"), 128), kOne}});
  for (const char* const name : {"rows", "cols", "depth"}) {
    spec.problem.emplace_back().name = name;
  }
  const auto padding = [&](std::int64_t rows, std::int64_t cols) {
    const Bindings bound{{"p.rows", Value(rows)}, {"p.cols", Value(cols)}, {"p.depth", Value(5)}, {"d.multiprocessors", Value(10)}};
    return LaunchSizes(spec, bound).at({})->padding;
  };
  CHECK(padding(64, 256) == 0.0);
  CHECK(padding(66, 256) == doctest::Approx(std::log2(128.0 / 66.0)).epsilon(0.01));
  CHECK(padding(66, 100) == doctest::Approx(std::log2(128.0 / 66.0) + std::log2(128.0 / 100.0)).epsilon(0.01));
  CHECK(padding(1, 128) == doctest::Approx(6.0));
}

TEST_CASE("pieces of work are counted along each field of the problem, whatever the device's size, in the order of the names") {
  const auto tiles = [](const char* name, std::int64_t tile) {
    const Expression up = Expression::make(Operator::kAdd, {Expression::variable(name), Expression::constant(tile - 1)});
    return Expression::make(Operator::kDivide, {up, Expression::constant(tile)});
  };
  const auto least = [](const Expression& a, const Expression& b) {
    return Expression::make(Operator::kSelect, {Expression::make(Operator::kLess, {a, b}), a, b});
  };
  const Expression all = Expression::make(Operator::kMultiply, {tiles("p.rows", 64), tiles("p.cols", 128)});
  KernelSpec spec = launching({{least(all, kMultiprocessors), kOne, kOne}});
  for (const char* const name : {"rows", "depth", "cols"}) {
    spec.problem.emplace_back().name = name;
  }
  const Bindings bound{{"p.rows", Value(1000)}, {"p.cols", Value(300)}, {"p.depth", Value(5)}, {"d.multiprocessors", Value(10)}};
  const LaunchSize size = LaunchSizes(spec, bound).at({}).value();
  CHECK(size.blocks == 10.0);
  CHECK(size.pieces == 48.0);
  CHECK(size.along == std::vector<double>{3.0, 1.0, 16.0});
}

TEST_CASE("pieces that a device or a constant limits are no padding") {
  const auto least = [](const Expression& a, const Expression& b) {
    return Expression::make(Operator::kSelect, {Expression::make(Operator::kLess, {a, b}), a, b});
  };
  KernelSpec by_device = launching({{least(kRows, kMultiprocessors), kOne, kOne}});
  KernelSpec by_constant = launching({{least(kRows, Expression::constant(256)), kOne, kOne}});
  for (KernelSpec* const spec : {&by_device, &by_constant}) {
    spec->problem.emplace_back().name = "rows";
    for (const std::int64_t rows : {1, 100, 5000, 1 << 20}) {
      CHECK(size_at(*spec, rows)->padding == 0.0);
    }
  }
}

}  // namespace hone
