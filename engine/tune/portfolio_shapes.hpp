#pragma once
// Which shape of a range does a portfolio measure next? One that is new, and that fits the device's memory and a session's time.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/store/portfolio.hpp"
#include "engine/tune/portfolio_session.hpp"
#include "engine/tune/portfolio_table.hpp"

namespace hone {

/// What one call of a kernel does with a problem.
Work work_of(const KernelSpec& spec, const Problem& problem);
/// Bytes and operations in a common measure, bytes: so many operations take as long as to move one. At least 1.
double amount_of(const Work& work, double flops_for_byte = 20.0);

class PortfolioShapes {
 public:
  explicit PortfolioShapes(const PortfolioRequest& request) : request_(request) {}

  [[nodiscard]] Result<Problem> problem_at(const Shape& shape) const;
  /// What a call does there.
  [[nodiscard]] Work work_at(const Problem& problem) const { return work_of(*request_.operation->definition, problem); }
  /// Of the work there: amount_of(). 0 where there is no problem.
  [[nodiscard]] double amount_at(const Shape& shape) const;
  /// The next shape of a sequence that fills the range evenly, its large end, shapes with one small extent, such whose extents are alike
  /// and such that are one past what is round more, without the measured and the refused ones, where a survey is worth its while.
  /// `session_seconds` is the time of one session. Nothing if none is left.
  [[nodiscard]] std::optional<Shape> next_surveyed(double session_seconds, const PortfolioTable& measured);
  /// One whose session was interrupted; else of the next few of that sequence which a session has time for, and trials enough, the one that
  /// needs it most. The others stay next.
  [[nodiscard]] std::optional<Shape> next_explored(double session_seconds, const PortfolioTable& measured,
                                                   const std::function<double(const Shape&)>& need);
  /// Of `count` shapes that are drawn alike and are not next, from the place `from` on, those that are new and where a survey is worth its
  /// while: what is expected of them says where one is.
  [[nodiscard]] std::vector<Shape> others(std::uint64_t from, std::size_t count, double session_seconds,
                                          const PortfolioTable& measured) const;
  /// Whether a kernel has no constraint that does not hold there whatever the configuration: as for queries without keys.
  [[nodiscard]] bool may_be_legal(const Problem& problem) const;
  /// Whether a survey there is worth its while.
  [[nodiscard]] bool is_cheap(const Problem& problem, double session_seconds) const;
  /// The best configuration of a shape takes `best_us`: what larger shapes will take follows.
  void note_time(const Shape& shape, double best_us);
  /// A session there began with its first trial after `start` seconds, if that is known, and made so many in `seconds` more: how many it
  /// would make elsewhere follows.
  void note_session(const Shape& shape, std::optional<double> start, double seconds, std::int64_t trials);
  /// Seconds until a session's first trial begins, the median of those so far; 0 where none is known.
  [[nodiscard]] double start() const;
  /// Of a session there; nothing before the first session.
  [[nodiscard]] std::optional<double> expected_trials(const Shape& shape, double session_seconds) const;
  /// A session there was interrupted, and wants to be ended: it comes before shapes of which nothing is known.
  void go_on_with(const Shape& shape);
  /// A session there failed: the shape is not proposed again.
  void refuse(const Shape& shape);
  /// Something is measured there until it is released: meanwhile nobody else shall.
  void reserve(const Shape& shape) { reserved_.insert(text(shape)); }
  void release(const Shape& shape) { reserved_.erase(text(shape)); }
  [[nodiscard]] bool is_reserved(const Shape& shape) const { return reserved_.contains(text(shape)); }
  /// By the request: nothing that was measured there is to be known, either.
  [[nodiscard]] bool is_held_out(const Shape& shape) const;

 private:
  [[nodiscard]] bool affordable(const Problem& problem, double launches, double session_seconds) const;
  [[nodiscard]] double seconds_of_trial(const Problem& problem) const;
  [[nodiscard]] double shortest_trial() const;
  [[nodiscard]] double start_at(double amount) const;
  [[nodiscard]] double seconds_for_trials(const Problem& problem, double session_seconds) const;
  [[nodiscard]] bool is_worth_a_session(const Problem& problem, double session_seconds) const;
  [[nodiscard]] bool is_new(const Shape& shape, const PortfolioTable& measured) const;
  [[nodiscard]] Shape shape_of_sequence(std::uint64_t index) const;
  [[nodiscard]] Shape unmoved(std::uint64_t index) const;
  [[nodiscard]] Shape narrowed(const Shape& shape, std::uint64_t place) const;
  [[nodiscard]] std::optional<Shape> drawn(double session_seconds, const PortfolioTable& measured);

  const PortfolioRequest& request_;
  std::set<std::string> refused_, reserved_;
  std::deque<Shape> interrupted_;  ///< whose sessions have not ended
  std::deque<Shape> waiting_;      ///< drawn, and measured by no session yet
  std::deque<Shape> for_surveys_;  ///< drawn, and not worth a session
  std::uint64_t drawn_ = 0;
  struct Effort {
    double amount = 0.0, seconds = 0.0;  ///< of work; of a trial
    std::optional<double> start;         ///< until the first began
  };
  std::vector<Effort> efforts_;  ///< of sessions
  double rate_ = 0.0;            ///< the most work in a microsecond of all measured shapes; 0 before the first
};

}  // namespace hone
