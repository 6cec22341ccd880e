#pragma once
// Configurations that nobody has tried and that trees, which know a configuration by its parameters, expect to be ahead of all members at
// many shapes: a session finds what is fast at one shape, and hardly ever what is worth being a member.

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/store/portfolio_trees.hpp"
#include "engine/tune/portfolio_proposals.hpp"

namespace hone {

struct PortfolioDesign {
  PortfolioMember member;
  std::vector<std::size_t> rows;  ///< of the table, at which it is expected to be ahead: where by most comes first
};

class PortfolioDesigns {
 public:
  /// All are kept.
  PortfolioDesigns(const PortfolioTable& table, const PortfolioShapes& shapes, const PortfolioProposals& proposals)
      : table_(table), shapes_(shapes), proposals_(proposals) {}

  /// At most so many, each in turn the one that is expected to bring most at the next few hundred measured shapes, beside the members and
  /// those before it. At a part of these shapes candidates are sought, from those that are expected to be best by one parameter at a time.
  /// None is designed twice. Takes seconds. `session_seconds`: as in PortfolioShapes.
  [[nodiscard]] std::vector<PortfolioDesign> next(const std::vector<PortfolioMember>& members, const PortfolioTrees& trees,
                                                  double session_seconds, std::size_t most);
  /// The last times there was nothing to design.
  [[nodiscard]] bool is_done() const { return empty_ >= kPatience; }

 private:
  static constexpr int kPatience = 3;
  /// What is to be expected at a shape, logarithms as trees say them.
  struct Place {
    std::size_t row = 0;
    Problem problem;
    double best = 0.0;  ///< of the members that are legal there
  };
  struct Expected {
    PortfolioMember member;
    double behind = 0.0;
  };
  /// Members and what trees see of them, which no shape changes.
  struct Asked {
    std::vector<PortfolioMember> members;
    TreeMembers trees;
  };
  [[nodiscard]] static Asked asked(std::vector<PortfolioMember> members, const PortfolioTrees& trees);
  /// Those of which trees know something, the best first.
  [[nodiscard]] std::vector<Expected> expect(const Asked& asked, const Problem& problem, const Shape& shape) const;
  [[nodiscard]] std::vector<Place> next_places(const Asked& members, double session_seconds);
  /// Adds what is expected to be ahead at the place, and by how much.
  void seek(const Place& place, const Asked& members, const PortfolioTrees& trees, std::map<PortfolioMember, double>& ahead) const;
  [[nodiscard]] bool may_be_designed(const PortfolioMember& member) const;

  const PortfolioTable& table_;
  const PortfolioShapes& shapes_;
  const PortfolioProposals& proposals_;
  std::set<PortfolioMember> designed_;
  std::size_t looked_at_ = 0;  ///< rows
  int empty_ = 0;              ///< times in a row
};

}  // namespace hone
