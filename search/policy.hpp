#pragma once
// A policy over configurations: the value of each dimension drawn from a softmax that sees the values drawn before it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hone/plugin.hpp"

namespace hone::search {

class Policy {
 public:
  /// `smoothing`: share of what is learned of an ordered value that goes to the values beside it.
  Policy(plugin::Space space, double smoothing);

  /// Need not be valid.
  [[nodiscard]] plugin::Digits draw(plugin::Random& random) const;
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
  /// Place of "name\tlabel" among all values; none: how many there are.
  [[nodiscard]] std::size_t find(std::string_view name, std::string_view label) const;

  plugin::Space space_;
  float smoothing_;
  std::size_t values_ = 0;                   ///< of all dimensions
  std::vector<std::size_t> offsets_, ends_;  ///< of each dimension's values among all
  std::vector<float> lone_;                  ///< weight of each value, and 0 up to whole lanes
  std::vector<float> pair_;                  ///< a row of these for each value: what it adds to those of later dimensions, 0 for the others
  std::vector<float> lone_anchor_, pair_anchor_;
  mutable std::vector<float> chances_;     ///< memory of `distribute`
  mutable std::vector<std::size_t> rows_;  ///< the digits' values, memory of `distribute`
};

}  // namespace hone::search
