#pragma once
// Who takes part in the final round, who is dropped, and who comes in their place.

#include <string>
#include <vector>

#include "engine/tune/evaluator.hpp"

namespace hone {

class FinalRound {
 public:
  /// The candidates in order of preference; see Evaluator::finals.
  FinalRound(const std::vector<Candidate>& candidates, std::size_t most);

  /// The places, among the candidates, of those that are to be measured together next; none when the round is over.
  std::vector<std::size_t> next();
  [[nodiscard]] const Trial& trial(std::size_t place) const { return entries_.at(place).trial; }

  /// It brought its process down: out.
  void drop(std::size_t place, Outcome outcome, std::string detail);
  /// What became of those that next() named. An entry with a failure is out; if it is not `complete`, the others must be measured again.
  /// False if there are too many, or nobody failed although it is not complete.
  bool take(const std::vector<std::size_t>& places, std::vector<Trial> results, bool complete);
  /// There is no time for as many: the required and the best of the others go on.
  void narrow();

  /// All that took part and were measured or dropped.
  [[nodiscard]] std::vector<Trial> results() const;
  /// Those that take part now and are not dropped, with what they had before.
  [[nodiscard]] std::vector<Trial> as_they_were() const;

 private:
  enum class State { kWaiting, kRunning, kMeasured, kDropped };
  struct Entry {
    Trial trial;
    bool required = false;
    State state = State::kWaiting;
  };
  [[nodiscard]] bool has_rival() const;
  void admit();

  std::vector<Entry> entries_;
  std::size_t most_;
};

}  // namespace hone
