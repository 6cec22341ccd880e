// Trials answered from a recorded space: the recorded outcome, samples and cost, at once.

#include "engine/replay/recorded_space.hpp"
#include "engine/tune/evaluator.hpp"
#include "engine/tune/final_round.hpp"

namespace hone {
namespace {

class ReplayEvaluator final : public Evaluator {
 public:
  explicit ReplayEvaluator(const RecordedSpace& recorded) : recorded_(recorded) {}

  [[nodiscard]] std::size_t wanted() const override { return finished_.empty() ? 1 : 0; }
  [[nodiscard]] std::size_t in_flight() const override { return finished_.size(); }
  [[nodiscard]] double elapsed() const override { return elapsed_; }

  void submit(std::vector<Proposal> proposals) override {
    for (Proposal& proposal : proposals) {
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
        }
      } else {
        trial.outcome = Outcome::kCompileError;
        trial.detail = "not in the recorded space";
      }
      elapsed_ += trial.seconds.total();
      finished_.push_back(std::move(trial));
    }
  }

  Result<std::vector<Trial>> wait(double) override { return std::exchange(finished_, {}); }
  Result<std::vector<Trial>> drain() override { return std::exchange(finished_, {}); }
  void set_incumbent(double) override {}

  /// A record is measured once: the final round repeats it.
  Result<std::vector<Trial>> finals(const std::vector<Candidate>& candidates, std::size_t most) override {
    return FinalRound(candidates, most).as_they_were();
  }

  [[nodiscard]] double device_idle() const override { return 0.0; }

 private:
  const RecordedSpace& recorded_;
  std::vector<Trial> finished_;
  double elapsed_ = 0.0;
};

}  // namespace

std::unique_ptr<Evaluator> make_replay_evaluator(const RecordedSpace& recorded) { return std::make_unique<ReplayEvaluator>(recorded); }

}  // namespace hone
