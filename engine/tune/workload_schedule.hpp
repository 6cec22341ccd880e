#pragma once
// Which problem of a workload is searched next, and for how long: the one that is expected to save the most of the workload's time.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hone/error.hpp"

namespace hone {

/// How a budget is divided among the problems of a workload.
enum class Split {
  kGain,  ///< slices for whoever is expected to gain most
  kEven,  ///< the same for each
};
std::string_view name(Split split);
/// Errors: a name that is none (the known ones are listed).
Result<Split> parse_split(std::string_view text);

/// One problem, as far as its search has come. A cost is in seconds or in trials, whatever the budget names.
struct Contender {
  double weight = 1.0;               ///< launches
  std::vector<double> best_us;       ///< after each of its trials; infinite until one was right
  double cost = 0.0;                 ///< spent on it
  bool can_go_on = true;             ///< false: nothing is left to try, or it has failed
  double work = 0.0;                 ///< of a launch, in a unit that all have in common; 0: not known
  std::string kind = {};             ///< those of one kind may be alike: an operation and its dtypes
  std::vector<double> extents = {};  ///< logarithms to the base 2 of the problem's extents, in the same order for all of a kind
  double before_us = 0.0;            ///< of what served before, as the search measured it; 0: not known
  double start = 0.0;                ///< cost until its first trial; 0: not known, or nothing
  double final_round = 0.0;  ///< what it is expected to cost, with what it takes to begin again; once it is finished, all but the search
                             ///< until its last trial
  bool is_finished = false;  ///< it has had its final round, or will have none
};

struct Slice {
  std::size_t contender = 0;
  double cost = 0.0;
  bool is_whole = false;  ///< all that the contender gets, its final round included
};

/// The weighted time that so much more of the search is expected to save: by the gain of the last doubling of its trials, or of an ordinary
/// one, whichever is more, each further doubling gaining a part of the one before it (hopeful_us). So a problem that has stopped gaining
/// expects less with each trial, and one that nobody searched cannot expect everything.
double expected_drop(const Contender& contender, double cost);

/// Looks at what the contenders have come to and at nothing else, so that it goes on where an interrupted run stopped.
class WorkloadSchedule {
 public:
  /// `budget`: for all contenders, their final rounds included. `start`: what a search is expected to take to begin until one has.
  WorkloadSchedule(Split split, std::size_t contenders, double budget, double start = 0.0);

  /// Who is next; nothing where the budget is spent or nobody can go on. Ties go by the order of contenders. What final rounds of those
  /// that have begun are expected to cost is kept for them. Of an even split all slices are whole.
  /// By gain, those that nobody has timed come first, the most hopeful first: one is expected to take as long for its work as the others
  /// for theirs, and to gain what those have gained that are like it; one whose work is not known comes before all,
  /// and before that one that has begun and has no right result yet, for a few first shares. If what is left is no
  /// more than some times what they take to begin and to end, they get whole slices, as many as can be begun and all the same: to begin
  /// again, for more or for a final round, would cost too much. Else each gets a first share, and then whoever is expected to save most
  /// for what it takes. What is left of a budget and less than a start goes to the most hopeful of those that nobody has timed.
  [[nodiscard]] std::optional<Slice> next(std::span<const Contender> contenders) const;

 private:
  [[nodiscard]] static std::optional<Slice> next_evenly(std::span<const Contender> contenders, double left);
  [[nodiscard]] std::optional<Slice> next_by_gain(std::span<const Contender> contenders, double left) const;
  [[nodiscard]] std::optional<Slice> next_round(std::span<const Contender> contenders, double left) const;

  Split split_;
  double budget_, share_, start_;
};

}  // namespace hone
