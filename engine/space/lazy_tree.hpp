#pragma once
// Conditions that no diagram could hold, checked while configurations are looked for. Nothing is stored but the path.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/space/diagram.hpp"
#include "engine/space/program.hpp"
#include "engine/space/search_space.hpp"
#include "engine/space/terms.hpp"

namespace hone::space {

/// Which group's diagram decides which parameter.
struct Step {
  std::size_t parameter = 0, group = 0;
};

class LazyTree {
 public:
  /// `parameters` must outlive the tree.
  LazyTree(const Terms& terms, const std::vector<Step>& walk, const std::vector<TermId>& conditions);

  /// Whether all conditions hold.
  [[nodiscard]] bool holds(std::span<const std::uint16_t> digits) const;

  struct Found {
    std::optional<Digits> digits;
    bool complete = false;  ///< nothing was found because there is nothing
  };
  /// The first configuration at or after `from`, in the order of the walk, that is in the diagrams and meets all conditions.
  /// Gives up after looking at `steps` partial configurations.
  [[nodiscard]] Found next(const std::vector<Step>& walk, std::span<const Diagram* const> groups, std::span<const std::uint16_t> from,
                           std::size_t steps) const;

 private:
  class Search;
  Program::Node compile(const Terms& terms, TermId term, std::size_t cut);
  [[nodiscard]] bool may_hold(std::size_t cut, std::span<const std::uint16_t> by_level) const;

  Program program_;
  std::vector<std::size_t> level_of_;               ///< of each parameter
  std::vector<std::vector<Program::Node>> checks_;  ///< of each cut: conditions that its last level has touched
  std::vector<Program::Node> whole_;
};

}  // namespace hone::space
