// Reinforcement learning: a policy that draws configurations, and the policy gradient with ranks as rewards. Every outcome is learned from
// again and again (the best ones imitated, the slow ones avoided as long as the policy would still draw them), because each costs a trial.
#include <algorithm>
#include <cmath>
#include <span>

#include "search/algorithm.hpp"
#include "search/policy.hpp"

namespace hone {
namespace {

using namespace plugin;

constexpr Parameter kParameters[] = {
    integer("initial", "initial random configurations, if there is no earlier policy", 15, 1, 10000),
    real("rate", "learning rate", 1.2, 1e-6, 100),
    integer("passes", "learning passes over the remembered outcomes, for each new outcome", 1, 1, 1000),
    integer("memory", "outcomes to learn from: this many of the best and of the latest", 12, 1, 100000),
    real("entropy", "pull towards the initial policy, decreasing with the number of outcomes", 0.3, 0, 100),
    real("avoid", "weight of slow outcomes relative to fast ones", 1, 0, 10),
    real("smoothing", "fraction of what is learned about a value that also applies to its neighbours", 0.3, 0, 1),
    real("explore", "random dimensions per proposal, on average", 0.5, 0, 100),
};

class Reinforcement final : public search::Algorithm {
 public:
  static constexpr About kAbout{.name = "reinforcement",
                                .summary = "learns a policy that draws configurations, and passes it on to later sessions",
                                .source = "https://doi.org/10.1007/BF00992696",
                                .parameters = kParameters};

  explicit Reinforcement(const Context& context)
      : Algorithm(context),
        policy_(space_, context.parameter("smoothing")),
        initial_(context.count("initial")),
        passes_(context.count("passes")),
        memory_(context.count("memory")),
        rate_(context.parameter("rate")),
        entropy_(context.parameter("entropy")),
        avoid_(context.parameter("avoid")),
        explore_(context.parameter("explore")) {
    experienced_ = policy_.load(context.model());
    std::vector<Experience> priors;
    for (const Prior& prior : context.priors()) {
      Experience& experience = priors.emplace_back();
      for (const plugin::Observation& observation : prior.observations) {
        experience.add(sample(observation.objective(), observation.at()));
      }
      experienced_ = experienced_ || !experience.samples.empty();
    }
    for (std::size_t pass = 0; pass < kPriorPasses; ++pass) {
      for (const Experience& experience : priors) {
        train(experience.lesson(memory_), 1);
      }
    }
    policy_.anchor();
  }

  [[nodiscard]] std::string save() const override { return policy_.save(); }

 private:
  struct Sample {
    double time;
    double drawn;  ///< log probability when it was drawn
    Digits digits;
  };

  struct Experience {
    std::vector<Sample> samples;       ///< in the order told
    std::vector<std::size_t> ranking;  ///< of these, the fastest first

    void add(Sample sample) {
      const auto slower = std::ranges::upper_bound(ranking, sample.time, {}, [this](std::size_t i) { return samples[i].time; });
      ranking.insert(slower, samples.size());
      samples.push_back(std::move(sample));
    }

    /// The `memory` best, and as many of the latest of the others.
    [[nodiscard]] std::vector<const Sample*> lesson(std::size_t memory) const {
      const std::span<const std::size_t> best = std::span(ranking).first(std::min(memory, ranking.size()));
      std::vector<const Sample*> chosen;
      for (const std::size_t i : best) {
        chosen.push_back(&samples[i]);
      }
      for (std::size_t i = samples.size(); i-- > 0 && chosen.size() < best.size() + memory;) {
        if (std::ranges::find(best, i) == best.end()) {
          chosen.push_back(&samples[i]);
        }
      }
      return chosen;
    }
  };

  search::Steps run() override {
    co_await evaluate(start(experienced_ ? 1 + initial_ / 4 : initial_));
    for (;;) {
      remember();
      train(experience_.lesson(memory_), passes_);
      std::vector<Position> drawn;
      for (std::size_t i = 0; i < wanted(); ++i) {
        drawn.push_back(proposal());
      }
      co_await evaluate(drawn);
    }
  }

  Sample sample(double time, Position position) {
    Digits digits = space_.at(position);
    const double drawn = policy_.log_probability(digits);
    return {time, drawn, std::move(digits)};
  }

  void remember() {
    for (; remembered_ < told().size(); ++remembered_) {
      experience_.add(sample(told()[remembered_].objective, told()[remembered_].position));
    }
  }

  /// Ranks instead of times: of a failure only that it is slower than all, and no scale to tune.
  void train(std::vector<const Sample*> samples, std::size_t passes) {
    std::ranges::stable_sort(samples, {}, &Sample::time);
    const auto count = static_cast<double>(samples.size());
    std::vector<double> rewards;
    double sum = 0.0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const double rank = std::log(count / 2 + 1) - std::log(static_cast<double>(i) + 1);
      rewards.push_back(std::isinf(samples[i]->time) ? 0.0 : std::max(0.0, rank));
      sum += rewards.back();
    }
    const double pull = entropy_ / (1.0 + static_cast<double>(experience_.samples.size()) / kHalfEntropy);
    for (std::size_t pass = 0; pass < passes && sum > 0; ++pass) {
      for (std::size_t i = 0; i < samples.size(); ++i) {
        policy_.reinforce(samples[i]->digits, [&](double log_probability) {
          // How likely the policy would still draw it, against when it did.
          const double chance = std::min(1.0, std::exp(log_probability - samples[i]->drawn));
          return rate_ * (rewards[i] / sum - avoid_ / count * chance);
        });
      }
      policy_.relax(std::min(1.0, rate_ * pull));
    }
  }

  Position proposal() {
    const auto dimensions = static_cast<double>(space_.dimensions());
    Digits digits;
    for (int draw = 0; draw < kDraws; ++draw) {
      digits = policy_.draw(random_);
      for (std::size_t d = 0; d < digits.size(); ++d) {
        if (random_.unit() * dimensions < explore_) {
          digits[d] = static_cast<std::uint16_t>(random_.index(space_.dimension(d).count));
        }
      }
      const auto valid = space_.index(digits);
      if (valid && !known(*valid)) {
        return *valid;
      }
    }
    return novel(repaired(digits));
  }

  static constexpr int kDraws = 8;  // until an invalid or known one is repaired
  static constexpr std::size_t kPriorPasses = 30;
  static constexpr double kHalfEntropy = 30;  // outcomes that halve the pull
  search::Policy policy_;
  Experience experience_;
  std::size_t initial_, passes_, memory_, remembered_ = 0;
  double rate_, entropy_, avoid_, explore_;
  bool experienced_ = false;
};

}  // namespace

const hone_strategy* reinforcement_strategy() { return plugin::table<Reinforcement>(); }

}  // namespace hone
