#include "engine/tune/final_round.hpp"

#include <algorithm>

namespace hone {

FinalRound::FinalRound(const std::vector<Candidate>& candidates, std::size_t most) : most_(std::max<std::size_t>(1, most)) {
  for (const Candidate& candidate : candidates) {
    entries_.push_back({candidate.trial, candidate.required, candidate.required ? State::kRunning : State::kWaiting});
  }
  // The required ones count where they are among the best: a default that is the fastest needs no rival less.
  for (std::size_t i = 0; i < std::min(most_, entries_.size()); ++i) {
    entries_[i].state = State::kRunning;
  }
}

/// Somebody whom the required ones are compared with; or a required one that was the best of all to begin with.
bool FinalRound::has_rival() const {
  const bool required_leads = !entries_.empty() && entries_.front().required && entries_.front().state != State::kDropped;
  return required_leads || std::ranges::any_of(entries_, [](const Entry& entry) {
           return !entry.required && (entry.state == State::kRunning || entry.state == State::kMeasured);
         });
}

/// The next best, as many as the round was to have. All that is left is measured again with them, so that drift hits all alike.
void FinalRound::admit() {
  constexpr std::size_t kLeast = 4;  // single measurements, of few samples maybe: the next best by them need not be the next best
  const std::size_t most = std::max(most_, kLeast);
  std::size_t admitted = 0;
  for (Entry& entry : entries_) {
    if (entry.state == State::kWaiting && admitted < most) {
      entry.state = State::kRunning;
      ++admitted;
    }
  }
  if (admitted > 0) {
    for (Entry& entry : entries_) {
      entry.state = entry.state == State::kMeasured ? State::kRunning : entry.state;
    }
  }
}

std::vector<std::size_t> FinalRound::next() {
  if (!has_rival()) {
    admit();
  }
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].state == State::kRunning) {
      places.push_back(i);
    }
  }
  return places;
}

void FinalRound::drop(std::size_t place, Outcome outcome, std::string detail) {
  Entry& entry = entries_.at(place);
  entry.state = State::kDropped;
  entry.trial.outcome = outcome;
  entry.trial.detail = std::move(detail);
}

bool FinalRound::take(const std::vector<std::size_t>& places, std::vector<Trial> results, bool complete) {
  const bool failed = std::ranges::any_of(results, [](const Trial& trial) { return trial.outcome != Outcome::kOk; });
  if (results.size() > places.size() || (complete && results.size() != places.size()) || (!complete && !failed)) {
    return false;
  }
  for (std::size_t k = 0; k < results.size(); ++k) {
    Entry& entry = entries_.at(places[k]);
    Trial& result = results[k];
    if (result.outcome == Outcome::kOk && !complete) {
      continue;
    }
    result.configuration = entry.trial.configuration;
    result.position = entry.trial.position;
    result.artifact = entry.trial.artifact;
    result.seconds.compile = entry.trial.seconds.compile;
    entry.state = result.outcome == Outcome::kOk ? State::kMeasured : State::kDropped;
    entry.trial = std::move(result);
  }
  return true;
}

void FinalRound::narrow() {
  bool rival = false;
  for (Entry& entry : entries_) {
    if (entry.state != State::kRunning || entry.required) {
      continue;
    }
    entry.state = rival ? State::kWaiting : State::kRunning;
    rival = true;
  }
}

std::vector<Trial> FinalRound::results() const {
  std::vector<Trial> results;
  for (const Entry& entry : entries_) {
    if (entry.state == State::kMeasured || entry.state == State::kDropped) {
      results.push_back(entry.trial);
    }
  }
  return results;
}

std::vector<Trial> FinalRound::as_they_were() const {
  std::vector<Trial> results;
  for (const Entry& entry : entries_) {
    if (entry.state == State::kRunning || entry.state == State::kDropped) {
      results.push_back(entry.trial);
    }
  }
  return results;
}

}  // namespace hone
