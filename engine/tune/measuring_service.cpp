#include "engine/tune/measuring_service.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "engine/tune/request_limits.hpp"

namespace hone {
namespace {

double seconds_in(const wire::Message& request, const char* key) {
  const auto found = request.find(key);
  return found != request.end() && found->is_number() ? found->get<double>() : 0.0;
}

/// The reply itself, if it is one.
template <class T, Result<T> (*Check)(const wire::Message&)>
Result<wire::Message> checked(const wire::Message& reply) {
  HONE_TRY(Check(reply));
  return reply;
}

}  // namespace

bool MeasuringService::knows(std::int64_t assignment) const {
  return std::ranges::find(served_, assignment, &Served::assignment) != served_.end();
}

MeasuringService::Served* MeasuringService::find(std::int64_t assignment) {
  const auto found = std::ranges::find(served_, assignment, &Served::assignment);
  return found == served_.end() ? nullptr : &*found;
}

Result<void> MeasuringService::set_up(std::int64_t assignment, wire::Message setup, const wire::Message& reference) {
  HONE_ASSIGN(const Compiled compiled, wire::read_compiled(reference));
  // An operation's kernels take turns on the device; what is older than that is over, or waits for its turn from the start.
  const auto beside = static_cast<std::size_t>(std::max(1, setup.value("shared_by", 1)));
  while (served_.size() >= beside) {
    served_.pop_back();
  }
  setup["device"] = wire::to_message(device_.info);
  setup["plugin"] = device_.plugin->file().string();
  setup["near"] = true;
  Served& served = served_.emplace_front(Served{assignment, StageLimits(!device_.info.compile_overlaps, std::nullopt), nullptr});
  served.workers = std::make_unique<DeviceWorkers>(context_, executable_, std::move(setup), device_.info, events_of(assignment));
  const Result<void> started = served.workers->start(compiled);
  if (!started) {
    served_.pop_front();
  }
  return started;
}

DeviceWorkers::Events MeasuringService::events_of(std::int64_t assignment) {
  const auto failed = [this, assignment](const Error& why) {
    if (request_ && asked_of_ == assignment && !sent_) {
      answer({{"unable", wire::to_message(why)}});
    }
    boost::asio::post(context_, [this, assignment] {  // it is what tells
      served_.remove_if([assignment](const Served& served) { return served.assignment == assignment; });
    });
  };
  return {.ready = [this] { send(); },
          .failed = failed,
          .no_reference = failed,
          .has_reference = [](const Compiled&) { return Result<void>(); },
          .limits =
              [this, assignment] {
                Served& served = *find(assignment);
                return preparing_limits(served.limits, [&served] { return served.workers->device_is_taken(); });
              }};
}

void MeasuringService::begin(std::int64_t assignment, const wire::Message& request, Answered answered) {
  answered_ = std::move(answered);
  request_ = request;
  asked_of_ = assignment;
  sent_ = false;
  send();
}

void MeasuringService::send() {
  Served* const served = find(asked_of_);
  if (!request_ || sent_ || served == nullptr) {
    return;
  }
  if (const Result<void> revived = served->workers->revive(); !revived) {
    answer({{"unable", wire::to_message(revived.error())}});
    return;
  }
  if (!served->workers->ready()) {
    return;
  }
  sent_ = true;
  began_ = std::chrono::steady_clock::now();
  const wire::Message request = *request_;
  const std::string operation = request.value("op", std::string());
  if (operation == "finals") {
    send(*served, request, checked<wire::FinalsResult, wire::read_finals>);
  } else if (operation == "count") {
    send(*served, request, checked<wire::CountResult, wire::read_count>);
  } else {
    send(*served, request, checked<wire::TrialResult, wire::read_trial>);
  }
}

void MeasuringService::send(Served& served, const wire::Message& request, Result<wire::Message> (*check)(const wire::Message&)) {
  if (const double usual = seconds_in(request, "usual"); usual > 0.0 && !served.limits.knows_default()) {
    served.limits.learn({.name = "a trial"}, usual);
    served.limits.learnt(usual);
    served.workers->keep_standby();
  }
  served.workers->use_verdicts(request.value("dropped", std::vector<std::string>()), request.value("held", std::vector<std::string>()));
  RequestLimits limits = request.contains("left") ? trial_limits(served.limits, [&served] { return served.workers->device_is_taken(); },
                                                                 {.total = seconds_in(request, "total"),
                                                                  .within = seconds_in(request, "left"),
                                                                  .beside = served.workers->fills_standby(),
                                                                  .on_host = !device_.info.compile_overlaps})
                                                  : RequestLimits::all(seconds_in(request, "total"));
  served.workers->worker().request<wire::Message>(
      request, std::move(limits), check,
      [this, assignment = served.assignment](const Result<wire::Message>& reply) { finished(assignment, reply); });
}

void MeasuringService::finished(std::int64_t assignment, const Result<wire::Message>& reply) {
  Served& served = *find(assignment);
  wire::Message answered =
      reply ? wire::Message{{"reply", *reply}}
            : wire::Message{{"error", wire::to_message(reply.error())}, {"stage", wire::to_message(served.workers->worker().stage())}};
  if (!reply || reply->value("fatal", false)) {
    served.workers->retire(!reply && reply.error().code == ErrorCode::kTimeout);
  }
  if (reply && !served.limits.knows_default()) {
    served.limits.learnt(std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count());
    served.workers->keep_standby();
  }
  answer(std::move(answered));
}

void MeasuringService::answer(wire::Message message) {
  if (request_->contains("note")) {
    message["note"] = request_->at("note");
  }
  request_.reset();
  std::exchange(answered_, nullptr)(std::move(message));
}

void MeasuringService::cancel() {
  if (request_ && sent_) {
    find(asked_of_)->workers->retire(true);
  }
  request_.reset();
  answered_ = nullptr;
}

}  // namespace hone
