#pragma once
// The rule that chooses among the members of a portfolio for any shape, and how sure it is.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/store/portfolio_surrogate.hpp"

namespace hone {

/// What the rule thinks of a member at a shape, as logarithms.
struct Opinion {
  std::size_t member = 0;
  double slowdown = 0.0;  ///< expected
  double doubt = 0.0;     ///< its standard deviation
};

/// What each member launches at a shape. None, or no list at all: not known.
using MemberLaunches = std::vector<std::optional<LaunchSize>>;
/// As they were where a point's members were measured.
MemberLaunches launches_at(const PortfolioPoint& point, std::size_t members);
/// Whether a member may be chosen at a shape, as where it is legal; empty: all may. Asked of those that come first, until there are enough.
using MayBeChosen = std::function<bool(std::size_t member)>;

/// Asks a Gaussian process of the measurements (PortfolioSurrogate). A prediction is made from the measurements nearest to the shape; those
/// that may be chosen are then predicted again, from the measurements nearest to one of them. Far from where it was measured a member is
/// expected to be slow. Where the portfolio has trees, which know all measurements on its product, a member that was measured nearby is
/// expected to take a mean of what they and the process say, and where they know much, any member that they know; what is asked as if a
/// point had not been measured, and how sure the rule is, are the process's alone. Like the process it computes with basic arithmetic
/// alone, in a fixed order, so the same portfolio gives the same choice on every host.
class PortfolioRule {
 public:
  /// Of a portfolio with at least one point.
  explicit PortfolioRule(const Portfolio& portfolio);

  /// All members, the best first; ties by their order. What was measured nowhere near is expected to be slow. The first few that may be
  /// chosen are looked at again and come before others, so that what may not takes no place among them.
  [[nodiscard]] std::vector<Opinion> rank(const Shape& shape, const MemberLaunches& launches, const MayBeChosen& may_be_chosen = {}) const;
  /// The same, but what was measured nowhere near is expected to take what those like it took: no choice, and worth a trial.
  [[nodiscard]] std::vector<Opinion> rank_by_likeness(const Shape& shape, const MemberLaunches& launches) const;
  /// As at the shape of a point if nothing had been measured there: by the process alone, since trees know what was.
  [[nodiscard]] std::vector<Opinion> rank_without(std::size_t point, const MemberLaunches& launches,
                                                  const MayBeChosen& may_be_chosen = {}) const;
  /// The points whose measurements it looks at there, the nearest first.
  [[nodiscard]] std::vector<std::size_t> around(const Shape& shape) const;

  struct Score {
    double mean = 0.0, worst = 0.0;        ///< logarithm of the slowdown of the choices
    double error = 0.0;                    ///< root of the mean square of the predictions' errors
    double spread = 0.0, deviation = 0.0;  ///< that the rule should have: see RuleSettings
  };
  /// Each point in turn is predicted from the others, by the process alone. The choice is among the members that were measured there.
  [[nodiscard]] Score leave_one_out() const;

 private:
  friend RuleSettings fit_settings(const Portfolio& portfolio);
  static constexpr std::size_t kMeasured =
      320;  ///< that settings are judged by: more gain little (docs/results/untuned-h100-2026-11-27.md)
  using Launches = PortfolioSurrogate::Launches;
  using Near = PortfolioSurrogate::Near;
  /// What is expected of a member that was measured at none of the nearest points.
  enum class Unmeasured { kIsSlow, kIsLikeOthers };
  [[nodiscard]] std::vector<bool> known_at(const std::vector<Near>& near, Unmeasured unmeasured) const;
  /// What the trees expect of each member at a shape; nothing of one of which nothing is known there, or that they do not know.
  using Second = std::vector<std::optional<double>>;
  void advise(Opinion& opinion, const Second& second) const;
  /// How much of a doubt is added to what is expected: the doubt is the process's, and less where trees say most of that.
  [[nodiscard]] double caution(const Second& second) const;
  [[nodiscard]] std::vector<Opinion> first_opinions(const std::vector<Near>& near, const Second& second) const;
  /// `advised`: the shape, if trees are asked, too.
  [[nodiscard]] std::vector<Opinion> rank(std::span<const double> at, std::size_t without, const MemberLaunches& launches,
                                          Unmeasured unmeasured, const MayBeChosen& may_be_chosen, const Shape* advised = nullptr) const;
  void sort_by_wanted(std::vector<Opinion>& opinions, double caution) const;
  void look_again(std::vector<Opinion>& all, const std::vector<Near>& far, const Launches& launches, const MayBeChosen& may_be_chosen,
                  const Second& second) const;
  /// Of these members, from at most so many measurements; `launches`: everyone's. The doubt is that of a process of deviation 1.
  [[nodiscard]] std::vector<Opinion> opinions(const std::vector<Near>& near, const std::vector<std::size_t>& members,
                                              const Launches& launches, std::size_t most, Unmeasured unmeasured) const;
  [[nodiscard]] std::vector<std::size_t> everyone() const;
  /// Of at most `most` points, in even steps, each from at most so many measurements.
  [[nodiscard]] Score leave_one_out(std::size_t most, std::size_t measured) const;
  [[nodiscard]] double wanted(const Opinion& opinion, double caution) const;

  PortfolioSurrogate surrogate_;
  std::optional<TreeMembers> trees_;  ///< asked of what was measured on the portfolio's product
  bool knows_much_ = false;           ///< trees do
  double share_ = 0.0;                ///< of trees, of what is expected
};

}  // namespace hone
