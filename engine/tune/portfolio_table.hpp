#pragma once
// What configurations of an operation's kernels took at the shapes where they were measured, and the portfolio that follows from it.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/device/trial.hpp"
#include "engine/store/portfolio.hpp"
#include "engine/store/portfolio_rule.hpp"
#include "hone/device_info.hpp"

namespace hone {

/// What one call at a shape moves and computes, as Cost says.
struct Work {
  double bytes = 0.0, flops = 0.0;
};

/// What work takes at the best rates of all shapes, beyond the shortest time of all.
class Floor {
 public:
  /// `best_us`: in the order of the shapes' works.
  Floor(std::span<const Work> works, std::span<const double> best_us);
  [[nodiscard]] double us(const Work& work) const;

 private:
  double least_us_ = 0.0;
  Work rates_;  ///< in a microsecond; 0 where nothing was measured
};

/// Whether two are of one kernel and differ in one value at most.
bool differ_in_one(const PortfolioMember& a, const PortfolioMember& b);

class PortfolioTable {
 public:
  static constexpr std::size_t kCompared = 8;  ///< shapes at which something is compared with members, and that are enough for one

  struct Row {
    Shape shape;
    double best_us = 0.0;                        ///< 0: nothing was right
    double floor_us = 0.0;                       ///< the least time of all rows, and what the work takes at the best rates of all rows
    std::map<std::size_t, double> slowdowns;     ///< by column; what failed counts as kFailed times the best
    std::map<std::size_t, LaunchSize> launches;  ///< by column, as far as they are known
  };

  /// Measurements of a kernel at a shape, in the order of the range's axes; later ones take the place of earlier ones. `problem` is the
  /// kernel's own. What was wrong is no member; of results, only where others are right: else that is the shape's doing, more likely.
  void add(const Shape& shape, const Work& work, const KernelSpec& spec, const Problem& problem, const DeviceInfo& device,
           const std::vector<Trial>& trials);

  /// What raced, faulted or hung cannot be a member, nor what was wrong once another is right at this shape. add() sees to it, too: this is
  /// for trials of which nothing else is to be known.
  void exclude(const Shape& shape, const KernelSpec& spec, const std::vector<Trial>& trials);

  struct There {
    Work work;
    MemberLaunches launches;  ///< of the members
  };
  /// What a portfolio knows of its members, and of the best at its points: all that is left of the measurements it was made from. What was
  /// added before stands. Its members count as checked where it says so. `at`: what there is at a shape, since texts of earlier versions do
  /// not know all of it; where there is nothing, its point counts for nothing. It is asked by several threads.
  void add(const Portfolio& earlier, const std::function<std::optional<There>(const Shape&)>& at);

  [[nodiscard]] const std::vector<PortfolioMember>& columns() const { return columns_; }
  /// The shapes at which something was right, in the order in which something was, or as sort() left them. Until the next add().
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  /// By column: the shape at which it was nearest to the best, the first such one; nothing where it was nowhere right, or nowhere near.
  [[nodiscard]] std::vector<std::optional<Shape>> fastest_at() const;
  /// Whether something of the kernel was measured at so many shapes.
  [[nodiscard]] bool has_shapes_of(const std::string& kernel, std::size_t count) const;
  /// Whether so many shapes were measured that surveys time what is known alone, and sessions are longer, to find what those before did
  /// not.
  [[nodiscard]] bool has_many_shapes() const;
  /// Whether it was measured at enough shapes to say that it is nowhere as fast as a member must be somewhere.
  [[nodiscard]] bool is_hopeless(const PortfolioMember& member) const;
  /// Nothing for what was never measured.
  [[nodiscard]] std::optional<std::size_t> find_column(const PortfolioMember& member) const;
  /// Whether it did something wrong at some shape.
  [[nodiscard]] bool is_wrong(std::size_t column) const { return wrong_.contains(column); }
  /// How many columns did.
  [[nodiscard]] std::size_t wrong() const { return wrong_.size(); }
  /// Whether it has passed the full gate at some shape: a session's final round, or a survey's.
  [[nodiscard]] bool is_checked(const PortfolioMember& member) const {
    const std::optional<std::size_t> column = find_column(member);
    return column && checked_.contains(*column);
  }
  /// From now on nothing else is chosen.
  void choose_checked_only() { is_checked_only_ = true; }
  /// As Row::floor_us, of any work.
  [[nodiscard]] double floor_us(const Work& work) const { return floor_.us(work); }
  [[nodiscard]] bool holds(const Shape& shape) const { return places_.contains(text(shape)); }
  /// Brings the rows into the order of their shapes, so that what is made of them does not depend on which was measured first.
  void sort();

  /// At most so many columns: each in turn the one that brings the mean of the logarithms of the slowdowns down most, as long as that is
  /// more than a member is worth. Ties go to what was measured more often, then by name.
  [[nodiscard]] std::vector<std::size_t> choose(std::size_t most) const { return choose(rows_, most); }
  /// The columns that could be members and were measured at shapes near this one, what a rule of all of them with these settings expects to
  /// be fast there first. `launches`: of members there.
  [[nodiscard]] std::vector<std::size_t> promising(const Shape& shape, const Portfolio& about,
                                                   const std::function<MemberLaunches(std::span<const PortfolioMember>)>& launches) const;
  /// At most so many that were measured at no shape near this one, what a rule expects to be fast there first: neighbours of the first of
  /// what is promising there, and theirs in turn. One that differs from another in one parameter alone is left out. `neighbours`: of a
  /// member, those that are legal there.
  [[nodiscard]] std::vector<PortfolioMember> untried(const Shape& shape, const Portfolio& about, std::span<const std::size_t> promising,
                                                     const std::function<MemberLaunches(std::span<const PortfolioMember>)>& launches,
                                                     const std::function<std::vector<PortfolioMember>(const PortfolioMember&)>& neighbours,
                                                     std::size_t most) const;
  /// The members, their slowdowns and the rule; `about` has all else.
  [[nodiscard]] Portfolio portfolio(Portfolio about, std::size_t most) const;
  /// The same with the rule's settings of `about`: to fit them takes seconds.
  [[nodiscard]] Portfolio portfolio_as_set(Portfolio about, std::size_t most) const;
  /// What is to be expected of such a portfolio at a new shape: each shape in turn (of many, a part of them) has no part in it, neither in
  /// its rule nor in which configurations are members. The choice is among those that were measured there.
  void judge(Portfolio& portfolio, std::size_t most) const;

 private:
  std::size_t column_of(const PortfolioMember& member);
  static std::string name_of(const PortfolioMember& member) { return member.kernel + "\n" + member.configuration; }
  [[nodiscard]] std::vector<std::size_t> choose(const std::vector<Row>& all, std::size_t most) const;
  void fill(Portfolio& portfolio, const std::vector<Row>& all, const std::vector<std::size_t>& chosen) const;
  /// The rows near a shape, and the columns that were measured there. `about`: the range and the rule's settings.
  struct Near {
    std::vector<Row> rows;
    std::set<std::size_t> columns;
  };
  [[nodiscard]] Near near(const Shape& shape, const Portfolio& about) const;
  struct Measured {
    std::optional<double> us;  ///< none: it failed
    std::optional<LaunchSize> launch;
  };
  /// What is known of a shape.
  struct Place {
    Shape shape;
    Work work;
    double best_of_earlier_us = 0.0;        ///< of what may be no column; 0: nothing is known
    std::map<std::size_t, Measured> times;  ///< by column
    std::optional<std::size_t> row;         ///< in rows_, once something was right
  };
  /// What is known of results at a shape.
  struct Results {
    bool is_any_right = false;
    std::set<std::size_t> wrong;  ///< columns
  };
  Place& place_of(const Shape& shape, const Work& work);
  void make_row(Place& place);
  /// Where others are right, what is wrong is so by its own doing.
  void blame(Results& results) {
    if (results.is_any_right) {
      wrong_.merge(results.wrong);
    }
  }
  void set_floors();

  std::vector<PortfolioMember> columns_;
  std::map<std::string, std::size_t> column_of_;  ///< by a member's name
  std::map<std::string, Place> places_;           ///< by the text of a shape
  std::map<std::string, Results> results_;        ///< by the text of a shape
  std::vector<Row> rows_;
  std::vector<Work> works_;  ///< of each row
  Floor floor_{{}, {}};
  std::set<std::size_t> checked_;
  bool is_checked_only_ = false;
  std::set<std::size_t> wrong_;  ///< columns that did something wrong at some shape: no members, however fast they are elsewhere
};

/// Of more points than `most` those that say most: one is left out before others if few members were measured there and if another one is
/// near. Of 2,043 points of a portfolio of products a rule chose as well from 1,431 (docs/results/untuned-h100-2026-11-27.md); all
/// of them would be read by each process.
Portfolio thinned(Portfolio portfolio, std::size_t most);

}  // namespace hone
