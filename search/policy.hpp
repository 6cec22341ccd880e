#pragma once
// A policy over configurations: the value of each dimension drawn from a softmax that sees the values drawn before it.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "hone/plugin.hpp"

namespace hone::search {

class Policy {
 public:
  /// `smoothing`: share of what is learned of an ordered value that goes to the values beside it.
  Policy(plugin::Space space, double smoothing);

  /// Need not be valid. A temperature above 1 flattens the policy.
  [[nodiscard]] plugin::Digits draw(plugin::Random& random, double temperature) const;
  [[nodiscard]] double log_probability(const plugin::Digits& digits) const;
  /// A step along the gradient of weight * log probability, the weight decided by the log probability.
  template <class Weight>
  void reinforce(const plugin::Digits& digits, const Weight& weight) {
    const double log_probability = distribute(digits);
    step(digits, weight(log_probability));
  }
  /// Draws all weights towards where they were at the last `anchor`, at first 0: what keeps the policy uncertain.
  void relax(double rate);
  void anchor();

  /// For each dimension and value its log probability, as text: a line of name, label and number each.
  [[nodiscard]] std::string save() const;
  /// Takes from such a text what is of dimensions and values here. Returns whether there was anything.
  bool load(std::string_view text);

 private:
  /// The chances of all values, each after the digits before its dimension, in `chances_`; returns the log probability of the digits.
  double distribute(const plugin::Digits& digits) const;
  void step(const plugin::Digits& digits, double weight);
  /// Softmax weights of dimension d after the digits before it.
  void probabilities(const plugin::Digits& digits, std::size_t d, double temperature, std::vector<double>& into) const;
  /// Place of "name\tlabel" among all values; none: size of `lone_`.
  [[nodiscard]] std::size_t find(std::string_view name, std::string_view label) const;
  [[nodiscard]] const double* after(std::size_t value, std::size_t dimension) const {
    return &pair_[value * lone_.size() + offsets_[dimension]];
  }

  plugin::Space space_;
  double smoothing_;
  std::vector<std::size_t> offsets_;  ///< of each dimension's first value among all
  std::vector<double> lone_, pair_;   ///< weight of each value; of each value after each of an earlier dimension
  std::vector<double> lone_anchor_, pair_anchor_;
  mutable std::vector<double> chances_;  ///< memory of `distribute`
};

}  // namespace hone::search
