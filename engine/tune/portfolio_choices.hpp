#pragma once
// What a rule would choose at measured shapes: where that was not timed, it is. Searches find what is fast, and say little of a member that
// a rule takes for fast and that is not: such a choice is served at every new shape near it. Without trees it is asked as if nothing had
// been measured there; trees know what was when they were fitted, and are asked of what was not.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/tune/portfolio_proposals.hpp"

namespace hone {

class PortfolioChoices {
 public:
  /// All are kept.
  PortfolioChoices(const PortfolioTable& table, const PortfolioShapes& shapes, const PortfolioProposals& proposals)
      : table_(table), shapes_(shapes), proposals_(proposals) {}

  /// The next shape whose choice was not timed there, and where a survey costs little: the members that the rule would choose before the
  /// first that was, at most four and `most` in all, and the fastest that is known, beside which they are timed. It passes over all shapes
  /// in the order in which they were measured, and again as long as a pass finds many. What was proposed twice at a shape and not timed is
  /// not there again. Nothing if none of the next few shapes has any, or if nothing is left. `rule`: of `so_far`; a shape that is no point
  /// of it waits for one that knows it, and one where something is measured for the next pass. `session_seconds`: as in PortfolioShapes.
  [[nodiscard]] std::optional<PlannedSurvey> next(const Portfolio& so_far, const PortfolioRule& rule, std::size_t most,
                                                  double session_seconds);
  /// Whether nothing is left, as far as `so_far` knows the shapes.
  [[nodiscard]] bool is_done() const { return is_done_; }

 private:
  struct Look {
    std::optional<std::size_t> point = {};
    std::optional<Problem> problem = {};  ///< where a survey costs little
    std::vector<Opinion> ranked = {};
  };
  /// Of a row, by its place in the table: where it is a point of `so_far`.
  [[nodiscard]] std::optional<std::size_t> point_of(std::size_t place, const Portfolio& so_far) const;
  /// Several threads look at once.
  [[nodiscard]] Look look_at(std::size_t place, const Portfolio& so_far, const PortfolioRule& rule, double session_seconds) const;
  [[nodiscard]] PlannedSurvey plan_of(const PortfolioTable::Row& row, const Look& look, const Portfolio& so_far, std::size_t most);
  [[nodiscard]] std::optional<PortfolioMember> fastest(const PortfolioTable::Row& row, const Problem& problem) const;

  const PortfolioTable& table_;
  const PortfolioShapes& shapes_;
  const PortfolioProposals& proposals_;
  std::size_t passed_ = 0, found_ = 0;  ///< shapes of this pass, and those of them that had something to time
  bool is_done_ = false;
  std::map<std::pair<PortfolioMember, std::string>, int> proposed_;  ///< how often, by member and shape
};

}  // namespace hone
