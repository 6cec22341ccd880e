#include "engine/space/diagram.hpp"

#include <algorithm>
#include <utility>

#include "engine/space/hashing.hpp"

namespace hone::space {

Node DiagramBuilder::add(std::span<const Node> children) {
  Count paths = 0;
  for (const Node child : children) {
    paths += child == kDead ? 0 : diagram_.count(child);
  }
  if (paths == 0) {
    return kDead;
  }
  const std::size_t hash = hash_range(children);
  const auto [first, last] = by_children_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    if (std::ranges::equal(diagram_.children(at->second), children)) {
      return at->second;
    }
  }
  const Node node = static_cast<Node>(diagram_.counts_.size());
  diagram_.counts_.push_back(paths);
  diagram_.children_.insert(diagram_.children_.end(), children.begin(), children.end());
  diagram_.first_.push_back(diagram_.children_.size());
  by_children_.emplace(hash, node);
  return node;
}

Diagram DiagramBuilder::finish(Node root) {
  diagram_.root_ = root;
  by_children_.clear();
  return std::move(diagram_);
}

}  // namespace hone::space
