// What a session ends with: the final round, the record, the report.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>

#include "engine/tune/tuning_session.hpp"

namespace hone {
namespace {

constexpr std::size_t kMostFinalists = 6;
constexpr std::string_view kWithdrawn = "it was withdrawn from this problem (hone records --all)";

}  // namespace

Result<void> TuningSession::keep_best() {
  if (has_ended_) {
    return {};
  }
  report_.interrupted = true;
  tell(SessionEvent::Step::kPaused);
  const Trial* best = nullptr;
  for (const Trial& trial : trials_) {
    if (may_win(trial) && !trial.measurement.raced_out && (best == nullptr || value_of(trial) < value_of(*best))) {
      best = &trial;
    }
  }
  if (best == nullptr) {
    return {};
  }
  report_.best = Measured{best->configuration, best->measurement};
  if (const Trial* standard = default_trial(); standard != nullptr && standard->outcome == Outcome::kOk) {
    report_.default_measured = Measured{standard->configuration, standard->measurement};
  }
  note_broken(*best);
  if (serving_position_ && !was_tried(*serving_position_)) {
    report_.not_kept =
        fmt::format("{}, which serves now, was not measured beside it", text(request_.spec.parameters, space_.at(*serving_position_)));
    return {};
  }
  HONE_ASSIGN(const std::optional<Record> record, make_record(*best));
  HONE_ASSIGN(const bool written, store_.keep_record(session_, key_, *record));
  if (!written) {
    HONE_ASSIGN(report_.faster_record, store_.find_record(key_, request_.spec.parameters));
    report_.not_kept = report_.faster_record ? "" : kWithdrawn;
  }
  return written ? note_what_serves(*record) : Result<void>();
}

bool TuningSession::may_win(const Trial& trial) const {
  return trial.outcome == Outcome::kOk && (best_is_withdrawn_ || !is_withdrawn(trial.configuration));
}

std::vector<Candidate> TuningSession::finalists() const {
  constexpr std::size_t kEnough = 64;
  std::vector<std::tuple<bool, double, std::size_t>> order;  // each value once: a percentile takes its time
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    if (may_win(trials_[i]) || (trials_[i].outcome == Outcome::kOk && trials_[i].position == default_position_)) {
      order.emplace_back(trials_[i].measurement.raced_out, value_of(trials_[i]), i);
    }
  }
  std::ranges::sort(order);
  std::vector<Candidate> candidates;
  for (const auto& [raced_out, value, i] : order) {
    const Count position = trials_[i].position;
    candidates.push_back({trials_[i], position == default_position_ || position == record_position_ || position == serving_position_});
  }
  const auto rest = candidates.begin() + static_cast<std::ptrdiff_t>(std::min(candidates.size(), kEnough));
  candidates.erase(std::remove_if(rest, candidates.end(), [](const Candidate& c) { return !c.required; }), candidates.end());
  return candidates;
}

std::size_t TuningSession::close_to_best(const std::vector<Candidate>& candidates) const {
  const auto close = std::ranges::count_if(
      candidates, [&](const Candidate& c) { return !c.trial.measurement.raced_out && value_of(c.trial) <= *best_us_ * kFinalistMargin; });
  return std::min(static_cast<std::size_t>(close), kMostFinalists);
}

Result<void> TuningSession::withdraw_if_wrong(const std::vector<Trial>& trials, const Record& record) {
  const auto proof = std::ranges::find_if(
      trials, [&](const Trial& trial) { return is_wrong(trial.outcome) && trial.configuration == record.configuration; });
  if (proof == trials.end()) {
    return {};
  }
  HONE_TRY(store_.set_record_state({record.id}, RecordState::kWithdrawn, fmt::format("{} in session {}", name(proof->outcome), session_)));
  report_.notes.push_back(fmt::format("the record of this problem, {}, was withdrawn: {}", record.configuration_text, proof->detail));
  return {};
}

Result<void> TuningSession::final_round(std::size_t rounds) {
  HONE_ASSIGN(const std::optional<Record> stood, store_.find_record(key_, request_.spec.parameters));
  if (stood) {
    HONE_TRY(withdraw_if_wrong(trials_, *stood));
    record_position_ = space_.index(stood->configuration);  // also what an earlier part of this session has kept
  }
  if (!best_us_) {
    return close();
  }
  progress(SessionStage::kFinals);
  tell(SessionEvent::Step::kFinalRound);
  const std::vector<Candidate> candidates = finalists();
  HONE_ASSIGN(std::vector<Trial> results, evaluator_->finals(candidates, close_to_best(candidates), 1.0 / static_cast<double>(rounds)));
  final_device_ = results.empty() || results.front().final_device.empty() ? request_.device.info.id : results.front().final_device;
  std::vector<Trial> right;
  std::vector<const Trial*> failed;
  for (Trial& trial : results) {
    trial.final_round = !trial.is_as_it_was;
    HONE_TRY(trial.final_round ? store_.add_trial(session_, request_.spec.parameters, trial, elapsed()) : Result<void>());
    tell(SessionEvent::Step::kFinalist, &trial);
    if (trial.outcome != Outcome::kOk) {
      failed.push_back(&trial);  // wrong or crashed on fresh inputs: recorded as that, and no winner
      continue;
    }
    if (trial.position == default_position_) {
      report_.default_measured = Measured{trial.configuration, trial.measurement};
    }
    right.push_back(std::move(trial));
  }
  note_failed_finalists(failed);
  if (stood) {
    HONE_TRY(withdraw_if_wrong(results, *stood));
  }
  HONE_TRY(leave_out_withdrawn(right));
  HONE_ASSIGN(const std::optional<Record> known, store_.find_record(key_, request_.spec.parameters));
  std::optional<Record> record;
  if (const Trial* const winner = choose(right, known)) {
    HONE_ASSIGN(record, make_record(*winner));
    winner_ = *winner;
    const bool beside_known = known && (is_among(results, *known) || is_among(right, *known));
    if (known && !beside_known && !replaces(*record, *known, objective())) {
      report_.faster_record = known;
    }
    compared_with_ = beside_known ? std::optional(known->id) : std::nullopt;
  }
  HONE_ASSIGN(const bool written,
              store_.finish_session(session_, key_, report_.faster_record || !request_.keeps_record ? std::nullopt : record, elapsed(),
                                    compared_with_));
  has_ended_ = true;
  if (record && !written && !report_.faster_record && request_.keeps_record) {
    HONE_ASSIGN(const std::optional<Record> stays, store_.find_record(key_, request_.spec.parameters));
    report_.not_kept =
        stays ? fmt::format("{}, the faster or pinned record {}, stays", text(request_.spec.parameters, stays->configuration), stays->id)
              : std::string(kWithdrawn);
  }
  HONE_TRY(written ? note_what_serves(*record) : Result<void>());
  tell(SessionEvent::Step::kEnded, winner_ ? &*winner_ : nullptr);
  return {};
}

void TuningSession::note_failed_finalists(const std::vector<const Trial*>& failed) {
  if (failed.empty()) {
    return;
  }
  const Trial& first = *failed.front();
  report_.first_failure = report_.first_failure.empty() ? first.detail : report_.first_failure;
  report_.notes.push_back(fmt::format(
      "{} of the finalists failed in the final round, which has more inputs and problems; the first, {}, {}: {}", failed.size(),
      text(request_.spec.parameters, first.configuration), name(first.outcome), first.detail.substr(0, first.detail.find('\n'))));
}

/// What was withdrawn from the problem, perhaps meanwhile, is no record however fast it is, and must not keep the best of the others from
/// being one.
Result<void> TuningSession::leave_out_withdrawn(std::vector<Trial>& right) {
  HONE_ASSIGN(withdrawn_, store_.withdrawn_configurations(key_));
  const auto among_withdrawn = [this](const Trial& trial) { return is_withdrawn(trial.configuration); };
  if (!std::ranges::all_of(right, among_withdrawn)) {
    const bool left_out = std::ranges::any_of(trials_, [&](const Trial& t) { return t.outcome == Outcome::kOk && among_withdrawn(t); });
    std::erase_if(right, among_withdrawn);
    if (left_out) {
      report_.notes.push_back("configurations that were withdrawn from this problem are not chosen (hone records --all)");
    }
  }
  return {};
}

/// Where it is not the record that was written.
Result<void> TuningSession::note_what_serves(const Record& written) {
  HONE_ASSIGN(const std::optional<Record> serves, store_.find_record(key_, request_.spec.parameters));
  if (serves && serves->state == RecordState::kPinned && serves->configuration != written.configuration) {
    report_.notes.push_back(
        fmt::format("record {} is pinned, and serves: {}", serves->id, text(request_.spec.parameters, serves->configuration)));
  }
  if (!unmeasured_serving_.empty()) {
    report_.notes.push_back(
        fmt::format("the record takes the place of {}, which served the problem before and is not in what was searched, "
                    "or was left out by --no-transfer: hone tune without such options measures both",
                    unmeasured_serving_));
  }
  return {};
}

bool TuningSession::is_among(const std::vector<Trial>& trials, const Record& record) {
  return std::ranges::any_of(trials, [&](const Trial& trial) { return trial.configuration == record.configuration; });
}

const Trial* TuningSession::choose(const std::vector<Trial>& right, const std::optional<Record>& known) {
  const auto order = [this](const Trial& trial) { return std::pair(value_of(trial), trial.position); };
  const auto fastest = std::ranges::min_element(right, {}, order);
  if (fastest == right.end()) {
    return nullptr;
  }
  const std::optional<Figure> least = objective().of(fastest->measurement);
  const auto tied = [&](const Trial& trial) {
    const std::optional<Figure> reached = objective().of(trial.measurement);
    return least && reached && reached->low <= least->high;
  };
  const Trial* winner = &*fastest;
  for (const Trial& trial : right) {
    if (known && trial.configuration == known->configuration && tied(trial)) {
      winner = &trial;
    }
  }
  report_.best = Measured{winner->configuration, winner->measurement};
  note_broken(*winner);
  report_.readings = winner->readings;
  for (const Trial& trial : right) {
    if (&trial != winner && tied(trial)) {
      report_.tied.push_back({trial.configuration, trial.measurement});
    }
  }
  return winner;
}

void TuningSession::note_broken(const Trial& winner) {
  if (winner.position == default_position_) {
    return;  // it counts as likely
  }
  for (const std::size_t i : spaces_.broken(winner.configuration)) {
    report_.broken.push_back(spaces_.expectations()[i]);
  }
}

Result<std::optional<Record>> TuningSession::make_record(const Trial& winner) {
  Record record;
  record.configuration = winner.configuration;
  record.configuration_text = text(request_.spec.parameters, winner.configuration);
  record.measurement = winner.measurement;
  record.default_us = report_.default_measured ? report_.default_measured->measurement.median_us : 0.0;
  record.session = session_;
  record.trials = static_cast<std::int64_t>(trials_.size());
  record.artifact = winner.artifact;
  HONE_ASSIGN(const auto compiled,
              store_.find_compiled(compiled_key(request_.spec, request_.problem, record.configuration_text, request_.device.info)));
  if (compiled) {
    record.symbols = compiled->symbols;
  }
  record.environment = device_of(winner).environment;
  record.problem = request_.problem;
  return std::optional<Record>(std::move(record));
}

const DeviceInfo& TuningSession::device_of(const Trial& trial) const {
  const auto& others = request_.more_devices;
  const std::string& id = trial.final_device.empty() ? trial.device : trial.final_device;
  if (const DeviceInfo* const attached = evaluator_ ? evaluator_->device(id) : nullptr) {
    return *attached;
  }
  const auto other = std::ranges::find(others, id, &DeviceInfo::id);
  return other == others.end() ? request_.device.info : *other;
}

Result<TuneReport> TuningSession::report() {
  report_.session = session_;
  report_.device_id = key_.device.id;
  report_.devices = device_shares(split_device_ids(key_.device.id), trials_, controls_);
  for (DeviceShare& share : report_.devices) {
    share.final_round = share.id == final_device_;
  }
  report_.product = request_.device.info.product;
  report_.cartesian = space_.cartesian();
  report_.valid = space_.size();
  report_.likely = spaces_.likely()->size();
  report_.contradiction = spaces_.contradiction();
  report_.not_shared = space_.figures().deferred;
  report_.seconds = elapsed();
  report_.device_idle = evaluator_ ? evaluator_->device_idle() : 0.0;
  searcher_->end();
  report_.faults = searcher_->faults();
  report_.strategy_seconds = searcher_->seconds();
  report_.prior_trials = searcher_->prior_trials();
  const std::vector<std::string> of_evaluator = evaluator_ ? evaluator_->notes() : std::vector<std::string>();
  report_.notes.insert(report_.notes.begin(), of_evaluator.begin(), of_evaluator.end());
  if (only_the_default_was_tried()) {
    report_.notes.push_back(fmt::format(
        "nothing but the default was measured, which took {:.1f} s: a smaller --shape or a longer --budget leaves time to search",
        elapsed()));
  }
  if (report_.best && report_.default_measured) {
    const std::optional<Figure> usual = objective().of(report_.default_measured->measurement);
    const std::optional<Figure> best = objective().of(report_.best->measurement);
    report_.speedup = usual && best && best->value > 0.0 ? usual->value / best->value : 0.0;
  }
  return std::move(report_);
}

bool TuningSession::only_the_default_was_tried() const {
  std::int64_t trials = 0;
  for (const auto& [outcome, count] : report_.outcomes) {
    trials += count;
  }
  const bool wanted_more = !request_.budget.trials || *request_.budget.trials > 1;
  return trials == 1 && space_.size() > 1 && wanted_more && !report_.interrupted;
}

}  // namespace hone
