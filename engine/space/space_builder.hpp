#pragma once
// Checks what a space is made of and turns it into diagrams.

#include <vector>

#include "engine/space/diagram.hpp"
#include "hone/search_space.hpp"

namespace hone::space {

/// Which group's diagram decides which parameter.
struct Step {
  std::size_t parameter = 0, group = 0;
};

/// A product of independent diagrams. `walk` visits every parameter once and each group from its root down: the order of positions.
/// It is the order of declaration, except within a group whose diagram would be too large that way.
struct Product {
  std::vector<Parameter> parameters;
  std::vector<Diagram> groups;
  std::vector<Step> walk;
};

Result<Product> build_product(std::vector<Parameter> parameters, const std::vector<Constraint>& constraints, const Bindings& fixed);
Result<Product> product_of_rows(std::vector<Parameter> parameters, const std::vector<std::vector<std::uint16_t>>& rows);

}  // namespace hone::space
