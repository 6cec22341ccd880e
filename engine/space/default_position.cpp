#include "engine/space/default_position.hpp"

#include <algorithm>

namespace hone {

Count default_position(const SearchSpace& space, const Configuration& wanted) {
  if (const std::optional<Count> position = space.index(wanted)) {
    return *position;
  }
  std::vector<std::uint16_t> digits;
  for (std::size_t p = 0; p < space.parameters().size(); ++p) {
    const std::vector<Value>& values = space.parameters()[p].values;
    const auto at = std::find(values.begin(), values.end(), wanted.values[p]);
    // A recorded space may lack the default's value: its last one stands in.
    digits.push_back(static_cast<std::uint16_t>(std::min<std::ptrdiff_t>(at - values.begin(), std::ssize(values) - 1)));
  }
  return space.nearest(digits);
}

}  // namespace hone
