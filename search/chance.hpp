#pragma once
// What a configuration drawn at random is worth beside one that a model has chosen.

#include <cstddef>
#include <span>
#include <unordered_map>
#include <vector>

#include "hone/plugin.hpp"

namespace hone::search {

/// A model that is wrong must not cost more than a part of the search. So chance keeps a share of the proposals, as large as its odds of
/// improving on the best are beside the model's: those of chance from the times that it drew, whose logarithms are taken to be normal;
/// those of the model from how often it did improve lately.
class Chance {
 public:
  /// Who asked for a configuration.
  void asked(plugin::Position position, bool at_random);
  /// What came of one, whoever asked: infinity for a failure. `improved`: on all before it.
  void told(plugin::Position position, double time_us, bool improved);

  /// The share of proposals that chance gets while the best found is `best_us`. `unexplained`: of the times' variation, the part that the
  /// model leaves; where it explains everything chance has half the odds. `weight`: of chance.
  [[nodiscard]] double share(double best_us, double unexplained, double weight = 1.0) const;

 private:
  std::unordered_map<plugin::Position, bool, plugin::PositionHash> at_random_;
  std::vector<double> logs_;              ///< of the times drawn at random
  std::size_t drawn_ = 0;                 ///< with those that failed
  double improved_ = 0.0, chosen_ = 0.0;  ///< proposals of the model, older ones count less
};

/// The odds that a random configuration is faster than `best`: log times of those known, of which there were `drawn` with failures. 1/2
/// where too few are known to say.
double odds_of_chance(std::span<const double> logs, std::size_t drawn, double best);

}  // namespace hone::search
