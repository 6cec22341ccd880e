// Branch and bound over each group's diagram, nearest values first. Every branch of a diagram leads to a valid configuration, so that the
// first descent already gives one and the limit on steps costs accuracy, never the answer.
#include "engine/space/nearest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hone::space {
namespace {

constexpr int kMostSteps = 4096;  // partial configurations looked at in one group: about 50 us

/// Of one parameter: its values ordered by distance from the wanted one.
struct Choice {
  std::uint16_t digit = 0;
  double distance = 0.0;
};

std::vector<Choice> choices(const Parameter& parameter, std::uint16_t wanted) {
  std::vector<Choice> ordered;
  const std::size_t values = parameter.values.size();  // up to 2^16, one more than a digit can be
  for (std::size_t digit = 0; digit < values; ++digit) {
    const double steps = std::abs(static_cast<double>(digit) - static_cast<double>(wanted));
    const bool labels = parameter.kind == ParameterKind::kEnumeration;
    const double distance = labels ? (digit == wanted ? 0.0 : 1.0) : steps / std::max(1.0, static_cast<double>(values) - 1.0);
    ordered.push_back({static_cast<std::uint16_t>(digit), distance});
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const Choice& a, const Choice& b) { return a.distance < b.distance; });
  return ordered;
}

class Search {
 public:
  Search(const Diagram& diagram, std::vector<std::vector<Choice>> levels)
      : diagram_(diagram), levels_(std::move(levels)), path_(levels_.size()) {}

  Digits run() {
    descend(0, diagram_.root(), 0.0);
    return best_;
  }

 private:
  void descend(std::size_t level, Node node, double distance) {
    if (level == levels_.size()) {
      best_ = path_;
      best_distance_ = distance;
      return;
    }
    const auto children = diagram_.children(node);
    for (const Choice& choice : levels_[level]) {
      if (distance + choice.distance >= best_distance_ || (!best_.empty() && steps_ > kMostSteps)) {
        return;
      }
      if (children[choice.digit] != kDead) {
        ++steps_;
        path_[level] = choice.digit;
        descend(level + 1, children[choice.digit], distance + choice.distance);
      }
    }
  }

  const Diagram& diagram_;
  std::vector<std::vector<Choice>> levels_;
  Digits path_, best_;
  double best_distance_ = std::numeric_limits<double>::infinity();
  int steps_ = 0;
};

}  // namespace

Digits nearest(const Product& product, std::span<const std::uint16_t> wanted) {
  Digits found(product.parameters.size());
  for (std::size_t g = 0; g < product.groups.size(); ++g) {
    std::vector<std::vector<Choice>> levels;
    std::vector<std::size_t> parameters;
    for (const Step& step : product.walk) {
      if (step.group == g) {
        levels.push_back(choices(product.parameters[step.parameter], wanted[step.parameter]));
        parameters.push_back(step.parameter);
      }
    }
    const Digits digits = Search(product.group(g), std::move(levels)).run();
    for (std::size_t level = 0; level < parameters.size(); ++level) {
      found[parameters[level]] = digits[level];
    }
  }
  return found;
}

}  // namespace hone::space
