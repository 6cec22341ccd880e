#pragma once
// The budget of a range: how much of it is spent, and what a session or a survey may have.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "engine/tune/portfolio_session.hpp"
#include "engine/tune/portfolio_shapes.hpp"
#include "engine/tune/portfolio_table.hpp"

namespace hone {

/// Seconds for a shape of a range of many, where `PortfolioRequest::seconds_each` is 0, under a budget of so many: a sixtieth, or a
/// twenty-fourth once many shapes are known, but at least five times what sessions take until their first trial begins (`start`), since
/// nothing is found in that time, or a tenth of the budget if that is less; 0.9 to 10 in any case.
double seconds_for_shape(double budget_seconds, double start, bool many_known);

class RangeBudget {
 public:
  static constexpr std::int64_t kLeastTrials = 6;  ///< of a session, as long as so many are left

  /// By all runs of the range.
  struct Used {
    double seconds = 0.0;
    std::int64_t trials = 0;
  };

  /// Keeps references. `table`: what was measured. `lanes`: how many measure side by side. `used`: so far.
  RangeBudget(const PortfolioRequest& request, const PortfolioTable& table, PortfolioShapes& shapes, std::size_t lanes,
              std::function<Used()> used);
  RangeBudget(const RangeBudget&) = delete;
  RangeBudget& operator=(const RangeBudget&) = delete;

  [[nodiscard]] Used used() const { return used_(); }
  /// The share of it that is spent: of seconds or of trials, the larger one.
  [[nodiscard]] double spent() const;
  /// Without those that are reserved, and so maybe below 0; nothing where the budget does not name trials.
  [[nodiscard]] std::optional<std::int64_t> trials_left() const;
  /// Whether it suffices for a session at each shape of the range, no shorter than any: then that is what it is spent on, first of all,
  /// however long they become.
  [[nodiscard]] bool is_small() const;

  /// Of a session that begins now. Those of a small range share what is left of the budget.
  [[nodiscard]] Budget each() const;
  /// Of such a session; the most that one gets where the budget does not name seconds.
  [[nodiscard]] double session_seconds() const;
  /// Configurations, known or expected to be fast, that a session of that budget at the shape begins with: what is neither shall be found,
  /// too.
  [[nodiscard]] std::size_t proposals_for(const Shape& shape, const Budget& session) const;
  /// Configurations that a survey times, at least 1.
  [[nodiscard]] std::size_t most_surveyed() const;
  /// That a survey of so many configurations may take.
  [[nodiscard]] double survey_seconds(std::size_t configurations) const;

  /// What is measured at a shape, as long as it is: no other lane goes there, and its trials are spoken for.
  class Reservation {
   public:
    /// Keeps references.
    Reservation(RangeBudget& budget, const Shape& shape, std::int64_t trials);
    ~Reservation();
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

   private:
    RangeBudget& budget_;
    const Shape& shape_;
    std::int64_t trials_;
    std::size_t new_shapes_;
  };

 private:
  const PortfolioRequest& request_;
  const PortfolioTable& table_;
  PortfolioShapes& shapes_;
  double lanes_;
  std::function<Used()> used_;
  std::int64_t reserved_trials_ = 0;
  std::size_t reserved_new_shapes_ = 0;
};

}  // namespace hone
