// How much of what a budget can gain does each split of it gain, over workloads that nothing was fitted to?
//   build/bin/drawn_workloads [--workloads 60] [--seed 0]
// Each workload is drawn: how many problems, their work, times, counts, gains, what a search of each takes to begin and for a trial, and
// how its best falls with the number of trials. No GPU takes part: the searches are played. Prints one JSON object: by how much problems
// gain (near: some hundredths, as with a portfolio; mixed; far: several times, as on a device that nobody tuned for), by their number, and
// by the budget over what all of them take to begin: the mean of the logarithms of the workload's time before over after, evenly and by
// gain, the share of workloads where by gain is behind by .005 or more, and what the searches took of the budget.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cxxopts.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/command_line.hpp"
#include "engine/tune/workload_schedule.hpp"

namespace {

using hone::Contender;

constexpr double kFinalShare = 0.85;  // of a whole slice, for its search
constexpr double kAgain = 0.5;        // of a start: what it takes to go on with a search
constexpr double kFinalStarts = 0.6;  // of a start, and so many seconds on a host as fast as most: a final round of its own
constexpr double kFinalSeconds = 0.3;
constexpr double kUsualStart = 0.7;    // seconds, as long as nobody has begun
constexpr std::size_t kTrials = 4000;  // that a problem has

enum class Gain { kNear, kMixed, kFar };

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : bits_(seed) {}
  double evenly() { return uniform_(bits_); }
  double normal() { return normal_(bits_); }
  double exponential() { return exponential_(bits_); }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(evenly() * static_cast<double>(count)); }

 private:
  std::mt19937_64 bits_;
  std::uniform_real_distribution<double> uniform_;
  std::normal_distribution<double> normal_;
  std::exponential_distribution<double> exponential_;
};

struct Played {
  Contender contender;  ///< before anything was tried
  double before_us = 0.0;
  double start = 0.0, trial = 0.0;  ///< seconds
  std::vector<double> best_us;      ///< after each trial

  [[nodiscard]] std::size_t trials_in(double seconds) const {
    return seconds < start ? 0 : std::min(best_us.size(), 1 + static_cast<std::size_t>((seconds - start) / trial));
  }
};

struct Workload {
  std::vector<Played> problems;
  double host = 1.0;  ///< how slow it is
};

/// The logarithm of what a search gains, of a kind of problems.
double gain_of_kind(Gain gain, Draws& draws) {
  return gain == Gain::kNear    ? 0.02 + 0.06 * draws.exponential()
         : gain == Gain::kMixed ? 0.1 + 0.4 * draws.exponential()
                                : 0.3 + 1.5 * draws.exponential();
}

std::vector<double> drawn_search(double best_us, double gain, Draws& draws) {
  const double power = 0.2 + 0.8 * draws.evenly();
  double behind = 1.0;
  std::vector<double> all;
  for (std::size_t i = 1; i <= kTrials; ++i) {
    if (i > 1 && draws.evenly() < 0.3) {
      behind = std::min(behind, std::pow(static_cast<double>(i), -power) * std::exp(0.3 * draws.normal()));
    }
    all.push_back(best_us * std::exp(gain * behind));
  }
  return all;
}

Workload drawn(Gain gain, std::size_t count, Draws& draws) {
  struct Kind {
    double gain = 0.0, slow_start = 1.0, inefficiency = 0.0;
  };
  Workload workload{{}, std::exp(0.5 * draws.normal())};
  std::vector<Kind> kinds(1 + draws.below(4));
  for (Kind& kind : kinds) {
    kind = {gain_of_kind(gain, draws), std::exp(0.4 * draws.normal()), 0.6 * draws.normal()};
  }
  const double spread = 0.5 + 1.5 * draws.evenly();       // of the weights
  const double quick = draws.evenly() < 0.5 ? 0.2 : 1.0;  // where processes stay from one problem to the next
  for (std::size_t i = 0; i < count; ++i) {
    Played one;
    const std::size_t kind = draws.below(kinds.size());
    Contender& contender = one.contender;
    contender.kind = std::to_string(kind);
    contender.extents = {12.0 * draws.evenly(), 12.0 * draws.evenly()};
    contender.work = std::exp2(contender.extents[0] + contender.extents[1]);
    const double best_us = std::max(1.0, std::pow(contender.work, 0.9) / 1e4) * std::exp(kinds[kind].inefficiency + 0.4 * draws.normal());
    const double own_gain = draws.evenly() < 0.15 ? 0.0 : kinds[kind].gain * draws.exponential();
    one.best_us = drawn_search(best_us, own_gain, draws);
    one.before_us = one.best_us.front();
    contender.weight = std::exp(spread * draws.normal()) / (draws.evenly() < 0.5 ? one.before_us : std::sqrt(one.before_us));
    one.start = quick * kUsualStart * workload.host * kinds[kind].slow_start * std::exp(0.3 * draws.normal()) *
                (1.0 + std::min(1.0, one.before_us / 2e4));
    one.trial = 0.02 * workload.host * std::exp(0.5 * draws.normal()) + std::min(0.3, one.before_us * 1e-5);
    workload.problems.push_back(std::move(one));
  }
  return workload;
}

double final_round(const Played& one, const Workload& workload) { return kFinalStarts * one.start + kFinalSeconds * workload.host; }

struct Outcome {
  double gained = 0.0;  ///< the logarithm of the weighted time before over after
  double spent = 0.0;   ///< of the budget
};

Outcome play(const Workload& workload, hone::Split split, double budget) {
  const std::vector<Played>& problems = workload.problems;
  std::vector<Contender> contenders;
  for (const Played& one : problems) {
    contenders.push_back(one.contender);
    contenders.back().final_round = kFinalStarts * kUsualStart + kFinalSeconds;
  }
  std::vector<double> searched(problems.size());
  const hone::WorkloadSchedule schedule(split, problems.size(), budget, kUsualStart);
  while (const std::optional<hone::Slice> slice = schedule.next(contenders)) {
    const Played& one = problems[slice->contender];
    Contender& contender = contenders[slice->contender];
    double& seconds = searched[slice->contender];
    const double begin = seconds == 0.0 ? 0.0 : kAgain * one.start;
    const double least = seconds == 0.0 ? one.start + one.trial : one.trial;  // what has begun ends
    const double search = std::max(slice->cost * (slice->is_whole ? kFinalShare : 1.0) - begin, least);
    seconds += search;
    contender.best_us.assign(one.best_us.begin(), one.best_us.begin() + static_cast<std::ptrdiff_t>(one.trials_in(seconds)));
    contender.cost += begin + search + (slice->is_whole ? std::max(kFinalSeconds * workload.host, slice->cost - begin - search) : 0.0);
    contender.start = one.start;
    contender.final_round = final_round(one, workload);
    contender.before_us = one.before_us;
    contender.can_go_on = !slice->is_whole;
    contender.is_finished = slice->is_whole;
  }
  double before = 0.0, after = 0.0, spent = 0.0;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const Contender& contender = contenders[i];
    before += contender.weight * problems[i].before_us;
    after += contender.weight * (contender.best_us.empty() ? problems[i].before_us : contender.best_us.back());
    spent += contender.cost + (contender.cost > 0.0 && !contender.is_finished ? contender.final_round : 0.0);
  }
  return {std::log(before / after), spent / budget};
}

nlohmann::json measured(Gain gain, std::size_t count, double starts, std::size_t workloads, std::uint64_t seed) {
  double even = 0.0, by_gain = 0.0, spent_even = 0.0, spent_by_gain = 0.0, behind = 0.0;
  for (std::size_t i = 0; i < workloads; ++i) {
    Draws draws((seed * workloads + i) * 4 + static_cast<std::uint64_t>(gain));
    const Workload workload = drawn(gain, count, draws);
    double budget = 0.0;
    for (const Played& one : workload.problems) {
      budget += starts * (one.start + final_round(one, workload));
    }
    const Outcome evenly = play(workload, hone::Split::kEven, budget), hopeful = play(workload, hone::Split::kGain, budget);
    even += evenly.gained;
    by_gain += hopeful.gained;
    spent_even += evenly.spent;
    spent_by_gain += hopeful.spent;
    behind += hopeful.gained < evenly.gained - 0.005 ? 1.0 : 0.0;
  }
  const auto mean = [&](double sum) { return std::round(1e4 * sum / static_cast<double>(workloads)) / 1e4; };
  return {{"starts", starts},
          {"even", mean(even)},
          {"gain", mean(by_gain)},
          {"behind", mean(behind)},
          {"spent_even", mean(spent_even)},
          {"spent_gain", mean(spent_by_gain)}};
}

int run(int argc, char** argv) {
  cxxopts::Options options("drawn_workloads", "What each split of a budget gains over drawn workloads.");
  options.add_options()("workloads", "so many of each sort", cxxopts::value<std::size_t>()->default_value("60"))(
      "seed", "of the workloads", cxxopts::value<std::uint64_t>()->default_value("0"))("h,help", "print this help");
  const auto parsed = options.parse(argc, argv);
  if (parsed.count("help") > 0) {
    std::puts(options.help().c_str());
    return 0;
  }
  nlohmann::json all;
  for (const auto& [gain, name] : {std::pair{Gain::kNear, "near"}, std::pair{Gain::kMixed, "mixed"}, std::pair{Gain::kFar, "far"}}) {
    for (const std::size_t count : {4U, 10U, 40U}) {
      for (const double starts : {0.5, 1.0, 1.5, 2.0, 3.0, 6.0, 15.0}) {
        all[name][std::to_string(count)].push_back(measured(
            gain, count, starts, std::max<std::size_t>(1, parsed["workloads"].as<std::size_t>()), parsed["seed"].as<std::uint64_t>()));
      }
    }
  }
  std::puts(all.dump(1).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return refuse_wrong_options(run, argc, argv); }
