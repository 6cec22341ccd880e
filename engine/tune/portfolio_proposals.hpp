#pragma once
// What is worth a trial at a shape of a range: members, what was fast near it, what came with Hone, and what could not be tried before.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/space/search_space.hpp"
#include "engine/tune/portfolio_session.hpp"
#include "engine/tune/portfolio_shapes.hpp"
#include "engine/tune/portfolio_table.hpp"

namespace hone {

/// What is timed together.
struct PlannedSurvey {
  Shape shape;
  std::map<std::string, std::vector<Configuration>> first;  ///< by kernel
};

/// How often who plans surveys plans a configuration at a shape where it was not timed: a survey's time may end before it.
inline constexpr int kMostPlanned = 2;

class PortfolioProposals {
 public:
  using First = std::map<std::string, std::vector<Configuration>>;  ///< by kernel

  /// All are kept.
  PortfolioProposals(const PortfolioRequest& request, const PortfolioTable& table, const PortfolioShapes& shapes)
      : request_(request), table_(table), shapes_(shapes) {}

  /// At most `most` configurations: the default, and that of each kernel of which hardly anything is known, unless this is for a session,
  /// which begins with them (no `most_members`); what came with
  /// Hone, of whichever product, as long as that is new here; the members of the portfolio as it is, up to `most_members` in all; without
  /// those, what was tried nowhere near it and is expected to be fast (PortfolioTable::untried); and what was fast near it, each followed
  /// by what could not be tried where it won. Where little of that is legal, as with extents that no vector divides, also the legal
  /// configurations nearest to the rest. `so_far` has no points before anything was measured, and then there is no rule.
  [[nodiscard]] First at(const Shape& shape, const Problem& problem, const Portfolio& so_far, const PortfolioRule* rule, std::size_t most,
                         std::size_t most_members) const;

  /// The default of the first kernel that takes the problem, which serves where nothing is known: timed at every surveyed shape, so that a
  /// portfolio does not choose what is slower. Nothing where it is not legal, or hopeless.
  [[nodiscard]] std::optional<PortfolioMember> standard(const Problem& problem) const;
  /// Of the operation; null for what is not one of its kernels.
  [[nodiscard]] const KernelSpec* kernel_named(const std::string& kernel) const;
  /// The configuration, where it is legal for the problem.
  [[nodiscard]] std::optional<Configuration> legal(const PortfolioMember& member, const Problem& problem) const;
  /// Of a measured shape the fastest that are not wrong, at most `most`, with their slowdowns.
  [[nodiscard]] std::vector<std::pair<double, PortfolioMember>> fastest(const PortfolioTable::Row& row, const Problem& problem,
                                                                        std::size_t most) const;
  /// What is one parameter from a member, legal here and not where the member was measured (newly_legal).
  [[nodiscard]] std::vector<Configuration> could_not_be_tried(const PortfolioMember& member, const Problem& here, const Shape& there) const;
  /// What is one parameter from a member and legal for the problem.
  [[nodiscard]] std::vector<PortfolioMember> neighbours(const PortfolioMember& member, const Problem& problem) const;
  /// Those of them that their author expects something of, or all, if there are none.
  [[nodiscard]] std::vector<PortfolioMember> likely_neighbours(const PortfolioMember& member, const Problem& problem) const;
  /// Of members at a problem.
  [[nodiscard]] MemberLaunches launches(std::span<const PortfolioMember> members, const Problem& problem) const;
  /// Those that are legal; as long as members and problem live.
  [[nodiscard]] MayBeChosen may_be_chosen(std::span<const PortfolioMember> members, const Problem& problem) const;

 private:
  using Neighbours = std::vector<Configuration> (*)(const KernelSpec&, const Configuration&, const Problem&, const DeviceInfo&);
  using Spaces = std::map<std::string, std::optional<SearchSpace>>;

  [[nodiscard]] std::vector<PortfolioMember> around(const PortfolioMember& member, const Problem& problem, Neighbours of) const;
  [[nodiscard]] std::vector<std::pair<std::string, Configuration>> new_here(const Problem& problem, std::size_t most) const;
  [[nodiscard]] std::optional<Configuration> nearest_legal(const PortfolioMember& member, const Problem& problem, Spaces& spaces) const;

  const PortfolioRequest& request_;
  const PortfolioTable& table_;
  const PortfolioShapes& shapes_;
};

}  // namespace hone
