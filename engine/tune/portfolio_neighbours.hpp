#pragma once
// What is one parameter from the fastest at measured shapes. A budget has sessions for a few dozen shapes; what they do not find elsewhere,
// as the tile that fills the last round of blocks there, is often next to what is known, and trees tell where.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/tune/portfolio_proposals.hpp"

namespace hone {

class PortfolioNeighbours {
 public:
  /// All are kept.
  PortfolioNeighbours(const PortfolioTable& table, const PortfolioShapes& shapes, const PortfolioProposals& proposals)
      : table_(table), shapes_(shapes), proposals_(proposals) {}

  /// At a measured shape where a survey costs little: the fastest that is known there, and at most `most` - 1 likely configurations that
  /// are one parameter from it or from one of the next, and were not timed there. Where `so_far` has trees, of a few shapes that are drawn
  /// the one where they expect most of such a configuration, and those of which they expect most, a quarter drawn; else the first shape
  /// that has any, all drawn. Larger shapes are drawn more. What was proposed twice at a shape and not timed is not there again. Nothing if
  /// none of those shapes has any. `session_seconds`: as in PortfolioShapes.
  [[nodiscard]] std::optional<PlannedSurvey> next(const Portfolio& so_far, std::size_t most, double session_seconds);

 private:
  struct Neighbour {
    double behind = 0.0;  ///< the fastest, as a logarithm, by what its base took and what trees expect of both; 0 without trees
    PortfolioMember member;
  };
  /// Of a shape.
  struct Look {
    std::optional<Problem> problem = {};
    std::vector<std::pair<double, PortfolioMember>> bases = {};  ///< the fastest, and how far behind each is, as a logarithm
    std::vector<Neighbour> neighbours = {};                      ///< in an order that is drawn
  };
  [[nodiscard]] const PortfolioTable::Row& drawn_row(std::uint64_t draw) const;
  /// Several threads look at once.
  [[nodiscard]] Look look_at(const PortfolioTable::Row& row, std::uint64_t draw, const Portfolio& so_far, double session_seconds) const;
  [[nodiscard]] std::vector<std::pair<double, PortfolioMember>> fastest(const PortfolioTable::Row& row, const Problem& problem) const;
  [[nodiscard]] PlannedSurvey plan_of(const PortfolioTable::Row& row, const Look& look, std::size_t most);

  const PortfolioTable& table_;
  const PortfolioShapes& shapes_;
  const PortfolioProposals& proposals_;
  std::uint64_t draws_ = 0;
  std::map<std::pair<PortfolioMember, std::string>, int> proposed_;  ///< how often, by member and shape
};

}  // namespace hone
