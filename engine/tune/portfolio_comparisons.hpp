#pragma once
// Members of a portfolio beside what could be one, at measured shapes: what a search could not try where a member won, and what won at one
// shape and is known at few. A configuration is chosen as a member for what it gains over many shapes: one that was tried at a shape or two
// never is, however much better it would be.

#include <map>
#include <optional>
#include <set>
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

  /// For each member: where it is nearly the fastest and a survey costs little, what is one parameter from it (newly_legal). What was
  /// planned for one stays as long as it is a member: a plan of all takes seconds. `session_seconds`: as in PortfolioShapes.
  void plan(const std::vector<PortfolioMember>& members, double session_seconds);
  /// Each configuration that won at a shape where the members are clearly behind: at the shapes around that one where trees, if `so_far`
  /// has any, expect most of it beside the best member, and beside that member. Once, or again when more shapes are known, as long as those
  /// around it are too few. They come before what is planned for members. `rule`: of `so_far`.
  void add_winners(const Portfolio& so_far, const PortfolioRule& rule, double session_seconds);

  /// The planned shape at which most winners can be compared, then most others; at most `most` configurations, those first that were
  /// compared least, a member before what it is compared with. What was timed at enough shapes, three times as many where it is ahead, is
  /// no longer, nor what is behind at the first few, unless it won by so much that it is worth being a member for that alone; what was
  /// proposed twice at a shape and not timed is not there again. Nothing if nothing is left.
  [[nodiscard]] std::optional<PlannedSurvey> next(std::size_t most);

 private:
  struct Pair {
    PortfolioMember member, other;
    Configuration configuration, other_configuration;
    double slowdown = 0.0;      ///< of the member
    std::size_t compared = 0;   ///< at so many shapes
    bool is_of_winner = false;  ///< the other won somewhere
  };
  struct Place {
    Shape shape;
    std::vector<Pair> pairs;
  };
  /// How a configuration is doing where both it and what it is compared with were measured.
  struct Compared {
    std::size_t shapes = 0;
    double sum = 0.0;  ///< of the logarithms of its time over the other's
    void add(double slowdown, double other);
    /// `won_by`: where it won, a logarithm; 0 for what won nowhere.
    [[nodiscard]] bool is_enough(double won_by) const;
  };
  struct Winner {
    std::set<std::string> around;  ///< the texts of the shapes at which it is compared
    std::size_t points = 0;        ///< of the portfolio when they were looked for
    double won_by = 0.0;           ///< over the best member, where that was most: a logarithm
  };

  [[nodiscard]] std::vector<Pair> pairs_of_member(const PortfolioMember& member, const Shape& won_at, const Shape& here,
                                                  double slowdown) const;
  [[nodiscard]] std::optional<Pair> pair_of_winner(std::size_t winner, const PortfolioTable::Row& here) const;
  /// In the order they have, where nothing is expected.
  void put_expected_first(std::vector<const PortfolioTable::Row*>& rows, std::size_t winner, const Portfolio& so_far) const;
  /// Of these columns, the best at a row and its slowdown; nothing where none was measured.
  [[nodiscard]] static std::optional<std::pair<std::size_t, double>> best_of(const std::vector<std::size_t>& columns,
                                                                             const PortfolioTable::Row& row);
  [[nodiscard]] std::vector<Pair>& pairs_at(const Shape& shape);
  void leave_out_what_is_known();

  const PortfolioTable& table_;
  const PortfolioShapes& shapes_;
  const PortfolioProposals& proposals_;
  std::vector<Place> places_;
  std::set<PortfolioMember> planned_for_;
  std::vector<std::size_t> members_;                                 ///< the columns of those that winners are compared with
  std::map<std::size_t, Winner> winners_;                            ///< by column
  std::map<std::pair<PortfolioMember, std::string>, int> proposed_;  ///< how often, by what is compared and the shape
};

}  // namespace hone
