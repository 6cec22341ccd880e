#include "engine/tune/serve_trials.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <limits>
#include <memory>

#include "engine/store/store_server.hpp"
#include "engine/tune/attached_workers.hpp"
#include "engine/tune/compiling_service.hpp"
#include "engine/tune/measuring_service.hpp"
#include "engine/tune/replaying_service.hpp"
#include "engine/worker/queue_watch.hpp"
#include "engine/worker/worker.hpp"
#include "hone/version.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr double kPollSeconds = 2.0;       // without notices, which may be lost with a connection
constexpr double kTroubleSeconds = 600.0;  // that a server may be away before a worker gives up

double seconds_since(Clock::time_point begin) { return Seconds(Clock::now() - begin).count(); }

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "host";
}

/// A field's text; empty where it has none.
std::string text_of(const wire::Message& message, const char* key) {
  const auto found = message.is_object() ? message.find(key) : message.end();
  return found != message.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// One row of `worker`: takes work of one kind, one piece at a time.
class Server {
 public:
  Server(boost::asio::io_context& context, std::unique_ptr<WorkQueue> queue, AttachedWorker worker, std::unique_ptr<WorkService> service,
         const ServeRequest& request, ServeReport& report)
      : queue_(std::move(queue)),
        worker_(std::move(worker)),
        wanted_name_(worker_.name),
        service_(std::move(service)),
        request_(request),
        report_(report),
        watch_(context, *queue_, std::min(kPollSeconds, heartbeat_seconds()), [this] { look(); }) {}

  Result<void> attach() {
    worker_.name = wanted_name_;
    HONE_TRY(queue_->attach(worker_));
    beat_at_ = Clock::now();
    report_.workers.push_back(worker_.name);
    tell({.what = ServeEvent::What::kAttached, .worker = worker_.name, .detail = worker_.product});
    return {};
  }
  /// Gives back what it is at.
  void leave(const std::string& why) {
    if (work_ && unsent_ && send()) {
      work_.reset();
    }
    if (work_) {
      service_->cancel();
      if (queue_->give_back(work_->id, worker_.id)) {
        ++report_.given_back;
        tell({.what = ServeEvent::What::kGivenBack, .worker = worker_.name, .detail = why});
      }
      work_.reset();
    }
    static_cast<void>(queue_->detach(worker_.id, why));  // else its lease ends
    tell({.what = ServeEvent::What::kLeft, .worker = worker_.name, .detail = why});
  }
  [[nodiscard]] const std::optional<Error>& ended() const { return ended_; }
  [[nodiscard]] bool busy() const { return work_.has_value(); }
  [[nodiscard]] double idle_seconds() const { return work_ ? 0.0 : seconds_since(idle_since_); }

 private:
  void tell(const ServeEvent& event) const {
    if (request_.on_event) {
      request_.on_event(event);
    }
  }

  void look() {
    if (ended_) {
      return;
    }
    Result<void> done = beat();
    if (done && unsent_) {
      done = send();
    }
    if (done && !work_ && !ended_) {
      done = claim();
      if (!done) {
        work_.reset();  // it comes again
      }
    }
    if (done) {
      trouble_since_.reset();
      return;
    }
    trouble_since_ = trouble_since_.value_or(Clock::now());
    tell({.what = ServeEvent::What::kTrouble, .worker = worker_.name, .detail = done.error().message});
    if (seconds_since(*trouble_since_) > kTroubleSeconds) {
      ended_ = done.error();
    }
  }

  /// Every few seconds, and where there are news of what it is at.
  Result<void> beat() {
    if (!work_ && seconds_since(beat_at_) < heartbeat_seconds()) {
      return {};
    }
    HONE_ASSIGN(const WorkerStanding standing, queue_->beat(worker_.id, work_ ? work_->id : 0));
    beat_at_ = Clock::now();
    if (!standing.attached) {
      lose("it was not heard of for so long that it counted as lost");
      return attach();
    }
    if (!standing.dismissed.empty()) {
      ended_ = Error{ErrorCode::kDevice, fmt::format("{} has to go: {}", worker_.name, standing.dismissed)};
      return {};
    }
    if (work_ && !standing.wanted) {
      lose("nobody wants it any more");
    }
    return {};
  }

  void lose(const std::string& why) {
    if (work_) {
      service_->cancel();
      work_.reset();
      unsent_.reset();
      idle_since_ = Clock::now();
      tell({.what = ServeEvent::What::kLost, .worker = worker_.name, .detail = why});
    }
  }

  Result<void> claim() {
    HONE_ASSIGN(std::optional<ClaimedWork> claimed, queue_->claim(worker_, latest_));
    if (!claimed) {
      return {};
    }
    work_ = std::move(claimed);
    began_ = Clock::now();
    latest_ = work_->assignment;
    try {
      return begin();
    } catch (const wire::Message::exception& broken) {  // a row that another Hone, or a person, has written
      service_->cancel();
      answer({{"unable", wire::to_message(Error{ErrorCode::kStore, fmt::format("the request is garbled: {}", broken.what())})}});
      return {};
    }
  }

  Result<void> begin() {
    if (!service_->knows(latest_)) {
      HONE_ASSIGN(const std::optional<Assignment> assignment, queue_->assignment(latest_));
      if (!assignment) {
        lose("the session is over");
        return {};
      }
      if (const Result<void> ready = set_up(*assignment); !ready) {
        answer({{"unable", wire::to_message(ready.error())}});
        return {};
      }
    }
    Result<wire::Message> message = message_of(work_->request);
    if (!message || !message->is_object()) {
      answer({{"unable", wire::to_message(Error{ErrorCode::kStore, "the request is garbled"})}});
      return {};
    }
    asked_ = std::move(message).value();
    service_->begin(latest_, asked_, [this](wire::Message reply) { answer(std::move(reply)); });
    return {};
  }

  Result<void> set_up(const Assignment& assignment) {
    HONE_ASSIGN(wire::Message setup, message_of(assignment.setup));
    wire::Message reference;
    if (!assignment.reference.empty()) {
      HONE_ASSIGN(reference, message_of(assignment.reference));
    }
    return service_->set_up(latest_, std::move(setup), reference);
  }

  void answer(wire::Message message) {
    const double seconds = seconds_since(began_);
    report_.busy_seconds += seconds;
    count(message, seconds);
    unsent_ = to_bytes(message);
    watch_.soon();
  }

  /// Again, where the server was away: what was measured is not measured twice.
  Result<void> send() {
    HONE_ASSIGN(const bool kept, queue_->answer(work_->id, worker_.id, *unsent_));
    if (!kept) {
      tell({.what = ServeEvent::What::kLost, .worker = worker_.name, .detail = "its answer came too late: it counted as lost"});
    }
    unsent_.reset();
    work_.reset();
    idle_since_ = Clock::now();
    return {};
  }

  void count(const wire::Message& message, double seconds) {
    ServeEvent event{.worker = worker_.name, .seconds = seconds};
    if (const auto reply = message.find("reply"); reply != message.end()) {
      const std::string outcome = text_of(*reply, "outcome");
      event.outcome = outcome.empty() ? "done" : outcome;
    } else {
      Error error{ErrorCode::kDevice, ""};
      static_cast<void>(wire::read_error(message.contains("error") ? message.at("error") : message.at("unable"), error));
      event.detail = error.message;
      ++report_.failed;
    }
    const std::string operation = text_of(asked_, "op");
    if (!work_->measure) {
      const auto configurations = asked_.find("configurations");
      report_.compiled += configurations == asked_.end() ? 0 : static_cast<std::int64_t>(configurations->size());
      event.what = ServeEvent::What::kCompiled;
    } else if (operation != "trial") {
      ++report_.finals;
      event.what = ServeEvent::What::kFinals;
    } else {
      event.configuration = text_of(asked_, "configuration");
      const auto tried = asked_.find("tried");
      event.what = tried != asked_.end() && *tried == true ? ServeEvent::What::kTrial : ServeEvent::What::kControl;
      ++(event.what == ServeEvent::What::kTrial ? report_.trials : report_.controls);
    }
    tell(event);
  }

  std::unique_ptr<WorkQueue> queue_;
  AttachedWorker worker_;
  const std::string wanted_name_;
  std::unique_ptr<WorkService> service_;
  const ServeRequest& request_;
  ServeReport& report_;
  std::optional<ClaimedWork> work_;
  std::optional<WorkBytes> unsent_;  ///< its answer
  wire::Message asked_;
  std::int64_t latest_ = 0;
  std::optional<Error> ended_;
  Clock::time_point began_, beat_at_, idle_since_ = Clock::now();
  std::optional<Clock::time_point> trouble_since_;
  QueueWatch watch_;
};

/// The servers of a request, attached.
Result<std::vector<std::unique_ptr<Server>>> make_servers(boost::asio::io_context& context, const ServeRequest& request,
                                                          const Registry& registry, ServeReport& report) {
  HONE_ASSIGN(const std::filesystem::path executable, find_worker());
  std::vector<std::unique_ptr<Server>> servers;
  const auto add = [&](AttachedWorker worker, std::unique_ptr<WorkService> service) -> Result<void> {
    HONE_ASSIGN(std::unique_ptr<WorkQueue> queue, open_work_queue(request.store));
    worker.version = HONE_VERSION;
    servers.push_back(std::make_unique<Server>(context, std::move(queue), std::move(worker), std::move(service), request, report));
    return servers.back()->attach();
  };
  if (request.device) {
    const DeviceInfo& info = request.device->info;
    AttachedWorker worker{.name = fmt::format("{}/{}", host_name(), info.id),
                          .version = {},
                          .measures = true,
                          .product = info.product,
                          .device = to_bytes(wire::to_message(info))};
    std::unique_ptr<WorkService> service;
    if (request.recorded != nullptr) {
      service = std::make_unique<ReplayingService>(context, *request.recorded, request.pace);
    } else {
      service = std::make_unique<MeasuringService>(context, executable, *request.device);
    }
    HONE_TRY(add(std::move(worker), std::move(service)));
  }
  for (int i = 0; i < request.compilers; ++i) {
    AttachedWorker worker{.name = fmt::format("{}/compiler", host_name()), .version = {}, .targets = request.targets};
    HONE_TRY(add(std::move(worker), std::make_unique<CompilingService>(context, executable, registry)));
  }
  return servers;
}

}  // namespace

std::string_view name(ServeEvent::What what) {
  constexpr std::array<std::string_view, 9> kNames{"attached",   "trial", "control", "finals", "compiled",
                                                   "given_back", "lost",  "trouble", "left"};
  return kNames.at(static_cast<std::size_t>(what));
}

std::vector<std::string> compile_targets(const Registry& registry) {
  std::vector<std::string> targets;
  for (const auto& plugin : registry.devices()) {
    const std::optional<std::string> compiler = compiler_here(*plugin);
    if (!compiler) {
      continue;
    }
    // Of families whose code goes for all hosts; their devices may name no compiler.
    DeviceInfo any;
    any.plugin = plugin->name();
    any.compile_overlaps = true;
    targets.push_back(compile_target(any));
    any.environment["compiler"] = *compiler;
    targets.push_back(compile_target(any));
    if (const auto infos = plugin->enumerate()) {
      for (const DeviceInfo& info : *infos) {
        targets.push_back(compile_target(info));
      }
    }
  }
  std::ranges::sort(targets);
  targets.erase(std::ranges::unique(targets).begin(), targets.end());
  return targets;
}

Result<ServeReport> serve_trials(const ServeRequest& request, const Registry& registry) {
  ServeReport report;
  const Clock::time_point begin = Clock::now();
  boost::asio::io_context context;
  const std::stop_callback<std::function<void()>> on_stop(request.stop, [&context] { boost::asio::post(context, [] {}); });
  HONE_ASSIGN(const std::vector<std::unique_ptr<Server>> servers, make_servers(context, request, registry, report));
  const Server* ended = nullptr;
  while (!request.stop.stop_requested() && ended == nullptr) {
    context.restart();
    context.run_one();
    const auto over = std::ranges::find_if(servers, [](const auto& server) { return server->ended().has_value(); });
    ended = over == servers.end() ? nullptr : over->get();
    if (std::ranges::all_of(servers, [&](const auto& server) { return server->idle_seconds() >= request.idle_seconds; })) {
      report.why = fmt::format("there was nothing to do for {:.0f} s", request.idle_seconds);
      break;
    }
  }
  report.why = ended != nullptr ? ended->ended()->message : report.why.empty() ? "it was asked to stop" : report.why;
  for (const auto& server : servers) {
    server->leave(report.why);
  }
  report.seconds = seconds_since(begin);
  return ended != nullptr ? Result<ServeReport>(*ended->ended()) : Result<ServeReport>(std::move(report));
}

}  // namespace hone
