#pragma once
// Checks what a space is made of and turns it into diagrams.

#include <memory>
#include <string>
#include <vector>

#include "engine/space/diagram.hpp"
#include "engine/space/lazy_tree.hpp"
#include "engine/space/search_space.hpp"

namespace hone::space {

/// A diagram, and what it was made of in words: a group of another space that reads the same has the same diagram.
struct BuiltGroup {
  std::shared_ptr<const Diagram> diagram;
  std::vector<ParameterId> order;  ///< of its levels
  std::string made_of;
};

/// A product of independent diagrams. `walk` visits every parameter once and each group from its root down: the order of positions.
/// It is the order of declaration, except within a group whose diagram would be too large that way.
struct Product {
  std::vector<Parameter> parameters;
  std::vector<BuiltGroup> groups;
  std::vector<Step> walk;
  std::size_t reused = 0;  ///< groups that were taken over
  /// With conditions that no diagram holds: positions are those of the diagrams, and what they lead to may not be valid.
  std::unique_ptr<const LazyTree> lazy;
  std::vector<std::string> deferred;  ///< these conditions' constraints
  Digits witness;                     ///< with `lazy`: a valid configuration

  [[nodiscard]] const Diagram& group(std::size_t i) const { return *groups[i].diagram; }
};

struct BuildOptions {
  const Product* previous = nullptr;  ///< of the same kernel for something else that is fixed: what is equal is taken over
  bool name_conflict = true;          ///< say in the error of an empty space which constraints contradict one another
  bool may_defer = true;              ///< check lazily what defeats sharing; otherwise that is an error
};

Result<Product> build_product(std::vector<Parameter> parameters, const std::vector<Constraint>& constraints, const Bindings& fixed,
                              const BuildOptions& options);
Result<Product> product_of_rows(std::vector<Parameter> parameters, const std::vector<std::vector<std::uint16_t>>& rows);

}  // namespace hone::space
