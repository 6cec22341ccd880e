#include "engine/space/diagram.hpp"

#include <algorithm>
#include <utility>

#include "engine/space/hashing.hpp"

namespace hone::space {

std::size_t Diagram::bytes() const {
  return counts_.capacity() * sizeof(Count) + first_.capacity() * sizeof(std::size_t) + children_.capacity() * sizeof(Node);
}

DiagramBuilder::DiagramBuilder() : places_(64, kEnd) {}

std::size_t DiagramBuilder::place_of(std::span<const Node> children) const {
  std::size_t place = hash_range(children) & (places_.size() - 1);
  while (places_[place] != kEnd && !std::ranges::equal(diagram_.children(places_[place]), children)) {
    place = (place + 1) & (places_.size() - 1);
  }
  return place;
}

Node DiagramBuilder::add(std::span<const Node> children) {
  Count paths = 0;
  for (const Node child : children) {
    paths += child == kDead ? 0 : diagram_.count(child);
  }
  if (paths == 0) {
    return kDead;
  }
  if (2 * diagram_.nodes() > places_.size()) {
    places_.assign(2 * places_.size(), kEnd);
    for (Node node = 1; node < diagram_.nodes(); ++node) {
      places_[place_of(diagram_.children(node))] = node;
    }
  }
  const std::size_t place = place_of(children);
  if (places_[place] != kEnd) {
    return places_[place];
  }
  const Node node = static_cast<Node>(diagram_.counts_.size());
  diagram_.counts_.push_back(paths);
  diagram_.children_.insert(diagram_.children_.end(), children.begin(), children.end());
  diagram_.first_.push_back(diagram_.children_.size());
  return places_[place] = node;
}

Diagram DiagramBuilder::finish(Node root) {
  diagram_.root_ = root;
  diagram_.counts_.shrink_to_fit();
  diagram_.first_.shrink_to_fit();
  diagram_.children_.shrink_to_fit();
  return std::move(diagram_);
}

}  // namespace hone::space
