#pragma once
// A policy over configurations: each dimension's value is drawn from a softmax conditioned on the values drawn before.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hone/plugin.hpp"

namespace hone::search {

class Policy {
 public:
  /// `smoothing`: fraction of what is learned about an ordered value that also applies to its neighbours.
  Policy(plugin::Space space, double smoothing);

  /// The result may be invalid.
  [[nodiscard]] plugin::Digits draw(plugin::Random& random) const;
  [[nodiscard]] double log_probability(const plugin::Digits& digits) const;
  /// A step along the gradient of weight * log probability; the weight is a function of the log probability.
  template <class Weight>
  void reinforce(const plugin::Digits& digits, const Weight& weight) {
    const double log_probability = distribute(digits);
    step(digits, weight(log_probability));
  }
  /// Pulls all weights towards their values at the last `anchor` (initially 0), which keeps the policy uncertain.
  void relax(double rate);
  void anchor();

  /// The log probability of each value of each dimension, as text: one line with name, label and number each.
  [[nodiscard]] std::string save() const;
  /// Reads from such a text the entries for existing dimensions and values. Returns whether there were any.
  bool load(std::string_view text);

 private:
  /// Computes in `chances_` the probabilities of all values given the digits before their dimension; returns the digits' log probability.
  double distribute(const plugin::Digits& digits) const;
  void step(const plugin::Digits& digits, double weight);
  /// Index of "name\tlabel" among all values, or their number if there is none.
  [[nodiscard]] std::size_t find(std::string_view name, std::string_view label) const;

  plugin::Space space_;
  float smoothing_;
  std::size_t values_ = 0;                   ///< of all dimensions
  std::vector<std::size_t> offsets_, ends_;  ///< of each dimension's values among all
  std::vector<float> lone_;                  ///< weight of each value, padded with 0 to whole lanes
  std::vector<float> pair_;                  ///< a row for each value: its contribution to values of later dimensions, 0 for the others
  std::vector<float> lone_anchor_, pair_anchor_;
  mutable std::vector<float> chances_;     ///< memory of `distribute`
  mutable std::vector<std::size_t> rows_;  ///< the digits' values, memory of `distribute`
};

}  // namespace hone::search
