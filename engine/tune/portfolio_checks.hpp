#pragma once
// Which members of a portfolio have still to pass the full gate, and where. A survey holds what it times to one run, and a session only
// what could win it: a member that is served at other shapes has passed all of it at some shape.

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "engine/tune/portfolio_proposals.hpp"

namespace hone {

/// Members that are to be checked together, and the survey that does it.
struct PlannedCheck {
  PlannedSurvey survey;
  std::vector<PortfolioMember> members;
};

class PortfolioChecks {
 public:
  /// All are kept.
  PortfolioChecks(const PortfolioTable& table, const PortfolioShapes& shapes, const PortfolioProposals& proposals)
      : table_(table), shapes_(shapes), proposals_(proposals) {}

  /// Those of the members that are not checked, at a shape where many of them were right and calls are short; at most `most`. A member is
  /// proposed twice at the most, and not while it is being checked: until end(). Nothing if none is left.
  [[nodiscard]] std::optional<PlannedCheck> next(const std::vector<PortfolioMember>& members, std::size_t most);
  void end(const PlannedCheck& check);

 private:
  const PortfolioTable& table_;
  const PortfolioShapes& shapes_;
  const PortfolioProposals& proposals_;
  std::map<PortfolioMember, int> proposed_;  ///< how often
  std::set<PortfolioMember> under_way_;
};

}  // namespace hone
