#pragma once
// Makes a portfolio: tunes an operation at shapes of a range, where the least is known, until its configurations cover the range.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/kernel/operation.hpp"
#include "engine/store/portfolio.hpp"
#include "engine/tune/range_outcomes.hpp"
#include "engine/tune/session.hpp"
#include "engine/tune/wanted_shapes.hpp"

namespace hone {

struct PortfolioProgress {
  std::size_t shapes = 0;  ///< measured so far
  Shape shape;             ///< that is measured now
  bool surveyed = false;   ///< what was found elsewhere is timed there; else a session searches
  double elapsed_seconds = 0.0;
  double expected = 1.0;  ///< slowdown of the choices, so far
};

struct PortfolioRequest {
  const Operation* operation = nullptr;  ///< maybe of one kernel
  ShapeRange range;                      ///< of the operation's definition
  DTypes dtypes;
  TuneRequest common;  ///< what holds for every session: all but spec, problem and budget; each of its devices measures shapes of its own
  Budget budget;       ///< of all shapes together, earlier runs included; of 0 trials: the portfolio of what the store knows
  double seconds_each = 0.0;  ///< for a shape; 0: a part of the budget
  std::size_t most_members = Portfolio::kUsualMembers;
  double most_bytes = 1 << 30;                                ///< of a shape's arguments
  std::optional<ShapeRange> held_out;                         ///< shapes that have no part in it, so that it can be judged at them
  bool resume = true;                                         ///< what earlier runs of the range spent counts
  std::function<void(const PortfolioProgress&)> on_progress;  ///< one call at a time; of several devices, from several threads
};

struct PortfolioReport {
  Portfolio portfolio;
  std::int64_t generation = 0;
  std::size_t measured = 0;  ///< sessions of this run
  RangeOutcomes outcomes;    ///< of its trials
  bool interrupted = false;
  bool nothing_left = false;          ///< it ended before its budget was spent: every shape that can be tuned was measured
  double code_bytes = 0.0;            ///< of its members
  double wants_tuning = 0.0;          ///< the share of the range's shapes that are worth a search of their own,
  std::vector<WantedShape> wanted;    ///< and some of them, the most wanted first
  double unserved = 0.0;              ///< the share of its shapes where no member is legal: those among them
  std::vector<std::string> failures;  ///< of shapes that could not be tuned, and of devices that measured no more
};

/// Runs until the budget is spent, or goes on where an earlier run of the same range stopped; what the store knows of any shape in the
/// range counts. The portfolio takes the place of the one of this range. Where shape after shape fails, it is made of what was measured
/// before. Errors: no shape of the range could be tuned, the error of the first or of the last; a store failure; kCancelled where nothing
/// was measured.
Result<PortfolioReport> tune(const PortfolioRequest& request, Store& store, const Registry& registry);

/// The text of the range's STATIC fields, as PortfolioKey::statics has it.
std::string statics_text(const KernelSpec& definition, const ShapeRange& range);

}  // namespace hone
