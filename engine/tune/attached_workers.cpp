#include "engine/tune/attached_workers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstring>
#include <random>
#include <thread>

#include "engine/device/device_key.hpp"
#include "engine/store/store_server.hpp"
#include "hone/version.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kLookSeconds = 1.0;  // without notices, which may be lost with a connection

/// Of this process alone, so that what is written twice over a lost connection is one piece of work.
std::string new_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

Result<DeviceInfo> device_of(const AttachedWorker& worker) {
  HONE_ASSIGN(const wire::Message message, message_of(worker.device));
  HONE_ASSIGN(DeviceInfo info, wire::read_device(message));
  info.id = worker.name;
  return info;
}

}  // namespace

WorkBytes to_bytes(const wire::Message& message) {
  const std::vector<std::uint8_t> encoded = wire::encode(message);
  WorkBytes bytes(encoded.size() - wire::kHeaderBytes);
  std::memcpy(bytes.data(), encoded.data() + wire::kHeaderBytes, bytes.size());
  return bytes;
}

Result<wire::Message> message_of(const WorkBytes& bytes) {
  return wire::decode(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

std::string device_difference(const DeviceInfo& one, const DeviceInfo& other) {
  const auto differ = [](std::string_view what, const std::string& ours, const std::string& theirs) {
    return ours == theirs
               ? ""
               : fmt::format("its {} is {}, this session's {}", what, theirs.empty() ? "none" : theirs, ours.empty() ? "none" : ours);
  };
  for (const std::string& found :
       {differ("product", one.product, other.product), differ("architecture", one.architecture, other.architecture),
        differ("MIG profile", one.mig_profile, other.mig_profile), differ("share of the device", one.share, other.share)}) {
    if (!found.empty()) {
      return found;
    }
  }
  const std::string rest = difference(one, other);
  return rest.empty() ? "" : "it is another device: " + rest;
}

std::string compile_target(const DeviceInfo& info) {
  // Code for the host's own cores may use all that they have, so only the same ones run it.
  const std::string family = info.compile_overlaps ? info.plugin : fmt::format("{} {} {}", info.plugin, info.product, info.architecture);
  const auto compiler = info.environment.find("compiler");
  return compiler == info.environment.end() ? family : fmt::format("{} by {}", family, compiler->second);
}

std::optional<std::string> compiler_here(const DevicePlugin& plugin) {
  const Result<std::string> version = plugin.compiler_version();
  return version ? std::optional(version->substr(0, version->find(" ("))) : std::nullopt;  // without its path
}

Result<DeviceInfo> attached_device(const std::string& store, const std::string& product, double seconds, const std::stop_token& stop) {
  constexpr auto kPause = std::chrono::milliseconds(200);
  HONE_ASSIGN(const std::unique_ptr<WorkQueue> queue, open_work_queue(store));
  const Clock::time_point until = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  for (;;) {
    HONE_ASSIGN(const std::vector<AttachedWorker> workers, queue->workers());
    std::set<std::string> products;
    const AttachedWorker* first = nullptr;
    for (const AttachedWorker& worker : workers) {
      if (worker.measures && worker.version == HONE_VERSION && worker.product.find(product) != std::string::npos) {
        products.insert(worker.product);
        first = first == nullptr ? &worker : first;
      }
    }
    if (products.size() > 1) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("the attached workers are of different products ({}): give --workers=PRODUCT, a part of one's name",
                               fmt::join(products, ", "))};
    }
    if (first != nullptr) {
      return device_of(*first);
    }
    if (stop.stop_requested()) {
      return Error{ErrorCode::kCancelled, "asked to stop before a worker was attached"};
    }
    if (Clock::now() >= until) {
      return Error{ErrorCode::kUnavailable,
                   fmt::format("no worker {}of Hone {} is attached to the store that measures: start hone serve-trials --store URL on the "
                               "hosts with devices",
                               product.empty() ? "" : fmt::format("with {} in its product's name ", product), HONE_VERSION)};
    }
    std::this_thread::sleep_for(kPause);
  }
}

AttachedWorkers::AttachedWorkers(boost::asio::io_context& context, std::unique_ptr<WorkQueue> queue, std::int64_t session,
                                 DeviceInfo device, Events events)
    : context_(context),
      queue_(std::move(queue)),
      session_(session),
      device_(std::move(device)),
      events_(std::move(events)),
      token_(new_token()),
      watch_(context, *queue_, std::min(kLookSeconds, heartbeat_seconds()), [this] { look(); }) {}

AttachedWorkers::~AttachedWorkers() {
  static_cast<void>(queue_->end(assignment_));  // the next run of the session ends it as well
}

Result<std::unique_ptr<AttachedWorkers>> AttachedWorkers::begin(boost::asio::io_context& context, const std::string& store,
                                                                std::int64_t session, const wire::Message& setup, const DeviceInfo& device,
                                                                Events events) {
  HONE_ASSIGN(std::unique_ptr<WorkQueue> queue, open_work_queue(store));
  HONE_ASSIGN(const std::int64_t assignment, queue->begin(session, to_bytes(setup)));
  std::unique_ptr<AttachedWorkers> attached(new AttachedWorkers(context, std::move(queue), session, device, std::move(events)));
  attached->assignment_ = assignment;
  return attached;
}

std::int64_t AttachedWorkers::publish(WorkOrder work, Handler handler) {
  work.assignment = assignment_;
  work.token = fmt::format("{}{}", token_, ++published_);
  const Result<std::int64_t> id = queue_->publish(work);
  if (!id) {
    fail(id.error());
    return 0;
  }
  pending_[*id] = {work.worker, std::move(handler)};
  watch_.soon();
  return *id;
}

std::int64_t AttachedWorkers::ask(std::int64_t worker, const std::string& label, const wire::Message& message, Handler handler) {
  return publish({.worker = worker, .label = label, .request = to_bytes(message)}, std::move(handler));
}

std::int64_t AttachedWorkers::compile(const wire::Message& message, Handler handler) {
  return publish({.worker = std::nullopt, .target = compile_target(device_), .request = to_bytes(message)}, std::move(handler));
}

void AttachedWorkers::withdraw(std::int64_t work) {
  if (pending_.erase(work) > 0) {
    if (const Result<void> done = queue_->withdraw(work); !done) {
      fail(done.error());
    }
  }
}

void AttachedWorkers::use_reference(const Compiled& reference) {
  if (has_reference_) {
    return;
  }
  if (const Result<void> kept = queue_->set_reference(assignment_, to_bytes(wire::to_message(reference))); !kept) {
    fail(kept.error());
    return;
  }
  has_reference_ = true;
}

void AttachedWorkers::dismiss(std::int64_t worker, const std::string& why) {
  if (const Result<void> done = queue_->dismiss(worker, why); !done) {
    fail(done.error());
  }
}

void AttachedWorkers::hand_over() {
  handed_over_.insert(handed_over_.end(), answered_.begin(), answered_.end());
  answered_.clear();
}

void AttachedWorkers::recorded() {
  if (const Result<void> taken = queue_->take(handed_over_); !taken) {
    fail(taken.error());
  }
  handed_over_.clear();
}

Result<std::map<std::string, wire::Message>> AttachedWorkers::take_leftovers() {
  HONE_ASSIGN(const std::vector<WorkResult> left, queue_->leftovers(session_));
  std::map<std::string, wire::Message> answers;
  for (const WorkResult& result : left) {
    if (Result<wire::Message> message = message_of(result.reply)) {
      answers.insert_or_assign(result.label, std::move(message).value());
    }
    answered_.push_back(result.id);
  }
  return answers;
}

Result<std::map<std::string, std::vector<std::string>>> AttachedWorkers::losses() {
  HONE_ASSIGN(const std::vector<WorkResult> lost, queue_->losses(session_));
  std::map<std::string, std::vector<std::string>> names;
  for (const WorkResult& result : lost) {
    std::ranges::copy(result.ended, std::back_inserter(names[result.label]));
  }
  return names;
}

void AttachedWorkers::fail(const Error& why) {
  if (!std::exchange(failed_, true)) {
    boost::asio::post(context_, [this, why, here = std::weak_ptr<bool>(here_)] {
      if (here.lock()) {
        events_.failed(why);
      }
    });
  }
}

void AttachedWorkers::look() {
  if (failed_) {
    return;
  }
  Result<void> done = take_results();
  if (const Clock::time_point now = Clock::now();
      done && now - looked_at_workers_ >= std::chrono::duration<double>(std::min(kLookSeconds, heartbeat_seconds()) / 2)) {
    looked_at_workers_ = now;
    done = look_at_workers();
    if (done) {
      events_.looked();
    }
  }
  if (!done) {
    fail(done.error());
  }
}

Result<void> AttachedWorkers::take_results() {
  HONE_ASSIGN(const std::vector<WorkResult> results, queue_->results(assignment_));
  const std::weak_ptr<bool> here(here_);
  for (const WorkResult& result : results) {
    const bool known = std::ranges::count(answered_, result.id) + std::ranges::count(handed_over_, result.id) > 0;
    if (known) {
      continue;
    }
    answered_.push_back(result.id);
    const auto found = pending_.find(result.id);
    if (found == pending_.end()) {
      continue;
    }
    const Pending pending = std::move(found->second);
    pending_.erase(found);
    if (result.state == WorkState::kDone) {
      answered(pending, message_of(result.reply));
    } else if (!pending.worker) {
      pending.handler(Error{ErrorCode::kCompile, fmt::format("it ended two workers: {}", fmt::join(result.ended, ", "))});
    } else if (there_.contains(*pending.worker)) {
      const std::string name = there_.extract(*pending.worker).mapped();
      const bool lost = result.state == WorkState::kLost;
      events_.left(
          *pending.worker,
          {ErrorCode::kDevice, lost ? fmt::format("the worker {} was lost", name)
                                    : fmt::format("the worker {} left: {}", name, result.reason.empty() ? "it had to go" : result.reason)},
          lost);
    }
    if (here.expired()) {
      return {};
    }
  }
  return {};
}

void AttachedWorkers::answered(const Pending& pending, const Result<wire::Message>& answer) {
  const bool unable = answer && answer->is_object() && answer->contains("unable");
  if (!unable || !pending.worker || !there_.contains(*pending.worker)) {
    pending.handler(answer);
    return;
  }
  Error why{ErrorCode::kDevice, "it cannot say why"};
  static_cast<void>(wire::read_error(answer->at("unable"), why));
  const std::string name = there_.extract(*pending.worker).mapped();
  refused_.insert(*pending.worker);
  events_.left(*pending.worker, {why.code, fmt::format("the worker {} cannot measure for this session: {}", name, why.message)}, false);
}

void AttachedWorkers::consider(const AttachedWorker& worker) {
  if (!worker.measures || there_.contains(worker.id) || refused_.contains(worker.id)) {
    return;
  }
  const Result<DeviceInfo> info = device_of(worker);
  const std::string why = worker.version != HONE_VERSION ? fmt::format("it is of Hone {}, and this is {}", worker.version, HONE_VERSION)
                          : info                         ? device_difference(device_, *info)
                                                         : info.error().message;
  if (!why.empty()) {
    refused_.insert(worker.id);
    events_.refused(fmt::format("the worker {} takes no part: {}", worker.name, why));
    return;
  }
  there_[worker.id] = worker.name;
  events_.came(worker, *info);
}

Result<void> AttachedWorkers::look_at_workers() {
  HONE_TRY(queue_->expire(assignment_));
  HONE_ASSIGN(const std::vector<AttachedWorker> workers, queue_->workers());
  std::set<std::int64_t> ids, compiling;
  for (const AttachedWorker& worker : workers) {
    ids.insert(worker.id);
    if (worker.version == HONE_VERSION && std::ranges::count(worker.targets, compile_target(device_)) > 0) {
      compiling.insert(worker.id);
    }
    consider(worker);
  }
  if (compiling != compiling_) {
    compiling_ = std::move(compiling);
    events_.compilers(compiling_.size());
    if (compiling_.empty()) {
      give_up_compiling();
    }
  }
  // Who was lost, or left, with something to do is told of by what became of that.
  std::vector<std::pair<std::int64_t, std::string>> gone;
  for (const auto& [id, name] : there_) {
    const bool asked = std::ranges::any_of(pending_, [id = id](const auto& one) { return one.second.worker == id; });
    if (!ids.contains(id) && !asked) {
      gone.emplace_back(id, name);
    }
  }
  for (const auto& [id, name] : gone) {
    there_.erase(id);
    events_.left(id, {ErrorCode::kDevice, fmt::format("the worker {} is not attached any more", name)}, false);
  }
  return {};
}

void AttachedWorkers::give_up_compiling() {
  std::vector<std::int64_t> open;
  for (const auto& [id, pending] : pending_) {
    if (!pending.worker) {
      open.push_back(id);
    }
  }
  for (const std::int64_t id : open) {
    const Handler handler = std::move(pending_.at(id).handler);
    withdraw(id);
    handler(Error{ErrorCode::kUnavailable, "nobody compiles any more"});
  }
}

void RemoteWorkers::ask(const wire::Message& message, RequestLimits, Reader read, Handler handler) {
  wire::Message asked = message;
  asked["dropped"] = dropped_;
  asked["held"] = held_;
  const std::string label = message.value("tried", false) ? message.at("configuration").get<std::string>() : std::string();
  stage_ = {.name = message.value("op", "asked")};
  asked_ = attached_.ask(
      worker_, label, asked, [this, read = std::move(read), handler = std::move(handler)](const Result<wire::Message>& answer) {
        asked_ = 0;
        if (!answer) {
          handler(Error{ErrorCode::kDevice, "the worker sent a garbled message"});
          return;
        }
        if (answer->is_object() && answer->contains("reply")) {
          Result<void> reply = read(answer->at("reply"));
          handler(reply ? std::move(reply)
                        : Result<void>(Error{ErrorCode::kDevice, "the worker sent a garbled message: " + reply.error().message}));
          return;
        }
        Error error{ErrorCode::kDevice, "the worker sent a garbled message"};
        if (answer->is_object() && answer->contains("error")) {
          static_cast<void>(wire::read_error(answer->at("error"), error));
          if (const auto stage = answer->find("stage"); stage != answer->end()) {
            if (Result<wire::Stage> last = wire::read_stage(*stage)) {
              stage_ = std::move(last).value();
            }
          }
        }
        handler(error);
      });
}

void RemoteWorkers::retire(bool) {
  if (asked_ != 0) {
    attached_.withdraw(std::exchange(asked_, 0));
  }
}

void RemoteWorkers::close() {
  retire(false);
  closed_ = true;
}

}  // namespace hone
