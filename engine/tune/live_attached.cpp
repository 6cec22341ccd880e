// The attached workers of a session: who comes, who goes, and what becomes of what they were at.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "engine/tune/live_evaluator.hpp"
#include "engine/tune/request_limits.hpp"
#include "engine/worker/worker.hpp"

namespace hone {
namespace {

constexpr double kVacantSeconds = 120.0;  // that a session waits for somebody when all have left
constexpr std::size_t kMostEnded = 2;     // workers, by one configuration: one may have been lost by chance

}  // namespace

Result<void> LiveEvaluator::attach() {
  AttachedWorkers::Events events{.came = [this](const AttachedWorker& worker, const DeviceInfo& info) { came(worker, info); },
                                 .left = [this](std::int64_t worker, const Error& why, bool lost) { worker_left(worker, why, lost); },
                                 .refused = [this](const std::string& note) { notes_.push_back(note); },
                                 .compilers = [this](std::size_t compilers) { compile_elsewhere(compilers); },
                                 .failed = [this](Error why) { failure_ = std::move(why); },
                                 .looked = [this] { check_vacancy(); }};
  HONE_ASSIGN(attached_, AttachedWorkers::begin(context_, *request_.workers, session_, setup_, request_.device.info, std::move(events)));
  HONE_ASSIGN(leftovers_, attached_->take_leftovers());
  HONE_ASSIGN(lost_with_, attached_->losses());
  return {};
}

void LiveEvaluator::compile_elsewhere(std::size_t compilers) {
  // CUDA's own headers are files of this host; all else that a kernel includes is in its spec.
  if (request_.recorded != nullptr || !request_.spec.cuda_headers.empty()) {
    return;
  }
  pool_.set_elsewhere(compilers, [this](const wire::Message& request, std::function<void(Result<wire::CompileResult>)> answered) {
    attached_->compile(request, [this, answered = std::move(answered)](const Result<wire::Message>& answer) {
      if (!answer) {
        answered(answer.error());
        return;
      }
      Error error{ErrorCode::kCompile, "a worker sent a garbled message"};
      if (answer->contains("reply")) {
        answered(wire::read_compile(answer->at("reply")));
        return;
      }
      if (answer->contains("error")) {
        static_cast<void>(wire::read_error(answer->at("error"), error));
      } else if (answer->contains("unable")) {
        static_cast<void>(wire::read_error(answer->at("unable"), error));
        notes_.push_back("workers cannot compile for this session: " + error.message);
        pool_.set_elsewhere(0, {});
        error.code = ErrorCode::kUnavailable;
      }
      answered(error);
    });
  });
}

Result<void> LiveEvaluator::prepare_reference(const std::optional<Compiled>& reference) {
  if (request_.recorded != nullptr) {
    attached_->needs_no_reference();
    return {};
  }
  if (reference) {
    attached_->use_reference(*reference);
    return {};
  }
  HONE_ASSIGN(const std::filesystem::path executable, find_worker());
  HONE_ASSIGN(reference_compiler_, ReferenceCompiler::start(
                                       context_, executable, setup_, [this] { return preparing_limits(limits_, [] { return false; }); },
                                       [this](const Result<Compiled>& compiled) {
                                         if (!compiled) {
                                           failure_ = compiled.error();
                                         } else if (const Result<void> kept = keep(key_of("reference"), *compiled); !kept) {
                                           failure_ = kept.error();
                                         } else {
                                           attached_->use_reference(*compiled);
                                           feed_devices();
                                         }
                                       }));
  return {};
}

Result<void> LiveEvaluator::await_worker() {
  vacant_since_ = Clock::now();
  while (lanes_.empty() && !failure_) {
    context_.restart();
    context_.run_one();
  }
  return failure_ ? Result<void>(*failure_) : Result<void>();
}

void LiveEvaluator::came(const AttachedWorker& worker, const DeviceInfo& info) {
  if (left_->contains(info.id)) {
    notes_.push_back(fmt::format("the worker {} takes no part: it left this session before", worker.name));
    return;
  }
  controls_.add();
  lanes_.push_back(std::make_unique<DeviceLane>(lanes_.size(), info, std::make_unique<RemoteWorkers>(*attached_, worker.id)));
  lanes_.back()->remote = worker.id;
  vacant_since_.reset();
  for (const auto& lane : lanes_) {
    if (lane->vacant && takes_part(*lane)) {
      lane->vacant = false;
      leave(*lane, lane->why, false);
    }
  }
  feed_devices();
}

void LiveEvaluator::worker_left(std::int64_t worker, const Error& why, bool with_work) {
  // A worker that was away and came back has a second lane.
  const auto of =
      std::find_if(lanes_.rbegin(), lanes_.rend(), [worker](const auto& lane) { return lane->remote == worker && !lane->closed; });
  if (of == lanes_.rend()) {
    return;
  }
  DeviceLane& lane = **of;
  if (with_work && lane.at == DeviceLane::At::kTrial) {
    lost_with_[text(request_.spec.parameters, lane.current.proposal.configuration)].push_back(lane.info.id);
    if (ends_workers(lane.current.proposal.configuration)) {
      lane.at = DeviceLane::At::kNothing;
      charge(std::move(lane.current));
    }
  }
  lost(lane.place, why);
}

bool LiveEvaluator::ends_workers(const Configuration& configuration) const {
  const auto found = lost_with_.find(text(request_.spec.parameters, configuration));
  return found != lost_with_.end() && found->second.size() >= kMostEnded;
}

void LiveEvaluator::charge(ReadyTrial ready) {
  Trial trial;
  trial.configuration = std::move(ready.proposal.configuration);
  trial.position = ready.proposal.position;
  trial.outcome = Outcome::kIllegalAccess;
  trial.detail = fmt::format("it ended the workers that tried it: {}",
                             fmt::join(lost_with_[text(request_.spec.parameters, trial.configuration)], ", "));
  trial.resources = ready.compiled.resources;
  trial.artifact = ready.compiled.artifact ? ready.compiled.artifact->digest : "";
  trial.seconds.compile = ready.compile_seconds;
  first_waits_ = first_waits_ && trial.position != *first_;
  finished_.push_back(std::move(trial));
}

std::vector<Configuration> LiveEvaluator::leftovers() const {
  std::vector<Configuration> configurations;
  for (const auto& [label, answer] : leftovers_) {
    if (Result<Configuration> configuration = parse_configuration(request_.spec.parameters, label)) {
      configurations.push_back(std::move(configuration).value());
    }
  }
  return configurations;
}

bool LiveEvaluator::answer_from_leftovers(const Proposal& proposal) {
  const auto found = leftovers_.find(text(request_.spec.parameters, proposal.configuration));
  if (found == leftovers_.end()) {
    if (ends_workers(proposal.configuration)) {
      charge({proposal, {}});
      return true;
    }
    return false;
  }
  const wire::Message answer = std::move(leftovers_.extract(found).mapped());
  // What it was asked is beside the answer, and what that was worth.
  if (!limits_.knows_default() || !answer.is_object() || !answer.contains("reply") || !answer.contains("note")) {
    return false;
  }
  Result<wire::TrialResult> result = wire::read_trial(answer.at("reply"));
  const wire::Message& note = answer.at("note");
  if (!result || !note.is_object() || result->fatal || result->blameless || result->asks_default) {
    return false;
  }
  const auto number = [&note](const char* key, double otherwise) {
    const auto field = note.find(key);
    return field != note.end() && field->is_number() ? field->get<double>() : otherwise;
  };
  const double factor = number("factor", 1.0);
  const auto device = note.find("device");
  if (!std::isfinite(factor) || factor <= 0.0 || device == note.end() || !device->is_string()) {
    return false;
  }
  Trial trial = std::move(result->trial);
  trial.configuration = proposal.configuration;
  trial.position = proposal.position;
  trial.device = device->get<std::string>();
  trial.factor = factor;
  trial.seconds.compile = number("compile", 0.0);
  if (const auto cached = find_cached(key_of(text(request_.spec.parameters, proposal.configuration))); cached && *cached) {
    trial.artifact = (*cached)->artifact->digest;
  }
  for (double* const us : {&trial.measurement.median_us, &trial.measurement.ci95_low_us, &trial.measurement.ci95_high_us}) {
    *us *= trial.factor;
  }
  finished_.push_back(std::move(trial));
  return true;
}

void LiveEvaluator::check_vacancy() {
  if (vacant_since_ && Seconds(Clock::now() - *vacant_since_).count() > kVacantSeconds) {
    failure_ = Error{ErrorCode::kUnavailable,
                     fmt::format("no worker is attached any more ({}); the same command resumes the session when there is one",
                                 lanes_.empty() ? "none came" : lanes_.back()->why)};
  }
}

const DeviceInfo* LiveEvaluator::device(const std::string& id) const {
  const auto found = std::find_if(lanes_.rbegin(), lanes_.rend(), [&](const auto& lane) { return lane->info.id == id; });
  return found == lanes_.rend() ? nullptr : &(*found)->info;
}

}  // namespace hone
