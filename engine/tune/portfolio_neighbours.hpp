#pragma once
// What is one parameter from the fastest at measured shapes, and from what is expected to be at others. A budget has sessions for a few
// dozen shapes; what they do not find elsewhere, as the tile that fills the last round of blocks there, is often next to what is known, and
// trees tell where.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/store/portfolio_trees.hpp"
#include "engine/tune/portfolio_proposals.hpp"

namespace hone {

class PortfolioNeighbours {
 public:
  /// All are kept.
  PortfolioNeighbours(const PortfolioTable& table, const PortfolioShapes& shapes, const PortfolioProposals& proposals)
      : table_(table), shapes_(shapes), proposals_(proposals) {}

  /// At a measured shape where a survey costs little: the fastest that is known there, and at most `most` - 1 likely configurations that
  /// are one parameter from it or from one of the next, and were not timed there. Where `so_far` has trees, these are the configurations of
  /// which they expect most over all such shapes and over others that are drawn and that nobody measured, half of them as shares of what
  /// launches take there and half as time, among those that were timed at fewer than three shapes, each at the three where they expect most
  /// of it; and one in four, but at least one, is drawn. At a shape that nobody measured they are beside the members that trees expect to
  /// be the fastest there. Where there are no trees, or nothing is left that they expect anything of, all are drawn, at measured shapes
  /// that are, larger ones more often. What was proposed twice at a shape and not timed is not there again. Nothing if none of a few such
  /// shapes has any. `session_seconds`: as in PortfolioShapes.
  [[nodiscard]] std::optional<PlannedSurvey> next(const Portfolio& so_far, std::size_t most, double session_seconds);
  /// It does not compile: it is not proposed again.
  void give_up(const PortfolioMember& member) { given_up_.insert(member); }

 private:
  struct Neighbour {
    double behind = 0.0;  ///< the fastest, as a logarithm, by what its base took and what trees expect of both; 0 without trees
    PortfolioMember member;
  };
  using Bases = std::vector<std::pair<double, PortfolioMember>>;  ///< the fastest, and how far behind each is, as a logarithm
  struct Place {
    Shape shape;
    std::vector<PortfolioMember> members;
  };
  /// A shape where neighbours may be timed.
  struct Spot {
    Shape shape;
    Problem problem;
    double us = 0.0;                           ///< that a launch takes there, at least
    const PortfolioTable::Row* row = nullptr;  ///< null where nobody measured
    Bases bases;
  };
  [[nodiscard]] const PortfolioTable::Row& drawn_row(std::uint64_t draw) const;
  /// Nothing where a survey costs much, or is being made.
  [[nodiscard]] std::optional<Spot> spot_at(const PortfolioTable::Row& row, double session_seconds) const;
  /// Of one that nobody measured. `members`: those of `so_far`.
  [[nodiscard]] std::optional<Spot> spot_at(const Shape& shape, const Portfolio& so_far, const TreeMembers& members) const;
  [[nodiscard]] bool may_be_tried(const PortfolioMember& member, const Spot& spot, const std::string& shape) const;
  /// In an order that follows from `draw`. Several threads look at once.
  [[nodiscard]] std::vector<Neighbour> neighbours_at(const Spot& spot, std::uint64_t draw, const Portfolio& so_far) const;
  /// Measured ones, and others.
  [[nodiscard]] std::vector<std::optional<Spot>> spots(const Portfolio& so_far, double session_seconds) const;
  struct Gain {
    double share = 0.0;  ///< a logarithm
    double us = 0.0;
  };
  struct Expected {
    Gain gain;                                         ///< over all shapes
    std::vector<std::pair<Gain, std::size_t>> places;  ///< spots
  };
  using AllExpected = std::map<PortfolioMember, Expected>;
  struct Taken {
    PortfolioMember member;
    std::vector<std::size_t> spots;  ///< where most is expected of it, the best one first
  };
  /// What trees expect something of.
  [[nodiscard]] AllExpected expected(const std::vector<std::optional<Spot>>& spots, const Portfolio& so_far) const;
  /// The members of which most is expected, by one gain and by the other in turn; no two differ in one parameter.
  static std::vector<Taken> most_expected(const AllExpected& all);
  void plan_expected(const Portfolio& so_far, double session_seconds);
  void plan_drawn(double session_seconds);
  [[nodiscard]] std::optional<PlannedSurvey> plan_of(const Place& place, const Portfolio& so_far, std::size_t most, double session_seconds);

  const PortfolioTable& table_;
  const PortfolioShapes& shapes_;
  const PortfolioProposals& proposals_;
  std::deque<Place> places_;  ///< planned
  std::uint64_t draws_ = 0, drawn_aside_ = 0;
  std::size_t asked_again_at_ = 0;  ///< so many shapes: with fewer trees expected nothing
  std::set<PortfolioMember> given_up_;
  std::map<std::pair<PortfolioMember, std::string>, int> proposed_;  ///< how often, by member and shape
};

}  // namespace hone
