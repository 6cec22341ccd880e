#pragma once
// A multi-valued decision diagram: a shared graph whose paths are the valid configurations of one group of parameters.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/space/search_space.hpp"

namespace hone::space {

/// A node; its children are one per value of its level's parameter.
using Node = std::uint32_t;
inline constexpr Node kEnd = 0;                                  ///< below the last level: one way to go on
inline constexpr Node kDead = std::numeric_limits<Node>::max();  ///< no valid configuration lies here

class Diagram {
 public:
  [[nodiscard]] Node root() const { return root_; }
  [[nodiscard]] std::size_t nodes() const { return counts_.size(); }
  [[nodiscard]] std::size_t bytes() const;
  /// Paths from `node` to the end.
  [[nodiscard]] Count count(Node node) const { return counts_[node]; }
  [[nodiscard]] std::span<const Node> children(Node node) const {
    return {children_.data() + first_[node], first_[node + 1] - first_[node]};
  }

 private:
  friend class DiagramBuilder;
  std::vector<Count> counts_{1};
  std::vector<std::size_t> first_{0, 0};  ///< node n's children are children_[first_[n]..first_[n + 1])
  std::vector<Node> children_;
  Node root_ = kDead;
};

/// Grows a diagram from its end to its root; equal nodes become one.
class DiagramBuilder {
 public:
  DiagramBuilder();
  /// The node with these children; kDead if all of them are.
  Node add(std::span<const Node> children);
  Diagram finish(Node root);

 private:
  [[nodiscard]] std::size_t place_of(std::span<const Node> children) const;

  Diagram diagram_;
  std::vector<Node> places_;  ///< of nodes by their children, open addressing; kEnd where free
};

}  // namespace hone::space
