// Trials answered from a recorded space: the recorded outcome, samples and cost, at once. Several devices work side by side, on the clock
// of the recorded seconds.

#include <algorithm>

#include "engine/replay/recorded_space.hpp"
#include "engine/tune/evaluator.hpp"
#include "engine/tune/final_round.hpp"

namespace hone {
namespace {

class ReplayEvaluator final : public Evaluator {
 public:
  explicit ReplayEvaluator(const TuneRequest& request) : recorded_(*request.recorded), devices_{{request.device.info.id}} {
    for (const DeviceInfo& info : request.more_devices) {
      devices_.push_back({info.id});
    }
  }

  [[nodiscard]] std::size_t wanted() const override {
    return static_cast<std::size_t>(std::ranges::count_if(devices_, [](const Simulated& device) { return device.waiting == 0; }));
  }
  [[nodiscard]] std::size_t in_flight() const override { return under_way_.size(); }
  /// When the first of the devices has done all that it was given.
  [[nodiscard]] double elapsed() const override { return std::ranges::min(devices_, {}, &Simulated::free_at).free_at; }

  void submit(std::vector<Proposal> proposals) override {
    for (Proposal& proposal : proposals) {
      Simulated& device = *std::ranges::min_element(devices_, {}, &Simulated::free_at);
      Trial trial = answer(std::move(proposal));
      device.free_at += trial.seconds.total();
      ++device.waiting;
      trial.device = devices_.size() > 1 ? device.id : "";
      under_way_.push_back({std::move(trial), device.free_at});
    }
  }

  Result<std::vector<Trial>> wait(double) override {
    if (under_way_.empty()) {
      return std::vector<Trial>();
    }
    const double next = std::ranges::min(under_way_, {}, &UnderWay::end).end;
    return finish(std::max(elapsed(), next));
  }
  Result<std::vector<Trial>> drain() override { return finish(std::ranges::max(devices_, {}, &Simulated::free_at).free_at); }
  void set_incumbent(const Incumbent& /*incumbent*/) override {}

  /// A record is measured once: the final round repeats it.
  Result<std::vector<Trial>> finals(const std::vector<Candidate>& candidates, std::size_t most, double /*share*/) override {
    return FinalRound(candidates, most).as_they_were();
  }

  [[nodiscard]] double device_idle() const override { return 0.0; }

 private:
  struct Simulated {
    std::string id;
    double free_at = 0.0;     ///< seconds
    std::size_t waiting = 0;  ///< trials that it was given and that have not been returned
  };
  struct UnderWay {
    Trial trial;
    double end = 0.0;
  };

  Trial answer(Proposal proposal) const {
    Trial trial;
    trial.configuration = std::move(proposal.configuration);
    trial.position = proposal.position;
    const std::optional<Count> row = recorded_.space().index(trial.configuration);  // the search may be over a part of the record
    if (const RecordedTrial* known = row ? recorded_.find(*row) : nullptr) {
      trial.outcome = known->outcome;
      trial.detail = known->detail;
      trial.seconds = known->seconds;
      trial.resources = known->resources;
      if (!known->samples_us.empty()) {
        trial.measurement = summarize(known->samples_us);
        trial.measurement.energy_j = known->energy_j;
      }
    } else {
      trial.outcome = Outcome::kCompileError;
      trial.detail = "not in the recorded space";
    }
    return trial;
  }

  /// What has ended by `now`, in that order. A device that had less to do has waited.
  std::vector<Trial> finish(double now) {
    std::ranges::stable_sort(under_way_, {}, &UnderWay::end);
    const auto later = std::ranges::find_if(under_way_, [now](const UnderWay& one) { return one.end > now; });
    std::vector<Trial> ended;
    for (auto one = under_way_.begin(); one != later; ++one) {
      const auto device = std::ranges::find(devices_, one->trial.device, &Simulated::id);
      --(device == devices_.end() ? devices_.front() : *device).waiting;
      ended.push_back(std::move(one->trial));
    }
    under_way_.erase(under_way_.begin(), later);
    for (Simulated& device : devices_) {
      device.free_at = std::max(device.free_at, now);
    }
    return ended;
  }

  const RecordedSpace& recorded_;
  std::vector<Simulated> devices_;
  std::vector<UnderWay> under_way_;
};

}  // namespace

std::unique_ptr<Evaluator> make_replay_evaluator(const TuneRequest& request) { return std::make_unique<ReplayEvaluator>(request); }

}  // namespace hone
