// A space from the list of its configurations.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/space/checks.hpp"
#include "engine/space/space_builder.hpp"

namespace hone::space {
namespace {

using Rows = std::vector<std::vector<std::uint16_t>>;

/// The node of sorted rows [first, last), which agree before `level`.
Node node_of_rows(const std::vector<Parameter>& parameters, std::size_t level, Rows::const_iterator first, Rows::const_iterator last,
                  DiagramBuilder& diagram) {
  if (level == parameters.size()) {
    return kEnd;
  }
  std::vector<Node> children(parameters[level].values.size(), kDead);
  while (first != last) {
    const std::uint16_t value = (*first)[level];
    const auto next = std::find_if(first, last, [&](const auto& row) { return row[level] != value; });
    children[value] = node_of_rows(parameters, level + 1, first, next, diagram);
    first = next;
  }
  return diagram.add(children);
}

}  // namespace

Result<Product> product_of_rows(std::vector<Parameter> parameters, const Rows& rows) {
  HONE_TRY(check_parameters(parameters));
  if (rows.empty()) {
    return Error{ErrorCode::kEmptySpace, "search space: no rows were given, so no configuration is valid"};
  }
  for (const auto& row : rows) {
    if (row.size() != parameters.size()) {
      return invalid_space(fmt::format("a row has {} values for {} parameters", row.size(), parameters.size()));
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i] >= parameters[i].values.size()) {
        return invalid_space(
            fmt::format("a row names value {} of parameter '{}', which has {}", row[i], parameters[i].name, parameters[i].values.size()));
      }
    }
  }
  Rows sorted = rows;
  std::ranges::sort(sorted);
  DiagramBuilder diagram;
  const Node root = node_of_rows(parameters, 0, sorted.begin(), sorted.end(), diagram);
  Product product;
  product.groups.push_back({std::make_shared<const Diagram>(diagram.finish(root)), {}, {}});
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    product.walk.push_back({i, 0});
  }
  product.parameters = std::move(parameters);
  return product;
}

}  // namespace hone::space
