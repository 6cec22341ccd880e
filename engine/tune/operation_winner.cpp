#include "engine/tune/operation_winner.hpp"

#include <optional>

#include "engine/tune/kernel_final.hpp"

namespace hone {
namespace {

Result<std::vector<double>> samples_again(Entrant& entrant, double seconds, bool graphs) {
  HONE_ASSIGN(const std::vector<Trial> timed, entrant.session->evaluator().time_again({*entrant.session->winner()}, seconds, graphs));
  std::vector<double> samples;
  for (const Trial& trial : timed) {
    samples.insert(samples.end(), trial.measurement.samples_us.begin(), trial.measurement.samples_us.end());
  }
  return samples;
}

}  // namespace

Result<void> OperationWinner::crown(const std::vector<Entrant*>& finalists) {
  if (finalists.empty()) {
    return {};
  }
  HONE_ASSIGN(const std::optional<OperationRecord> standing, store_.find_operation_record(key()));
  std::vector<KernelFinalist> timed;
  for (Entrant* const entrant : finalists) {
    const KernelSpec& spec = entrant->request.spec;
    const bool serves = standing && standing->kernel == spec.name && standing->source_hash == spec.source_hash;
    timed.push_back({.measured = *entrant->measured, .serves_already = serves, .time_again = [entrant](double seconds, bool graphs) {
                       return samples_again(*entrant, seconds, graphs);
                     }});
  }
  if (!entrants_.one_at_a_time()) {
    HONE_TRY(time_in_turns(timed, budget_.comparison_seconds()));
  }
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    of(*finalists[i]).beside_others = timed[i].measured;
    of(*finalists[i]).best_us = timed[i].measured.median_us;
  }
  const Entrant& winner = *finalists[*pick(timed)];
  of(winner).part = Part::kWon;
  report_.winner = winner.place;
  return keep(winner);
}

RecordKey OperationWinner::key() const {
  return operation_key(request_.operation->name, request_.problem, request_.common.device.info, entrants_.front().session->key().purpose);
}

Result<void> OperationWinner::keep(const Entrant& winner) {
  if (!request_.common.keeps_record) {
    return {};
  }
  OperationRecord record;
  record.kernel = winner.request.spec.name;
  record.source_hash = winner.request.spec.source_hash;
  record.session = winner.session->session();
  return store_.put_operation_record(key(), record);
}

Result<void> OperationWinner::keep_best() {
  const Entrant* best = nullptr;
  for (const auto& entrant : entrants_) {
    const TuningSession& session = *entrant->session;
    const std::optional<double> of_final = session.winner() ? std::optional(session.winner()->measurement.median_us) : std::nullopt;
    const std::optional<double> own = session.has_ended() ? of_final : session.best_us();
    of(*entrant).best_us = own;
    if (own && of(*entrant).part != Part::kFailed) {
      HONE_TRY(entrant->session->keep_best());
      of(*entrant).part = Part::kBehind;
      best = best == nullptr || *own < *of(*best).best_us ? entrant.get() : best;
    }
  }
  if (best == nullptr) {
    return {};
  }
  of(*best).part = Part::kWon;
  report_.winner = best->place;
  HONE_ASSIGN(const std::optional<OperationRecord> standing, store_.find_operation_record(key()));
  return standing ? Result<void>() : keep(*best);
}

}  // namespace hone
