#pragma once
// How promising a random configuration is compared with one chosen by a model.

#include <cstddef>
#include <span>
#include <unordered_map>
#include <vector>

#include "hone/plugin.hpp"

namespace hone::search {

/// A wrong model must not cost more than a part of the search. So a share of the proposals is random, in proportion to the probability
/// that a random configuration improves on the best, compared with the model's. The former is estimated from the random configurations'
/// times (assumed log-normal), the latter from the model's recent improvements.
class Chance {
 public:
  /// The origin of a proposal.
  void asked(plugin::Position position, bool at_random);
  /// The outcome of a proposal of either origin: infinity for a failure. `improved`: on all earlier ones.
  void told(plugin::Position position, double time_us, bool improved);

  /// The share of random proposals while the best time is `best_us`. `unexplained`: the part of the times' variation that the model does
  /// not explain; if it explains everything, the odds of random proposals are halved. `weight`: of random proposals.
  [[nodiscard]] double share(double best_us, double unexplained, double weight = 1.0) const;

 private:
  std::unordered_map<plugin::Position, bool, plugin::PositionHash> at_random_;
  std::vector<double> logs_;              ///< of the times drawn at random
  std::size_t drawn_ = 0;                 ///< including failures
  double improved_ = 0.0, chosen_ = 0.0;  ///< proposals of the model; older ones count less
};

/// The probability that a random configuration is faster than `best`, from the known log times and `drawn`, which includes failures. 1/2
/// if too few are known.
double odds_of_chance(std::span<const double> logs, std::size_t drawn, double best);

}  // namespace hone::search
