// SearchSpace: independent groups of parameters, each a decision diagram; the space is their product.
#include "hone/search_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "engine/space/diagram.hpp"
#include "engine/space/hashing.hpp"
#include "engine/space/nearest.hpp"
#include "engine/space/space_builder.hpp"

namespace hone {

using space::kDead;
using space::Node;

std::string text(Count count) {
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(count % 10)));
    count /= 10;
  } while (count != 0);
  return digits;
}

namespace {

std::optional<std::uint16_t> position_of(const Parameter& parameter, const Value& value) {
  const auto at = std::ranges::find(parameter.values, value);
  if (at == parameter.values.end()) {
    return std::nullopt;
  }
  return static_cast<std::uint16_t>(at - parameter.values.begin());
}

/// Uniform in [0, size); the same numbers on every platform, which std::uniform_int_distribution does not promise.
Count uniform(std::mt19937_64& random, Count size) {
  const bool narrow = size <= Count{1} << 64;
  const Count range = narrow ? Count{1} << 64 : ~Count{0};
  const Count limit = range - range % size;
  for (;;) {
    const Count drawn = narrow ? Count{random()} : (Count{random()} << 64 | random());
    if (drawn < limit) {
      return drawn % size;
    }
  }
}

struct CountHash {
  std::size_t operator()(Count count) const {
    return static_cast<std::size_t>(space::mix(static_cast<std::uint64_t>(count >> 64), static_cast<std::uint64_t>(count)));
  }
};

}  // namespace

struct SearchSpace::Impl {
  space::Product product;
  Count cartesian = 1, size = 1;

  /// The nodes where each group's walk begins.
  [[nodiscard]] std::vector<Node> roots() const {
    std::vector<Node> nodes;
    for (const space::Diagram& group : product.groups) {
      nodes.push_back(group.root());
    }
    return nodes;
  }

  /// Configurations that share the walk so far: with the group of the next step standing at `node`, those of the other groups.
  [[nodiscard]] std::optional<Count> index(std::span<const std::uint16_t> digits) const {
    std::vector<Node> nodes = roots();
    Count position = 0, left = size;
    for (const space::Step& step : product.walk) {
      const space::Diagram& group = product.groups[step.group];
      const auto children = group.children(nodes[step.group]);
      const Count others = left / group.count(nodes[step.group]);
      const std::uint16_t digit = digits[step.parameter];
      if (children[digit] == kDead) {
        return std::nullopt;
      }
      for (const Node before : children.first(digit)) {
        position += before == kDead ? 0 : group.count(before) * others;
      }
      nodes[step.group] = children[digit];
      left = others * group.count(children[digit]);
    }
    return position;
  }

  void at(Count position, std::span<std::uint16_t> digits) const {
    std::vector<Node> nodes = roots();
    Count left = size;
    for (const space::Step& step : product.walk) {
      const space::Diagram& group = product.groups[step.group];
      const auto children = group.children(nodes[step.group]);
      const Count others = left / group.count(nodes[step.group]);
      std::uint16_t digit = 0;
      for (;; ++digit) {
        left = children[digit] == kDead ? 0 : group.count(children[digit]) * others;
        if (position < left) {
          break;
        }
        position -= left;
      }
      digits[step.parameter] = digit;
      nodes[step.group] = children[digit];
    }
  }
};

SearchSpace::SearchSpace(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  for (const Parameter& parameter : impl_->product.parameters) {
    impl_->cartesian *= parameter.values.size();
  }
  for (const space::Diagram& group : impl_->product.groups) {
    impl_->size *= group.count(group.root());
  }
}
SearchSpace::SearchSpace(SearchSpace&&) noexcept = default;
SearchSpace& SearchSpace::operator=(SearchSpace&&) noexcept = default;
SearchSpace::~SearchSpace() = default;

Result<SearchSpace> SearchSpace::build(std::vector<Parameter> parameters, const std::vector<Constraint>& constraints,
                                       const Bindings& fixed) {
  auto impl = std::make_unique<Impl>();
  HONE_ASSIGN(impl->product, space::build_product(std::move(parameters), constraints, fixed));
  return SearchSpace(std::move(impl));
}

Result<SearchSpace> SearchSpace::from_rows(std::vector<Parameter> parameters, const std::vector<std::vector<std::uint16_t>>& rows) {
  auto impl = std::make_unique<Impl>();
  HONE_ASSIGN(impl->product, space::product_of_rows(std::move(parameters), rows));
  return SearchSpace(std::move(impl));
}

const std::vector<Parameter>& SearchSpace::parameters() const { return impl_->product.parameters; }
Count SearchSpace::cartesian() const { return impl_->cartesian; }
Count SearchSpace::size() const { return impl_->size; }

void SearchSpace::digits(Count i, std::span<std::uint16_t> digits) const {
  if (i >= size() || digits.size() != parameters().size()) {
    throw ContractError(fmt::format("SearchSpace::digits({}) into {}: the space has {} configurations of {} parameters", text(i), digits.size(),
                                    text(size()), parameters().size()));
  }
  impl_->at(i, digits);
}

Digits SearchSpace::digits(Count i) const {
  Digits made(parameters().size());
  digits(i, made);
  return made;
}

std::optional<Count> SearchSpace::index(std::span<const std::uint16_t> digits) const {
  if (digits.size() != parameters().size()) {
    return std::nullopt;
  }
  for (std::size_t p = 0; p < digits.size(); ++p) {
    if (digits[p] >= parameters()[p].values.size()) {
      return std::nullopt;
    }
  }
  return impl_->index(digits);
}

Count SearchSpace::nearest(std::span<const std::uint16_t> digits) const {
  if (digits.size() != parameters().size()) {
    throw ContractError(fmt::format("SearchSpace::nearest: {} digits for {} parameters", digits.size(), parameters().size()));
  }
  return *impl_->index(space::nearest(impl_->product, digits));
}

Configuration SearchSpace::at(Count i) const {
  const Digits digits = this->digits(i);
  Configuration configuration;
  configuration.values.reserve(digits.size());
  for (std::size_t p = 0; p < digits.size(); ++p) {
    configuration.values.push_back(parameters()[p].values[digits[p]]);
  }
  return configuration;
}

std::optional<Count> SearchSpace::index(const Configuration& configuration) const {
  if (configuration.values.size() != parameters().size()) {
    return std::nullopt;
  }
  Digits digits;
  for (std::size_t p = 0; p < parameters().size(); ++p) {
    const auto digit = position_of(parameters()[p], configuration.values[p]);
    if (!digit) {
      return std::nullopt;
    }
    digits.push_back(*digit);
  }
  return impl_->index(digits);
}

Count SearchSpace::sample(std::mt19937_64& random) const { return uniform(random, size()); }

std::vector<Count> SearchSpace::sample(std::mt19937_64& random, std::size_t n) const {
  // Floyd: every subset is equally likely, and nothing is drawn twice.
  const Count wanted = std::min<Count>(n, size());
  std::unordered_set<Count, CountHash> chosen;
  std::vector<Count> positions;
  for (Count last = size() - wanted; last < size(); ++last) {
    const Count drawn = uniform(random, last + 1);
    positions.push_back(chosen.contains(drawn) ? last : drawn);
    chosen.insert(positions.back());
  }
  for (std::size_t i = positions.size(); i > 1; --i) {
    std::swap(positions[i - 1], positions[static_cast<std::size_t>(uniform(random, i))]);
  }
  return positions;
}

std::vector<Count> SearchSpace::neighbours(Count i, Neighbourhood kind) const {
  Digits digits = this->digits(i);
  std::vector<Count> found;
  for (std::size_t p = 0; p < digits.size(); ++p) {
    const int centre = digits[p], values = static_cast<int>(parameters()[p].values.size());
    const int reach = kind == Neighbourhood::kAdjacent ? 1 : values;
    for (int digit = std::max(0, centre - reach); digit <= std::min(values - 1, centre + reach); ++digit) {
      digits[p] = static_cast<std::uint16_t>(digit);
      if (const auto position = digit == centre ? std::nullopt : impl_->index(digits)) {
        found.push_back(*position);
      }
    }
    digits[p] = static_cast<std::uint16_t>(centre);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace hone
