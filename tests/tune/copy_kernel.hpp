#pragma once
// A kernel of which some shapes forbid what others allow.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "engine/kernel/kernel_spec.hpp"
#include "engine/store/portfolio_trees.hpp"
#include "engine/tune/portfolio_proposals.hpp"

namespace hone::test {

/// c.wide divides p.n; c.block is free.
inline KernelSpec copy_kernel() {
  KernelSpec spec;
  spec.name = "copy";
  spec.dtypes = {DType::kF32};
  spec.parameters = {{.name = "wide", .values = {1, 2, 4}, .default_value = 1}, {.name = "block", .values = {32, 64}, .default_value = 32}};
  spec.problem = {{.name = "n", .default_value = 64, .comment = ""}};
  const Expression rest = Expression::make(Operator::kRemainder, {Expression::variable("p.n"), Expression::variable("c.wide")});
  spec.constraints = {{Expression::make(Operator::kEqual, {rest, Expression::constant(0)}), "", 1}};
  spec.cost.bytes = spec.cost.flops = Expression::variable("p.n");
  const Expression one = Expression::constant(1);
  Pass& pass = spec.passes.emplace_back();
  pass.function = "copy";
  pass.grid = {Expression::variable("p.n"), one, one};
  pass.block = {Expression::variable("c.block"), one, one};
  pass.cluster = {one, one, one};
  pass.shared_bytes = Expression::constant(0);
  pass.cooperative = Expression::constant(false);
  return spec;
}

/// What trees expect of wide=4 or of block=64, beside the others: so far ahead, a logarithm, where n is above a number, or not above it.
struct CopyAhead {
  enum class Of { kWide, kBlock };
  Of of = Of::kWide;
  double by = 0.0;
  double n = 0.0;
  bool is_above = true;
};
inline PortfolioTrees copy_trees(const std::vector<CopyAhead>& all) {
  enum Column : std::size_t { kN, kKernel, kWide, kBlock };
  PortfolioTrees made{{"n", "copy:", "copy.wide", "copy.block"}, {{{}, {}, {3.0F}, {48.0F}}, 0.0, {}}};
  std::vector<float>& borders = made.trees.borders[kN];
  for (const CopyAhead& one : all) {
    borders.push_back(static_cast<float>(std::log2(one.n + 0.5)));  // trees are asked of the logarithm
  }
  std::ranges::sort(borders);
  for (const CopyAhead& one : all) {
    const auto border = std::ranges::find(borders, static_cast<float>(std::log2(one.n + 0.5)));
    BoostedTrees::Tree tree{.questions = {}, .step = one.by};
    tree.questions.fill({kN, static_cast<std::size_t>(border - borders.begin())});
    tree.questions.front() = {one.of == CopyAhead::Of::kWide ? kWide : kBlock, 0};
    tree.leaves.at(one.is_above ? tree.leaves.size() - 1 : 1) = -1;  // all questions, or the first alone
    made.trees.trees.push_back(tree);
  }
  return made;
}

/// A range of it, of which wide=1 was measured: at 63, where the others are illegal, and at multiples of 64 up to 768. Nothing was of
/// another kernel of the operation, "other", that has the same parameters.
class CopyRange {
 public:
  CopyRange() {
    request.operation = &operation_;
    request.range = parse_range(spec_, "n=1..4096").value();
    request.dtypes = DType::kF32;
    measure(63, 1, 10.0);
    for (std::int64_t n = 64; n <= 64 * 12; n += 64) {
      measure(n, 1, 10.0);
    }
  }
  void measure(std::int64_t n, std::int64_t wide, double us) { measure(spec_, n, wide, us); }
  void measure_other(std::int64_t n, std::int64_t wide, double us) { measure(other_, n, wide, us); }
  /// In a final round.
  void measure_final(std::int64_t n, std::int64_t wide, double us) { measure(spec_, n, wide, us, true); }

 private:
  static KernelSpec named(KernelSpec spec, std::string name) {
    spec.name = std::move(name);
    return spec;
  }
  void measure(const KernelSpec& spec, std::int64_t n, std::int64_t wide, double us, bool final_round = false) {
    Trial trial;
    trial.configuration = {{Value(wide), Value(32)}};
    trial.outcome = us > 0.0 ? Outcome::kOk : Outcome::kWrongResult;
    trial.measurement.median_us = us;
    trial.final_round = final_round;
    table.add({{"n", n}}, {}, spec, {DType::kF32, {{"n", n}}}, {}, {trial});
  }

  KernelSpec spec_ = copy_kernel(), other_ = named(copy_kernel(), "other");
  Operation operation_{spec_.name, {&spec_, &other_}, &spec_};

 public:
  PortfolioRequest request;
  PortfolioTable table;
  PortfolioShapes shapes{request};
  PortfolioProposals proposals{request, table, shapes};
};

}  // namespace hone::test
