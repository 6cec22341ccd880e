#include "engine/plugin/local_runner.hpp"

#include <fmt/format.h>

#include <functional>
#include <utility>

#include "engine/plugin/call_with_timeout.hpp"

namespace hone::plugin_host {
namespace {

class LocalRunner final : public StrategyRunner {
 public:
  LocalRunner(std::shared_ptr<Instance> instance, std::optional<std::chrono::milliseconds> timeout)
      : instance_(std::move(instance)), timeout_(timeout), caller_(timeout ? std::make_unique<CallWithTimeout>() : nullptr) {}
  LocalRunner(const LocalRunner&) = delete;
  LocalRunner& operator=(const LocalRunner&) = delete;
  ~LocalRunner() override { LocalRunner::destroy(); }

  Called create() override {
    std::monostate none;
    return call<std::monostate>(
        "create", [](Instance& made, std::monostate&) { return made.create(); }, none);
  }
  Called ask(std::size_t wanted, std::vector<Count>& positions) override {
    return call<std::vector<Count>>(
        "ask", [wanted](Instance& of, std::vector<Count>& proposed) { return of.ask(wanted, proposed); }, positions);
  }
  Called tell(std::vector<hone_observation> observations) override {
    std::monostate none;
    return call<std::monostate>(
        "tell", [observations = std::move(observations)](Instance& to, std::monostate&) { return to.tell(observations); }, none);
  }
  Called save(std::string& model) override {
    return call<std::string>(
        "save", [](Instance& of, std::string& into) { return of.save(into); }, model);
  }
  Called destroy() override {
    if (instance_ == nullptr || busy()) {
      instance_ = nullptr;  // a call that runs keeps it
      return {};
    }
    const auto last = std::make_shared<std::shared_ptr<Instance>>(std::move(instance_));
    if (!caller_) {
      last->reset();
      return {};
    }
    return caller_->call([last] { last->reset(); }, *timeout_) ? Called{} : stalled("destroy");
  }

  bool busy() override { return caller_ && caller_->busy(); }
  Called finish() override { return busy() ? stalled(running_) : Called{}; }

 private:
  [[nodiscard]] Called stalled(const char* what) const {
    return {Called::How::kStalled, fmt::format("{} did not return within {} ms", what, timeout_->count())};
  }

  /// A job owns its results, because one that stalls is left behind.
  template <class Answer>
  Called call(const char* what, std::function<std::optional<Failure>(Instance&, Answer&)> job, Answer& into) {
    auto answer = std::make_shared<Answer>();
    auto failure = std::make_shared<std::optional<Failure>>();
    const auto run = [instance = instance_, answer, failure, job = std::move(job)] { *failure = job(*instance, *answer); };
    running_ = what;
    const bool returned = !caller_ ? (run(), true) : !caller_->busy() && caller_->call(run, *timeout_);
    if (!returned) {
      return stalled(what);
    }
    if (*failure) {
      return {Called::How::kFailed, fmt::format("{} failed: {}", what, (*failure)->message)};
    }
    into = std::move(*answer);
    return {};
  }

  std::shared_ptr<Instance> instance_;
  std::optional<std::chrono::milliseconds> timeout_;
  std::unique_ptr<CallWithTimeout> caller_;
  const char* running_ = "";
};

}  // namespace

std::unique_ptr<StrategyRunner> make_local_runner(std::shared_ptr<Instance> instance, std::optional<std::chrono::milliseconds> timeout) {
  return std::make_unique<LocalRunner>(std::move(instance), timeout);
}

}  // namespace hone::plugin_host
