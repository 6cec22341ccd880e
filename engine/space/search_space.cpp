// SearchSpace: independent groups of parameters, each a decision diagram; the space is their product.
#include "engine/space/search_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include "engine/space/diagram.hpp"
#include "engine/space/hashing.hpp"
#include "engine/space/nearest.hpp"
#include "engine/space/space_builder.hpp"
#include "hone/plugin.hpp"

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

/// One level of a walk down several diagrams.
struct Level {
  std::uint32_t parameter = 0, group = 0;
};

/// How many draws a space that is not exact is worth before another way is tried, and how far `next_valid` looks.
constexpr int kDraws = 1 << 13;
constexpr int kMostDraws = 1 << 18;  // of all that are asked for at once: where hardly anything is valid, fewer are had
constexpr std::size_t kMostRepeats = 64;
constexpr std::size_t kNextValidSteps = std::size_t{1} << 14;

}  // namespace

struct SearchSpace::Impl {
  space::Product product;
  Count cartesian = 1, size = 1;
  std::vector<Level> levels;                    ///< the walk over parameters that have a choice
  std::vector<const space::Diagram*> diagrams;  ///< of each group
  std::optional<SpaceRecipe> recipe;

  explicit Impl(space::Product made) : product(std::move(made)) {
    for (const Parameter& parameter : product.parameters) {
      cartesian *= parameter.values.size();
    }
    for (const space::BuiltGroup& group : product.groups) {
      diagrams.push_back(group.diagram.get());
      size *= diagrams.back()->count(diagrams.back()->root());
    }
    for (const space::Step& step : product.walk) {
      levels.push_back({static_cast<std::uint32_t>(step.parameter), static_cast<std::uint32_t>(step.group)});
    }
    std::erase_if(levels, [this](const Level& level) {
      return product.parameters[level.parameter].values.size() == 1 && product.groups[level.group].order.size() == 1;
    });
  }

  /// A node for each group, on the stack where there are not many.
  class Nodes {
   public:
    explicit Nodes(const Impl& of) : many_(of.diagrams.size() > few_.size() ? of.diagrams.size() : 0) {
      for (std::size_t group = 0; group < of.diagrams.size(); ++group) {
        (*this)[group] = of.diagrams[group]->root();
      }
    }
    Node& operator[](std::size_t group) { return many_.empty() ? few_[group] : many_[group]; }

   private:
    std::array<Node, 64> few_;
    std::vector<Node> many_;
  };

  /// Configurations that share the walk so far: with the group of the next step standing at `node`, those of the other groups.
  template <class Number>
  [[nodiscard]] std::optional<Count> index_as(std::span<const std::uint16_t> digits) const {
    Nodes nodes(*this);
    Number position = 0, left = static_cast<Number>(size);
    for (const Level& level : levels) {
      const space::Diagram& group = *diagrams[level.group];
      Node& node = nodes[level.group];
      const auto children = group.children(node);
      const Node child = children[digits[level.parameter]];
      if (child == kDead) {
        return std::nullopt;
      }
      const auto here = static_cast<Number>(group.count(node));
      const Number others = left == here ? 1 : left / here;
      Number before = 0;
      for (const Node sibling : children.first(digits[level.parameter])) {
        before += sibling == kDead ? 0 : static_cast<Number>(group.count(sibling));
      }
      position += before * others;
      node = child;
      left = others * static_cast<Number>(group.count(child));
    }
    return position;
  }

  template <class Number>
  void at_as(Number position, std::span<std::uint16_t> digits) const {
    std::ranges::fill(digits, std::uint16_t{0});
    Nodes nodes(*this);
    Number left = static_cast<Number>(size);
    for (const Level& level : levels) {
      const space::Diagram& group = *diagrams[level.group];
      Node& node = nodes[level.group];
      const auto children = group.children(node);
      const auto here = static_cast<Number>(group.count(node));
      const Number others = left == here ? 1 : left / here;
      std::uint16_t digit = 0;
      for (;; ++digit) {
        left = children[digit] == kDead ? 0 : static_cast<Number>(group.count(children[digit])) * others;
        if (position < left) {
          break;
        }
        position -= left;
      }
      digits[level.parameter] = digit;
      node = children[digit];
    }
  }

  [[nodiscard]] bool narrow() const { return size >> 64 == 0; }

  /// Position in the diagrams.
  [[nodiscard]] std::optional<Count> place(std::span<const std::uint16_t> digits) const {
    return narrow() ? index_as<std::uint64_t>(digits) : index_as<Count>(digits);
  }
  void at(Count position, std::span<std::uint16_t> digits) const {
    narrow() ? at_as<std::uint64_t>(static_cast<std::uint64_t>(position), digits) : at_as<Count>(position, digits);
  }

  [[nodiscard]] bool valid(std::span<const std::uint16_t> digits) const { return !product.lazy || product.lazy->holds(digits); }
  [[nodiscard]] std::optional<Count> index(std::span<const std::uint16_t> digits) const {
    const auto found = place(digits);
    return found && valid(digits) ? found : std::nullopt;
  }

  [[nodiscard]] std::vector<Count> neighbours(Digits digits, Neighbourhood kind) const {
    std::vector<Count> found;
    for (std::size_t p = 0; p < digits.size(); ++p) {
      const int centre = digits[p], values = static_cast<int>(product.parameters[p].values.size());
      const int reach = kind == Neighbourhood::kAdjacent ? 1 : values;
      for (int digit = std::max(0, centre - reach); digit <= std::min(values - 1, centre + reach); ++digit) {
        digits[p] = static_cast<std::uint16_t>(digit);
        if (const auto position = digit == centre ? std::nullopt : index(digits)) {
          found.push_back(*position);
        }
      }
      digits[p] = static_cast<std::uint16_t>(centre);
    }
    std::ranges::sort(found);
    return found;
  }

  [[nodiscard]] Digits next_valid(Count position) const {
    Digits digits(product.parameters.size());
    at(position, digits);
    if (valid(digits)) {
      return digits;
    }
    space::LazyTree::Found found = product.lazy->next(product.walk, diagrams, digits, kNextValidSteps);
    if (found.digits) {
      return *std::move(found.digits);
    }
    return product.witness;
  }
};

SearchSpace::SearchSpace(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SearchSpace::SearchSpace(SearchSpace&&) noexcept = default;
SearchSpace& SearchSpace::operator=(SearchSpace&&) noexcept = default;
SearchSpace::~SearchSpace() = default;

Result<SearchSpace> SearchSpace::build(std::vector<Parameter> parameters, const std::vector<Constraint>& constraints, const Bindings& fixed,
                                       const SearchSpace* previous) {
  const space::BuildOptions options{.previous = previous == nullptr ? nullptr : &previous->impl_->product};
  HONE_ASSIGN(space::Product product, space::build_product(std::move(parameters), constraints, fixed, options));
  auto impl = std::make_unique<Impl>(std::move(product));
  impl->recipe = SpaceRecipe{constraints, fixed};
  return SearchSpace(std::move(impl));
}

Result<SearchSpace> SearchSpace::from_rows(std::vector<Parameter> parameters, const std::vector<std::vector<std::uint16_t>>& rows) {
  HONE_ASSIGN(space::Product product, space::product_of_rows(std::move(parameters), rows));
  return SearchSpace(std::make_unique<Impl>(std::move(product)));
}

const std::vector<Parameter>& SearchSpace::parameters() const { return impl_->product.parameters; }
Count SearchSpace::cartesian() const { return impl_->cartesian; }
Count SearchSpace::size() const { return impl_->size; }
bool SearchSpace::exact() const { return impl_->product.lazy == nullptr; }

const SpaceRecipe* SearchSpace::recipe() const { return impl_->recipe ? &*impl_->recipe : nullptr; }

SpaceFigures SearchSpace::figures() const {
  SpaceFigures figures{.groups = impl_->diagrams.size(), .reused = impl_->product.reused, .deferred = impl_->product.deferred};
  for (const space::Diagram* diagram : impl_->diagrams) {
    figures.nodes += diagram->nodes() - 1;  // without the end
    figures.bytes += diagram->bytes();
  }
  return figures;
}

Count SearchSpace::next_valid(Count i) const { return exact() && i < size() ? i : *impl_->place(digits(i)); }

void SearchSpace::digits(Count i, std::span<std::uint16_t> digits) const {
  if (i >= size() || digits.size() != parameters().size()) {
    throw ContractError(fmt::format("SearchSpace::digits({}) into {}: the space has {} configurations of {} parameters", text(i),
                                    digits.size(), text(size()), parameters().size()));
  }
  if (exact()) {
    impl_->at(i, digits);
  } else {
    std::ranges::copy(impl_->next_valid(i), digits.begin());
  }
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
  const Digits near = space::nearest(impl_->product, digits);
  const Count place = *impl_->place(near);
  if (impl_->valid(near)) {
    return place;
  }
  const std::vector<Count> around = impl_->neighbours(near, Neighbourhood::kHamming);
  return around.empty() ? next_valid(place) : around.front();
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

Count SearchSpace::sample(std::mt19937_64& random) const {
  int left = kMostDraws;
  return exact() ? uniform(random, size()) : sample(random, left);
}

Count SearchSpace::sample(std::mt19937_64& random, int& left) const {
  Digits digits(parameters().size());
  for (int draw = 0; draw < kDraws; ++draw) {
    --left;
    const Count position = uniform(random, size());
    impl_->at(position, digits);
    if (impl_->valid(digits)) {
      return position;
    }
  }
  left -= kDraws;  // it looks at many, too
  return next_valid(uniform(random, size()));
}

std::vector<Count> SearchSpace::sample(std::mt19937_64& random, std::size_t n) const {
  if (!exact()) {
    std::unordered_set<Count, plugin::PositionHash> chosen;
    std::vector<Count> positions;
    int left = kMostDraws;
    for (std::size_t draw = 0; positions.size() < n && draw < 2 * n + kMostRepeats && left > 0; ++draw) {
      if (const Count drawn = sample(random, left); chosen.insert(drawn).second) {
        positions.push_back(drawn);
      }
    }
    return positions;
  }
  // Floyd: every subset is equally likely, and nothing is drawn twice.
  const Count wanted = std::min<Count>(n, size());
  std::unordered_set<Count, plugin::PositionHash> chosen;
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

std::vector<Count> SearchSpace::neighbours(Count i, Neighbourhood kind) const { return impl_->neighbours(digits(i), kind); }

}  // namespace hone
