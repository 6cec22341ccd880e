// The devices of a session on real ones: who takes part, and how their times are brought together.
#include <fmt/format.h>

#include <algorithm>

#include "engine/tune/live_evaluator.hpp"

namespace hone {

DeviceWorkers::Events LiveEvaluator::events_of(std::size_t place) {
  return {.ready = [this] { feed_devices(); },
          .failed = [this, place](const Error& why) { lost(place, why); },
          .no_reference = [this](Error why) { failure_ = std::move(why); },
          .has_reference = [this](const Compiled& reference) { return has_reference(reference); },
          .limits = [this, place] { return preparing(place); }};
}

void LiveEvaluator::add_lane(const DeviceInfo& info, const WorkerCommand& command, wire::Message setup) {
  setup["device"] = wire::to_message(info);
  setup["near"] = !request_.more_devices.empty() || request_.beside_others;
  lanes_.push_back(std::make_unique<DeviceLane>(
      lanes_.size(), info,
      std::make_unique<DeviceWorkers>(context_, command, std::move(setup), info, events_of(lanes_.size()), request_.idle_workers)));
}

std::size_t LiveEvaluator::taking_part() const {
  return static_cast<std::size_t>(std::ranges::count_if(lanes_, [this](const auto& lane) { return takes_part(*lane); }));
}

std::size_t LiveEvaluator::busy() const {
  return static_cast<std::size_t>(std::ranges::count_if(lanes_, [](const auto& lane) { return lane->busy(); }));
}

DeviceLane& LiveEvaluator::front() const {
  return **std::ranges::find_if(lanes_, [this](const auto& lane) { return takes_part(*lane); });  // the last never leaves
}

Result<void> LiveEvaluator::has_reference(const Compiled& reference) {
  for (std::size_t place = 1; place < lanes_.size(); ++place) {
    lanes_[place]->workers->use_reference(reference);
  }
  if (attached_) {
    attached_->use_reference(reference);  // for those that come later
  }
  return keep(key_of("reference"), reference);
}

void LiveEvaluator::resume(const Trial& standard) {
  const double seconds = standard.seconds.total() - standard.seconds.compile;
  limits_.learn({.name = "a trial"}, seconds);
  limits_.learnt(seconds);
  for (const auto& lane : lanes_) {
    lane->workers->keep_standby();
  }
  if (!several()) {
    return;
  }
  control_position_ = standard.position;
  reference_us_ = standard.measurement.median_us;
  controls_.set_reference(*reference_us_);
  if (request_.recorded != nullptr) {
    control_ = ReadyTrial{{standard.position, standard.configuration}, {}};
    return;
  }
  const auto cached = find_cached(key_of(text(request_.spec.parameters, standard.configuration)));
  if (cached && *cached) {
    control_ = ReadyTrial{{standard.position, standard.configuration}, **cached};
  } else {
    pool_.submit({{standard.position, standard.configuration}});
  }
}

std::vector<Control> LiveEvaluator::take_controls() { return has_news() ? std::exchange(news_, {}) : std::vector<Control>(); }

bool LiveEvaluator::wants_control(const DeviceLane& lane, bool has_trial) const {
  if (!control_ || !needs_control() || (first_waits_ && &lane == &front())) {
    return false;
  }
  return controls_.is_new(lane.place) || (has_trial && taking_part() > 1 && controls_.due(lane.place));
}

void LiveEvaluator::run_control(DeviceLane& lane) {
  lane.at = DeviceLane::At::kControl;
  wire::Message message = trial_message(*control_);
  RequestLimits limits = trying(lane, limits_.trial(left()), left(), message);
  lane.workers->worker().request<wire::TrialResult>(message, std::move(limits), wire::read_trial,
                                                    [this, &lane](Result<wire::TrialResult> reply) { controlled(lane, std::move(reply)); });
}

void LiveEvaluator::controlled(DeviceLane& lane, Result<wire::TrialResult> reply) {
  lane.at = DeviceLane::At::kNothing;
  const double seconds = Seconds(Clock::now() - lane.began).count();
  control_seconds_ += seconds;
  if (!reply || reply->fatal) {
    lane.workers->retire(!reply && reply.error().code == ErrorCode::kTimeout);
  }
  if (reply && reply->asks_default && !control_->with_default && !default_failed_) {  // of what stands in for the default
    control_->with_default = true;
    ask_for_default();
    feed_devices();
    return;
  }
  if (!reply) {
    controls_.failed(lane.place, reply.error().message);
  } else if (reply->trial.outcome != Outcome::kOk) {
    controls_.failed(lane.place, fmt::format("{}: {}", name(reply->trial.outcome), reply->trial.detail));
  } else {
    lane.workers->use_verdicts(reply->dropped, reply->held);
    controls_.ran(lane.place, reply->trial.measurement.median_us, seconds);
    news_.push_back({.device = lane.info.id,
                     .measurement = std::move(reply->trial.measurement),
                     .readings = reply->trial.readings,
                     .factor = controls_.factor(lane.place),
                     .left = {}});
  }
  feed_devices();
}

void LiveEvaluator::note_reference(const DeviceLane& lane, const Trial& trial, double seconds) {
  if (reference_us_ || trial.position != control_position_ || trial.outcome != Outcome::kOk) {
    return;
  }
  reference_us_ = trial.measurement.median_us;
  controls_.set_reference(*reference_us_);
  controls_.ran(lane.place, *reference_us_, seconds);
  for (Control& early : news_) {
    const auto of = std::find_if(lanes_.rbegin(), lanes_.rend(), [&](const auto& each) { return each->info.id == early.device; });
    early.factor = controls_.factor((*of)->place);
  }
  news_.push_back({.device = lane.info.id, .measurement = trial.measurement, .readings = trial.readings, .factor = 1.0, .left = {}});
}

void LiveEvaluator::bring_together(const DeviceLane& lane, Trial& trial) const {
  trial.device = lane.info.id;
  trial.factor = controls_.factor(lane.place);
  for (double* const us : {&trial.measurement.median_us, &trial.measurement.ci95_low_us, &trial.measurement.ci95_high_us}) {
    *us *= trial.factor;
  }
}

void LiveEvaluator::lost(std::size_t place, const Error& why) {
  DeviceLane& lane = *lanes_[place];
  if (!takes_part(lane)) {
    return;
  }
  if (taking_part() == 1 && lane.remote) {
    lane.why = why.message;
    lane.vacant = true;  // somebody else may come
    vacant_since_ = Clock::now();
    if (lane.at == DeviceLane::At::kTrial) {
      take_back(lane);
    }
    lane.at = DeviceLane::At::kNothing;
    return;
  }
  if (taking_part() == 1) {
    failure_ = why;
    return;
  }
  leave(lane, why.message, false);
  feed_devices();
}

void LiveEvaluator::leave(DeviceLane& lane, const std::string& why, bool of_all) {
  lane.why = why;
  lane.left = true;
  if (of_all) {
    left_->insert(lane.info.id);
  }
  follow_departures();
}

void LiveEvaluator::take_back(DeviceLane& lane) {
  first_waits_ = first_waits_ || (!limits_.knows_default() && lane.current.proposal.position == *first_);
  ready_.push_front(std::move(lane.current));
}

void LiveEvaluator::follow_departures() {
  for (const auto& lane : lanes_) {
    if (lane->closed || takes_part(*lane)) {
      continue;
    }
    if (lane->at == DeviceLane::At::kTrial) {
      take_back(*lane);
    }
    lane->at = DeviceLane::At::kNothing;
    lane->closed = true;
    lane->workers->close();
    controls_.leave(lane->place);
    news_.push_back(
        {.device = lane->info.id, .measurement = {}, .readings = {}, .factor = controls_.factor(lane->place), .left = lane->why});
  }
}

}  // namespace hone
