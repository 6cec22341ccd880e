// A portfolio: several strategies, all told of everything, and a bandit that gives the turns to those that did well of late.
#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <unordered_map>
#include <utility>

#include "hone/plugin.hpp"
#include "search/builtin.hpp"

namespace hone {
namespace {

using namespace plugin;

using Table = const hone_strategy* (*)();
struct Candidate {
  Table table;
  Parameter flag;
};
constexpr Candidate kCandidates[] = {
    {local_search_strategy, flag("local_search", "whether it is a member; it computes longer than the others", false)},
    {greedy_ils_strategy, flag("greedy_ils", "whether it is a member", false)},
    {simulated_annealing_strategy, flag("simulated_annealing", "whether it is a member", true)},
    {dual_annealing_strategy, flag("dual_annealing", "whether it is a member", false)},
    {genetic_algorithm_strategy, flag("genetic_algorithm", "whether it is a member", true)},
    {differential_evolution_strategy, flag("differential_evolution", "whether it is a member", true)},
    {particle_swarm_strategy, flag("particle_swarm", "whether it is a member", false)},
    {random_strategy, flag("random", "whether it is a member; always if no other strategy is", false)},
};
constexpr Parameter kParameters[] = {
    kCandidates[0].flag,
    kCandidates[1].flag,
    kCandidates[2].flag,
    kCandidates[3].flag,
    kCandidates[4].flag,
    kCandidates[5].flag,
    kCandidates[6].flag,
    kCandidates[7].flag,
    real("curiosity", "bonus for a member that had few turns", 0.1, 0, 100),
    integer("window", "number of latest outcomes that count", 100, 1, 1000000),
    real("elite", "fraction of the fastest outcomes that earn their strategy a reward, higher for faster ones", 0.2, 0.001, 1),
};

/// A strategy driven through its table.
class Member {
 public:
  Member(const hone_strategy* table, hone_strategy_context context) : table_(table) {
    for (std::size_t i = 0; i < table->parameter_count; ++i) {
      defaults_.push_back(table->parameters[i].default_value);
    }
    context.parameters = defaults_.data();
    context.model = nullptr;  // ours is not its
    context.model_bytes = 0;
    context.observation_stride = sizeof(Observation);  // as they are told here
    context_ = std::make_unique<hone_strategy_context>(context);
    check(table->create(context_.get(), &instance_, &message_));
  }
  Member(Member&& other) noexcept
      : table_(other.table_),
        defaults_(std::move(other.defaults_)),
        context_(std::move(other.context_)),
        instance_(std::exchange(other.instance_, nullptr)) {}
  Member& operator=(Member&&) = delete;
  ~Member() {
    if (instance_ != nullptr) {
      table_->destroy(instance_);
    }
  }

  std::vector<Position> ask(std::size_t wanted) {
    std::vector<hone_position> proposed(wanted);
    std::size_t count = 0;
    check(table_->ask(instance_, wanted, proposed.data(), &count, &message_));
    std::vector<Position> positions;
    for (std::size_t i = 0; i < count; ++i) {
      positions.push_back(from_c(proposed[i]));
    }
    return positions;
  }
  void tell(std::span<const plugin::Observation> observations) {
    check(table_->tell(instance_, observations.data(), observations.size(), &message_));
  }

 private:
  void check(std::int32_t status) const {
    if (status != 0) {
      throw std::runtime_error(std::string("portfolio: member ") + table_->name + ": " + message_.text);
    }
  }

  const hone_strategy* table_;
  std::vector<double> defaults_;
  std::unique_ptr<hone_strategy_context> context_;  // the instance may look at it as long as it lives
  void* instance_ = nullptr;
  hone_message message_{};
};

class Portfolio final : public plugin::Strategy {
 public:
  static constexpr About kAbout{.name = "portfolio",
                                .summary = "several strategies that share observations; a bandit gives turns to the successful ones",
                                .source = "https://doi.org/10.1145/2628071.2628092",
                                .parameters = kParameters};

  Portfolio(const hone_strategy_context& raw, const Context& context)
      : taken_(context),
        random_(context.seed()),
        window_(context.count("window")),
        curiosity_(context.parameter("curiosity")),
        elite_(context.parameter("elite")) {
    hone_strategy_context shared = raw;
    for (const Candidate& candidate : kCandidates) {
      if (context.parameter(candidate.flag.name) != 0) {
        shared.seed = random_.next();
        members_.emplace_back(candidate.table(), shared);
      }
    }
    if (members_.empty()) {
      members_.emplace_back(random_strategy(), shared);
    }
  }

  std::vector<Position> ask(std::size_t wanted) override {
    std::vector<Position> proposed;
    for (const std::size_t chosen : ranked()) {
      if (proposed.size() == wanted || taken_.left() == 0) {
        break;
      }
      for (const Position position : members_[chosen].ask(wanted - proposed.size())) {
        if (taken_.claim(position)) {  // if not, another member waits for the same
          awaited_[position] = chosen;
          proposed.push_back(position);
        }
      }
    }
    if (proposed.empty() && awaited_.empty() && taken_.left() > 0) {
      proposed.push_back(taken_.any(random_));
      taken_.claim(proposed.back());
    }
    return proposed;
  }

  void tell(std::span<const plugin::Observation> observations) override {
    taken_.claim(observations);
    for (const plugin::Observation& observation : observations) {
      const double rank = learn(observation.objective()), reward = observation.ok() ? rank : 0.0;
      const auto found = awaited_.find(observation.at());
      if (found != awaited_.end()) {
        turns_.push_back({found->second, reward});
        awaited_.erase(found);
      }
    }
    while (turns_.size() > window_) {
      turns_.pop_front();
    }
    for (Member& member : members_) {
      member.tell(observations);
    }
  }

 private:
  struct Turn {
    std::size_t member;
    double reward;
  };

  /// 1 for a new best, less for a lower rank among all outcomes, 0 for most.
  double learn(double time) {
    const auto place = std::ranges::lower_bound(times_, time);
    const auto faster = static_cast<double>(place - times_.begin());
    times_.insert(place, time);
    return std::isinf(time) ? 0.0 : std::max(0.0, 1.0 - faster / (elite_ * static_cast<double>(times_.size())));
  }

  /// The members, the one whose turn it is first: what each earned, later turns counting more, and what it may be worth to try it again.
  std::vector<std::size_t> ranked() {
    std::vector<double> counts(members_.size(), 0.0), earned(members_.size(), 0.0);
    for (const Turn& turn : turns_) {
      counts[turn.member] += 1;
      earned[turn.member] += counts[turn.member] * turn.reward;
    }
    std::vector<double> scores;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const double n = counts[i], all = static_cast<double>(turns_.size()) + 1;
      const double mean = n > 0 ? earned[i] / (n * (n + 1) / 2) : 1.0;
      scores.push_back(mean + curiosity_ * std::sqrt(2 * std::log2(all) / (n + 1)) + 1e-9 * random_.unit());
      order.push_back(i);
    }
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return scores[i]; });
    return order;
  }

  Taken taken_;
  Random random_;
  std::vector<Member> members_;
  std::unordered_map<Position, std::size_t, PositionHash> awaited_;  ///< who proposed it
  std::deque<Turn> turns_;                                           ///< the latest
  std::vector<double> times_;                                        ///< sorted
  std::size_t window_;
  double curiosity_, elite_;
};

/// Members are made from the context as it came over the border.
std::int32_t create(const hone_strategy_context* context, void** instance, hone_message* message) {
  return plugin::detail::guarded(message, [&] {
    const Context seen(*context, Portfolio::kAbout);
    *instance = new plugin::detail::Instance{std::make_unique<Portfolio>(*context, seen), seen.observation_stride()};
  });
}

}  // namespace

const hone_strategy* portfolio_strategy() {
  static const hone_strategy table{.struct_size = sizeof(hone_strategy),
                                   .name = Portfolio::kAbout.name,
                                   .summary = Portfolio::kAbout.summary,
                                   .source = Portfolio::kAbout.source,
                                   .parameters = Portfolio::kAbout.parameters.data(),
                                   .parameter_count = Portfolio::kAbout.parameters.size(),
                                   .create = create,
                                   .ask = plugin::detail::ask,
                                   .tell = plugin::detail::tell,
                                   .save = nullptr,
                                   .destroy = plugin::detail::destroy,
                                   .parameter_stride = sizeof(hone_parameter),
                                   .weighs_expectations = 0};
  return &table;
}

}  // namespace hone
