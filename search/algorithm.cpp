#include "search/algorithm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace hone::search {

using plugin::Digits;
using plugin::Observation;
using plugin::Position;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kBestOfPrior = 3;
constexpr int kWalk = 8;  // steps away from what is known

/// The best few of each prior, the best of all priors first.
std::vector<Position> best_of(const std::vector<plugin::Prior>& priors) {
  std::vector<std::vector<std::pair<double, Position>>> ranked;
  for (const plugin::Prior& prior : priors) {
    auto& order = ranked.emplace_back();
    for (const Observation& observation : prior.observations) {
      if (observation.eligible()) {
        order.emplace_back(observation.time_us, observation.at());
      }
    }
    std::ranges::sort(order);
  }
  std::vector<Position> best;
  for (std::size_t place = 0; place < kBestOfPrior; ++place) {
    for (const auto& order : ranked) {
      if (place < order.size()) {
        best.push_back(order[place].second);
      }
    }
  }
  return best;
}

}  // namespace

std::vector<double> Algorithm::Answers::await_resume() const {
  std::vector<double> objectives;
  for (std::size_t i = 0; i < algorithm->asked_; ++i) {
    objectives.push_back(algorithm->objective(algorithm->request_[i]));
  }
  return objectives;
}

Algorithm::Algorithm(const plugin::Context& context)
    : space_(context.space()),
      random_(context.seed()),
      taken_(context),
      first_(context.first()),
      prior_best_(best_of(context.priors())),
      best_objective_(kInfinity) {}

Algorithm::Answer Algorithm::evaluate(Position position) {
  request_.assign(1, position);
  asked_ = 1;
  proposed_ = answered_ = 0;
  return {this};
}

Algorithm::Answers Algorithm::evaluate(std::vector<Position> positions) {
  request_ = std::move(positions);
  asked_ = request_.size();
  proposed_ = answered_ = 0;
  return {{this}};
}

bool Algorithm::answered() {
  while (answered_ < request_.size() && known(request_[answered_])) {
    ++answered_;
  }
  return answered_ == request_.size();
}

/// Lets the algorithm think until it waits. Whether it may have something to propose.
bool Algorithm::advance() {
  if (!answered()) {
    return false;
  }
  if (++circles_ > kCircles) {
    circles_ = 0;
    request_.push_back(taken_.any(random_));  // the algorithm learns of it as of everything known
    return true;
  }
  if (steps_.done()) {
    steps_ = run();
    request_.clear();
    proposed_ = answered_ = 0;
  }
  steps_.resume();
  return true;
}

std::vector<Position> Algorithm::ask(std::size_t wanted) {
  wanted_ = std::max<std::size_t>(1, wanted);
  if (first_ && !known(*first_)) {
    known_[*first_] = kInfinity;  // whoever does not tell of the default must not be waited for
  }
  std::vector<Position> proposed;
  while (proposed.size() < wanted && taken_.left() > 0) {
    if (proposed_ == request_.size()) {
      if (!advance()) {
        break;
      }
      continue;
    }
    const Position position = request_[proposed_++];
    if (taken_.claim(position)) {
      proposed.push_back(position);
      circles_ = 0;
    }
  }
  return proposed;
}

void Algorithm::tell(std::span<const Observation> observations) {
  taken_.claim(observations);
  for (const Observation& observation : observations) {
    const Position position = observation.at();
    const double objective = observation.objective();
    known_[position] = objective;
    told_.push_back({observation.ok(), objective, position});
    if (observation.ok() && objective < best_objective_) {
      best_ = position;
      best_objective_ = objective;
    }
  }
}

double Algorithm::objective(Position position) const {
  const auto found = known_.find(position);
  return found == known_.end() ? kInfinity : found->second;
}

Position Algorithm::best() { return best_objective_ < kInfinity ? best_ : space_.sample(random_); }

void Algorithm::append(std::vector<Position>& to, Position position, std::size_t most) const {
  if (to.size() < most && std::ranges::find(to, position) == to.end()) {
    to.push_back(position);
  }
}

std::vector<Position> Algorithm::start(std::size_t count) {
  count = static_cast<std::size_t>(std::min<Position>(count, space_.size()));
  std::vector<Position> chosen;
  auto ranked = told_;
  std::ranges::stable_sort(ranked, {}, [](const Told& one) { return std::pair(!one.ok, one.objective); });
  // Half at most: a population of what an earlier session converged to has nothing left to vary.
  for (std::size_t i = 0; i < ranked.size() && std::isfinite(ranked[i].objective); ++i) {
    append(chosen, ranked[i].position, (count + 1) / 2);
  }
  for (const Position position : prior_best_) {
    append(chosen, position, count - count / 4);
  }
  for (const Position position : space_.sample(random_, 2 * count)) {
    append(chosen, position, count);
  }
  return chosen;
}

Position Algorithm::repaired(const Digits& digits) const {
  const auto valid = space_.index(digits);
  return valid ? *valid : space_.nearest(digits);
}

Position Algorithm::random_neighbour(Position position, bool adjacent) {
  Digits digits = space_.at(position);
  // Listing all neighbours costs more than some misses.
  for (std::size_t draw = 0; draw < 4 * digits.size(); ++draw) {
    const std::size_t d = random_.index(digits.size());
    const hone_dimension& dimension = space_.dimension(d);
    if (dimension.count < 2) {
      continue;
    }
    const std::uint16_t old = digits[d];
    if (adjacent && dimension.kind == HONE_ORDINAL) {
      const bool up = old == 0 || (old + 1U < dimension.count && random_.index(2) == 1);
      digits[d] = static_cast<std::uint16_t>(up ? old + 1 : old - 1);
    } else {
      digits[d] = static_cast<std::uint16_t>((old + 1 + random_.index(dimension.count - 1)) % dimension.count);
    }
    if (const auto found = space_.index(digits)) {
      return *found;
    }
    digits[d] = old;
  }
  const auto all = space_.neighbours(position, plugin::Neighbourhood::kHamming);
  return all.empty() ? position : all[random_.index(all.size())];
}

Position Algorithm::novel(Position position) {
  for (int step = 0; step < kWalk && known(position); ++step) {
    position = random_neighbour(position);
  }
  return position;
}

Position Algorithm::perturbed(Position position, std::size_t count) {
  Digits digits = space_.at(position);
  for (std::size_t change = 0; change < count && !digits.empty(); ++change) {
    const std::size_t d = random_.index(digits.size());
    digits[d] = static_cast<std::uint16_t>(random_.index(space_.dimension(d).count));
  }
  return repaired(digits);
}

std::vector<Position> take(std::vector<Position>& from, std::size_t count) {
  const auto first = from.end() - static_cast<std::ptrdiff_t>(std::min(count, from.size()));
  std::vector<Position> taken(first, from.end());
  from.erase(first, from.end());
  return taken;
}

double Algorithm::normal() {  // Box and Muller 1958; a std distribution differs from library to library
  const double radius = std::sqrt(-2.0 * std::log(1.0 - random_.unit()));
  return radius * std::cos(2.0 * std::numbers::pi * random_.unit());
}

}  // namespace hone::search
