#pragma once
// A portfolio: a handful of configurations of an operation's kernels that cover a range of shapes, and what they took where they were
// measured. PortfolioRule chooses among them for any shape.

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/launch_size.hpp"
#include "engine/store/portfolio_trees.hpp"
#include "engine/store/shape_range.hpp"
#include "hone/dtypes.hpp"

namespace hone {

struct PortfolioMember {
  std::string kernel, configuration;  ///< "gemm", "bm=64,bn=256,..."

  auto operator<=>(const PortfolioMember&) const = default;
};

/// What a member took at a point.
struct PortfolioCell {
  std::size_t member = 0;
  double slowdown = 1.0;                  ///< in times the best
  std::optional<LaunchSize> launch = {};  ///< there; none: not known
};

/// A shape at which members were measured.
struct PortfolioPoint {
  Shape shape;
  double best_us = 0.0;              ///< of all that was measured there, members or not
  double floor_us = 0.0;             ///< what its bytes and operations take at the best rates of all points: above 0
  std::vector<PortfolioCell> cells;  ///< in the order of the members, of which most were not measured there, or are not legal
  bool elsewhere = false;            ///< measured on another product of the architecture; not in a text: see merged()

  /// Null where the member was not measured.
  [[nodiscard]] const PortfolioCell* find(std::size_t member) const {
    const auto found = std::ranges::find(cells, member, &PortfolioCell::member);
    return found == cells.end() ? nullptr : &*found;
  }
};

/// How quickly what is known at one shape says less of another.
struct RuleSettings {
  static constexpr double kUsualReach = 4.0;
  std::vector<double> reach;  ///< of each axis that varies: factors of the extent, as a logarithm to the base 2, over which times change
  double alignment = 0.25;    ///< how far apart an odd extent and a multiple of 32 are, in reaches
  double noise = 0.03;        ///< share of the variance that shape and member do not explain
  double unlike = 0.3;        ///< how far apart members are that differ in one word and a factor of two (member_values.hpp), as the square
                              ///< of a distance
  double blocks = 0.14;       ///< how far apart launches are of which one has twice as many blocks, in reaches,
  double tail = 0.7;          ///< and those of which one ends together and the other has next to nothing to do in its last wave
  double spread = 0.15;       ///< standard deviation of a process far from what it knows,
  double deviation = 0.15;    ///< and of those that are chosen: what is fast somewhere near varies less
  friend bool operator==(const RuleSettings&, const RuleSettings&) = default;
};

struct Portfolio {
  static constexpr std::size_t kMostMembers = 256, kMostPoints = 8192;  ///< of one that is made or read
  static constexpr std::size_t kLeastJudged = 4;                        ///< points: fewer cannot be predicted from each other
  static constexpr std::size_t kUsualMembers = 128;                     ///< of one that is made, unless more are asked for
  std::string operation, dtypes, product;
  std::string architecture = {};               ///< of the product, "sm_90a"; empty: not known, and so it serves that product alone
  std::map<std::string, std::string> sources;  ///< the source hash of each kernel of a member
  ShapeRange range;
  std::vector<PortfolioMember> members;
  std::vector<PortfolioPoint> points;
  RuleSettings rule;
  std::optional<PortfolioTrees> trees = {};  ///< none: too little is known, or it is of an earlier version
  double expected = 1.0, worst = 1.0;        ///< slowdown at a shape that has no part in it, without trees: geometric mean, and largest
  double seconds = 0.0;                      ///< spent on it,
  std::int64_t trials = 0;                   ///< and measurements made for it
  bool is_checked = false;                   ///< each member has passed the full gate at some shape: earlier versions did not ask for it

  /// Whether `expected` and `worst` say anything.
  [[nodiscard]] bool is_judged() const { return points.size() >= kLeastJudged; }
  /// Whether it has so many measurements of its own product that trees tell as well as the process which members may be chosen, and other
  /// products' have nothing to add (docs/results/untuned-h200-2026-11-30-second.md).
  [[nodiscard]] bool knows_much() const {
    constexpr std::size_t kMany = 8000;
    std::size_t measured = 0;
    for (const PortfolioPoint& point : points) {
      measured += point.elsewhere ? 0 : point.cells.size();
    }
    return measured >= kMany;
  }
};

/// What the text of a portfolio keeps of a slowdown: the logarithm, in steps that are fine near the best (4e-4) and coarse far from it; at
/// most kMostSlowdown. The rule knows no more, so a portfolio and its text choose alike.
inline constexpr double kMostSlowdown = 1.5;
std::size_t slowdown_level(double slowdown);
/// What is made of a measurement that is far from the best, in steps of every second to every eighth level (a tenth at a slowdown of half
/// as much again): one or the other tells a rule little, and a text of fewer letters is shorter
/// (docs/results/untuned-h200-2026-11-30-sixth.md). What is coarse stays as it is.
double coarse_slowdown(double slowdown);
double level_logarithm(std::size_t level);
/// And of a launch: the logarithm of its blocks to the base 2 in steps of 1/2, at most 30.5, and its tail in steps of 1/8.
std::size_t blocks_level(double blocks);
double blocks_logarithm(std::size_t level);
std::size_t tail_level(double tail);
double level_tail(std::size_t level);
/// What it keeps of a time: three digits.
double kept_us(double us);

/// JSON that people can review: one line for a member, with its slowdown at each point, and for what the points have of one kind.
std::string text(const Portfolio& portfolio);
/// Errors, kStore: what it lacks or where it contradicts itself.
Result<Portfolio> parse_portfolio(std::string_view text);
/// What it is for, and no members or points, of a text's beginning up to its members. Errors: as of a whole text.
Result<Portfolio> parse_portfolio_head(std::string_view beginning);

/// How much problems differ from those that a portfolio is for: as the range's difference() says, and in dtypes of the same sizes by 1/4.
/// 0: not at all; infinite: in their fields, or in the sizes of dtypes, too.
double difference(const Portfolio& portfolio, const DTypes& dtypes, const Shape& shape);
/// The part of it that dtypes are, of those that a portfolio is for.
double dtypes_difference(std::string_view portfolio_dtypes, const DTypes& dtypes);
/// What they are where those differ, and the ranges that a shape is not near: "bf16, head=128", "rows=1..4096".
std::string difference_text(const Portfolio& portfolio, const DTypes& dtypes, const Shape& shape);

}  // namespace hone
