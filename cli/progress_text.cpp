#include "cli/progress_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cli/present.hpp"
#include "engine/report/session_study.hpp"

namespace hone::cli {
namespace {

enum class Paint { kPlain, kStrong, kGood, kBad, kWarn, kQuiet };

std::string painted(const std::string& text, Paint paint, bool colour) {
  constexpr std::array<std::string_view, 6> kCodes{"", "1", "1;32", "1;31", "33", "2"};
  return !colour || paint == Paint::kPlain ? text : fmt::format("\033[{}m{}\033[0m", kCodes.at(static_cast<std::size_t>(paint)), text);
}

/// A line of pieces, of which the least important go first where they do not fit.
class Pieces {
 public:
  /// The lower the rank, the longer it stays.
  void add(std::string text, int rank, Paint paint = Paint::kPlain) {
    if (!text.empty()) {
      pieces_.push_back({std::move(text), paint, rank});
    }
  }

  [[nodiscard]] std::size_t columns() const {
    std::size_t sum = 0;
    for (const Piece& piece : pieces_) {
      sum += columns_of(piece.text) + (&piece == &pieces_.front() ? 0 : 2);
    }
    return sum;
  }

  [[nodiscard]] std::string line(const Look& look) {
    while (pieces_.size() > 1 && columns() > look.width) {
      pieces_.erase(std::ranges::max_element(pieces_, {}, &Piece::rank));
    }
    std::string text;
    for (const Piece& piece : pieces_) {
      text += (text.empty() ? "" : "  ") + painted(fitted(piece.text, look.width, look.unicode), piece.paint, look.colour);
    }
    return text;
  }

 private:
  struct Piece {
    std::string text;
    Paint paint;
    int rank;
  };
  std::vector<Piece> pieces_;
};

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(std::max(0.0, seconds));
  return whole < 100    ? fmt::format("{:.1f} s", std::max(0.0, seconds))
         : whole < 3600 ? fmt::format("{} min {:02} s", whole / 60, whole % 60)
                        : fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

/// Of the budget, what is spent: the larger share of seconds and trials.
double share_spent(const ProgressState& state) {
  const double trials = state.reached ? static_cast<double>(state.reached->trials) : 0.0;
  const double of_seconds = state.budget.seconds ? state.seconds / *state.budget.seconds : 0.0;
  const double of_trials = state.budget.trials ? trials / static_cast<double>(*state.budget.trials) : 0.0;
  return std::clamp(std::max(of_seconds, of_trials), 0.0, 1.0);
}

std::string left_text(const ProgressState& state) {
  std::string text = state.budget.seconds ? clock_text(*state.budget.seconds - state.seconds) : "";
  if (state.budget.trials) {
    const std::int64_t tried = state.reached ? state.reached->trials : 0;
    text += fmt::format("{}{} trials", text.empty() ? "" : " or ", std::max<std::int64_t>(0, *state.budget.trials - tried));
  }
  return text + " left";
}

std::string bar(double share, std::size_t columns, bool unicode) {
  const auto filled = static_cast<std::size_t>(std::floor(share * static_cast<double>(columns)));
  std::string text;
  for (std::size_t i = 0; i < columns; ++i) {
    text += unicode ? (i < filled ? "█" : "░") : (i < filled ? "#" : ".");
  }
  return unicode ? text : "[" + text + "]";
}

std::string_view stage_text(const std::optional<Progress>& reached) {
  if (!reached) {
    return "starting: the default compiles and is measured";
  }
  switch (reached->stage) {
    case SessionStage::kLikely:
      return "searching the likely configurations";
    case SessionStage::kLegal:
      return "searching all configurations";
    case SessionStage::kFinals:
      break;
  }
  return "final round: the best beside the default";
}

std::string counted_trials(const ProgressState& state) {
  const std::int64_t trials = state.reached ? state.reached->trials : 0;
  return fmt::format("{} trial{}", trials, trials == 1 ? "" : "s");
}

std::string rate_per_second(const ProgressState& state) {
  return state.reached && state.seconds > 0.0 ? fmt::format("{:.1f}/s", static_cast<double>(state.reached->trials) / state.seconds) : "";
}

std::string factor(const Progress& reached) {
  return reached.best_us && reached.default_us
             ? fmt::format("{:.2f}x {}", *reached.default_us / *reached.best_us, reached.objective.needs_energy() ? "less" : "faster")
             : "";
}

std::string since_improvement(const ProgressState& state) {
  return fmt::format("improved {} ago", clock_text(state.seconds - state.reached->improved_seconds));
}

std::string spend_line(const ProgressState& state, const Look& look) {
  constexpr std::size_t kLongestBar = 40, kShortestBar = 8;
  Pieces rest;
  rest.add(fmt::format("{:3.0f} %", std::floor(100.0 * share_spent(state))), 0, Paint::kStrong);
  rest.add(left_text(state), 1);
  rest.add(counted_trials(state), 2);
  rest.add(rate_per_second(state), 3, Paint::kQuiet);
  const std::size_t frame = look.unicode ? 2 : 4;  // the gap behind the bar, and its brackets
  if (rest.columns() + kShortestBar + frame > look.width) {
    return rest.line(look);
  }
  const std::size_t columns = std::min(kLongestBar, look.width - rest.columns() - frame);
  return painted(bar(share_spent(state), columns, look.unicode), Paint::kGood, look.colour) + "  " + rest.line(look);
}

std::string best_line(const ProgressState& state, const Look& look) {
  Pieces pieces;
  if (!state.reached || !state.reached->best_us) {
    pieces.add("nothing measured yet", 0, Paint::kQuiet);
    return pieces.line(look);
  }
  const Progress& reached = *state.reached;
  pieces.add("best " + reached_text(reached.objective, *reached.best_us), 0, Paint::kStrong);
  const bool gained = reached.default_us && *reached.default_us > 1.005 * *reached.best_us;
  pieces.add(factor(reached), 1, gained ? Paint::kGood : Paint::kPlain);
  pieces.add(reached.default_us ? fmt::format("(default {})", reached_text(reached.objective, *reached.default_us)) : "", 3, Paint::kQuiet);
  pieces.add(since_improvement(state), 2);
  pieces.add(reached.kernel.empty() ? "" : "now " + reached.kernel, 4, Paint::kQuiet);
  return pieces.line(look);
}

void add_stage(Pieces& pieces, const ProgressState& state) {
  pieces.add(std::string(stage_text(state.reached)), 0, Paint::kQuiet);
  if (!state.reached) {
    return;
  }
  for (const auto& [outcome, count] : state.reached->outcomes) {
    if (is_failure(outcome)) {
      pieces.add(fmt::format("{} {}", count, name(outcome)), 1, Paint::kBad);
    } else if (outcome == Outcome::kTooSlow) {
      pieces.add(fmt::format("{} too slow", count), 3, Paint::kQuiet);
    }
  }
  const Readings& read = state.reached->readings;
  if (read.sm_clock_mhz > 0.0) {
    const std::vector<std::string> reasons = report::throttle_words(read.throttle_reasons);
    pieces.add(reasons.empty() ? "" : "throttled: " + reasons.front(), 2, Paint::kWarn);
    pieces.add(fmt::format("{:.0f} MHz {:.0f} C {:.0f} W", read.sm_clock_mhz, read.temperature_c, read.power_w), 4, Paint::kQuiet);
  }
}

}  // namespace

std::vector<std::string> progress_lines(const ProgressState& state, const Look& look) {
  Pieces stage;
  add_stage(stage, state);
  return {spend_line(state, look), best_line(state, look), stage.line(look)};
}

std::string progress_line(const ProgressState& state, const Look& look) {
  constexpr std::size_t kAnyWidth = std::numeric_limits<std::size_t>::max();
  Look wide = look;
  wide.width = kAnyWidth;
  Pieces pieces;
  pieces.add(counted_trials(state) + " in " + clock_text(state.seconds), 0);
  pieces.add(left_text(state), 0);
  if (state.reached && state.reached->best_us) {
    pieces.add("best " + reached_text(state.reached->objective, *state.reached->best_us), 0, Paint::kStrong);
    pieces.add(factor(*state.reached) + (state.reached->default_us ? " than the default" : ""), 0);
    pieces.add(since_improvement(state), 0);
  }
  add_stage(pieces, state);
  return pieces.line(wide);
}

std::string trial_line(const Progress& reached, const Look& look) {
  Look wide = look;
  wide.width = std::numeric_limits<std::size_t>::max();
  const bool best = reached.last_outcome == Outcome::kOk && reached.time_us == reached.best_us;
  Pieces pieces;
  pieces.add(fmt::format("{:5}", reached.trials), 0, Paint::kQuiet);
  pieces.add(fmt::format("{:7.1f} s", reached.elapsed_seconds), 0, Paint::kQuiet);
  pieces.add(fmt::format("{:<14}", name(reached.last_outcome)), 0, is_failure(reached.last_outcome) ? Paint::kBad : Paint::kPlain);
  pieces.add(fmt::format("{:>11}", reached.time_us ? reached_text(reached.objective, *reached.time_us) : "-"), 0,
             best ? Paint::kGood : Paint::kPlain);
  pieces.add(reached.kernel, 0);
  pieces.add(reached.configuration, 0);
  return pieces.line(wide);
}

}  // namespace hone::cli
