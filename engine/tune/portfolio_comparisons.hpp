#pragma once
// Members of a portfolio beside what a search could not try where they won, at measured shapes that allow it. A configuration is chosen as
// a member for what it gains over many shapes: one that a survey tries at a shape or two never is, however much better it would be.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/tune/portfolio_proposals.hpp"

namespace hone {

class PortfolioComparisons {
 public:
  /// All are kept.
  PortfolioComparisons(const PortfolioTable& table, const PortfolioShapes& shapes, const PortfolioProposals& proposals)
      : table_(table), shapes_(shapes), proposals_(proposals) {}

  /// For each member: where it is nearly the fastest and a survey costs little, what is one parameter from it (newly_legal). In place of
  /// what was planned before. `session_seconds`: as in PortfolioShapes.
  void plan(const std::vector<PortfolioMember>& members, double session_seconds);

  struct Next {
    Shape shape;
    PortfolioProposals::First first;  ///< by kernel: each member, followed by what it is compared with
  };
  /// The planned shape at which most can be compared; at most `most` configurations, those first that were compared least. What was timed
  /// at enough shapes, or is behind at the first few, is no longer; what was proposed twice at a shape and not timed is not there again.
  /// Nothing if nothing is left.
  [[nodiscard]] std::optional<Next> next(std::size_t most);

 private:
  struct Pair {
    PortfolioMember member, other;
    Configuration configuration, other_configuration;
    double slowdown = 0.0;     ///< of the member
    std::size_t compared = 0;  ///< at so many shapes
  };
  struct Place {
    Shape shape;
    std::vector<Pair> pairs;
  };

  [[nodiscard]] std::vector<Pair> pairs_at(const PortfolioMember& member, const Shape& won_at, const Shape& here, double slowdown) const;
  void leave_out_what_is_known();

  const PortfolioTable& table_;
  const PortfolioShapes& shapes_;
  const PortfolioProposals& proposals_;
  std::vector<Place> places_;
  std::map<std::pair<PortfolioMember, std::string>, int> proposed_;  ///< how often, by what is compared and the shape
};

}  // namespace hone
