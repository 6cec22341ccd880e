#include "engine/worker/remote_runner.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "engine/plugin/instance.hpp"

namespace hone {
namespace {

using plugin_host::Called;

wire::Message to_message(const Prior& prior) {
  std::vector<hone_observation> observations;
  for (const Observation& observation : prior.observations) {
    observations.push_back(plugin_host::to_c(observation));
  }
  return {{"device", prior.device}, {"dtype", prior.dtype}, {"shape", prior.shape}, {"observations", wire::packed(observations)}};
}

class RemoteRunner final : public plugin_host::StrategyRunner {
 public:
  RemoteRunner(std::shared_ptr<PluginPool> pool, std::string strategy, StrategyContext context, std::vector<double> parameters)
      : pool_(std::move(pool)), strategy_(std::move(strategy)), context_(std::move(context)), parameters_(std::move(parameters)) {}

  Called create() override {
    Called created = start();
    if (created.how != Called::How::kReturned) {
      process_ = nullptr;
    }
    return created;
  }

  Called ask(std::size_t wanted, std::vector<Count>& positions) override {
    if (Called ready = revive(); ready.how != Called::How::kReturned) {
      return ready;
    }
    begin("ask", {{"wanted", wanted}});
    return finish([&](wire::CallReply& reply) { positions = std::move(reply.positions); });
  }

  Called tell(std::vector<hone_observation> observations) override {
    history_.insert(history_.end(), observations.begin(), observations.end());
    Called earlier = finish();
    if (process_ != nullptr && answer_ == nullptr) {
      process_->post({{"op", "tell"}, {"observations", wire::packed(observations)}});
    }
    return earlier;  // it works on them while the next trials run; what comes of it comes with the next answer
  }

  Called save(std::string& model) override {
    if (process_ == nullptr) {
      return gone("save");  // one that knows less would replace what an earlier session kept
    }
    begin("save", wire::Message::object());
    return finish([&](wire::CallReply& reply) { model = std::move(reply.model); });
  }

  Called destroy() override {
    const bool told = stalled_;
    Called earlier = process_ != nullptr ? finish() : Called{};
    if (process_ == nullptr || earlier.how == Called::How::kStalled || !pool_->may_destroy()) {
      process_ = nullptr;
      return told ? Called{} : earlier;
    }
    begin("destroy", wire::Message::object());
    Called ended = finish();
    if (ended.how == Called::How::kReturned) {
      ended = std::exchange(told_, {});
      pool_->give_back(std::move(process_));
    } else if (ended.how == Called::How::kStalled) {
      pool_->note_stalled_end();
    }
    process_ = nullptr;
    return ended;
  }

  bool busy() override { return process_ != nullptr && process_->busy(); }

  Called finish() override {
    return finish([](const wire::CallReply&) {});
  }

 private:
  static Called gone(const char* function) {
    return {Called::How::kFailed, fmt::format("{}: its process has ended, and is not started again", function)};
  }

  void begin(const char* function, wire::Message message) {
    message["op"] = function;
    running_ = function;
    until_ = PluginProcess::Clock::now() + pool_->timeout();
    stalled_ = false;
    answer_ = process_->begin(message, wire::read_call);
  }

  /// Waits for what begin() began, if that is not known yet.
  template <class Take>
  Called finish(const Take& take) {
    if (answer_ == nullptr) {
      return std::exchange(told_, {});
    }
    stalled_ = !process_->wait(until_);
    if (stalled_) {
      return {Called::How::kStalled, fmt::format("{} did not return within {} ms", process_->running(running_), pool_->timeout().count())};
    }
    Result<wire::CallReply> reply = std::move(**std::exchange(answer_, nullptr));
    if (!reply) {
      Called crashed{Called::How::kCrashed, fmt::format("{}: {}", process_->running(running_), process_->end())};
      process_ = nullptr;
      return crashed;
    }
    if (reply->tell_failure) {
      told_ = {Called::How::kFailed, fmt::format("tell failed: {}", *reply->tell_failure)};
    }
    if (reply->failure) {
      return {Called::How::kFailed, fmt::format("{} failed: {}", running_, *reply->failure)};
    }
    take(*reply);
    return {};
  }

  /// Takes a process and creates the instance there.
  Called start() {
    Result<std::unique_ptr<PluginProcess>> process = pool_->take();
    if (!process) {
      return {Called::How::kFailed, process.error().message};
    }
    process_ = std::move(process).value();
    const Result<std::uint64_t> space = process_->space(context_.space, context_.likely.get());
    if (!space) {
      return {Called::How::kFailed, space.error().message};
    }
    wire::Message message{{"strategy", strategy_},
                          {"space", *space},
                          {"seed", context_.seed},
                          {"parameters", wire::packed(parameters_)},
                          {"expected_trials", context_.expected_trials},
                          {"priors", wire::Message::array()},
                          {"model", wire::packed(context_.model)}};
    if (context_.first) {
      const hone_position first = plugin_host::to_c(*context_.first);
      message["first"] = wire::packed(std::span(&first, 1));
    }
    for (const Prior& prior : context_.priors) {
      message["priors"].push_back(to_message(prior));
    }
    begin("create", std::move(message));
    return finish();
  }

  /// Starts the strategy again where its process has ended.
  Called revive() {
    if (process_ != nullptr) {
      return {};
    }
    if (restarts_ == kMostRestarts) {
      return gone("ask");
    }
    ++restarts_;
    Called ready = start();
    if (ready.how == Called::How::kReturned && !history_.empty()) {
      process_->post({{"op", "tell"}, {"observations", wire::packed(history_)}});
    }
    if (ready.how != Called::How::kReturned) {
      process_ = nullptr;
      answer_ = nullptr;
    }
    return ready;
  }

  std::shared_ptr<PluginPool> pool_;
  std::string strategy_;
  StrategyContext context_;
  std::vector<double> parameters_;
  std::unique_ptr<PluginProcess> process_;                          ///< null once it has ended
  std::shared_ptr<std::optional<Result<wire::CallReply>>> answer_;  ///< to the call that runs, or that was not looked at yet
  const char* running_ = "";
  PluginProcess::Clock::time_point until_;
  Called told_;           ///< what came of telling, known by a later answer
  bool stalled_ = false;  ///< that it did not return by then is told
  std::vector<hone_observation> history_;
  int restarts_ = 0;
};

}  // namespace

std::unique_ptr<plugin_host::StrategyRunner> make_remote_runner(std::shared_ptr<PluginPool> pool, std::string strategy,
                                                                StrategyContext context, std::vector<double> parameters) {
  return std::make_unique<RemoteRunner>(std::move(pool), std::move(strategy), std::move(context), std::move(parameters));
}

}  // namespace hone
