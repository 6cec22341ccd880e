#include "engine/plugin/space_view.hpp"

#include <algorithm>
#include <random>
#include <ranges>
#include <span>

namespace hone::plugin_host {
namespace {

const SpaceView& view_of(const void* self) { return *static_cast<const SpaceView*>(self); }
const SearchSpace& space_of(const void* self) { return view_of(self).space(); }

std::span<const std::uint16_t> digits_of(const void* self, const std::uint16_t* digits) {
  return {digits, space_of(self).parameters().size()};
}

std::int32_t at(const void* self, hone_position position, std::uint16_t* digits) {
  const SearchSpace& space = space_of(self);
  if (from_c(position) >= space.size()) {
    return 1;
  }
  space.digits(from_c(position), {digits, space.parameters().size()});
  return 0;
}

std::int32_t index(const void* self, const std::uint16_t* digits, hone_position* position) {
  const std::optional<Count> found = space_of(self).index(digits_of(self, digits));
  *position = to_c(found.value_or(0));
  return found ? 0 : 1;
}

hone_position nearest(const void* self, const std::uint16_t* digits) { return to_c(space_of(self).nearest(digits_of(self, digits))); }

std::size_t sample(const void* self, std::uint64_t seed, std::size_t count, hone_position* positions) {
  std::mt19937_64 random(seed);
  const std::vector<Count> drawn = space_of(self).sample(random, count);
  std::ranges::transform(drawn, positions, [](Count one) { return to_c(one); });
  return drawn.size();
}

std::size_t neighbours(const void* self, hone_position position, std::int32_t kind, std::size_t capacity, hone_position* positions) {
  if (from_c(position) >= space_of(self).size()) {
    return 0;
  }
  const std::vector<Count> found =
      space_of(self).neighbours(from_c(position), kind == HONE_ADJACENT ? Neighbourhood::kAdjacent : Neighbourhood::kHamming);
  std::ranges::transform(found | std::views::take(capacity), positions, [](Count one) { return to_c(one); });
  return found.size();
}

/// The position whose configuration a position stands for; they differ only in a space that is not exact.
Count next_valid_position(const SearchSpace& space, Count position) { return space.exact() ? position : space.next_valid(position); }

std::int32_t is_likely(const void* self, hone_position position) {
  const SearchSpace& space = space_of(self);
  if (from_c(position) >= space.size()) {
    return 0;
  }
  const LikelySpace* const likely = view_of(self).likely();
  return likely == nullptr || likely->to_likely(next_valid_position(space, from_c(position))) ? 1 : 0;
}

std::size_t sample_likely(const void* self, std::uint64_t seed, std::size_t count, hone_position* positions) {
  const LikelySpace* const likely = view_of(self).likely();
  if (likely == nullptr) {
    return sample(self, seed, count, positions);
  }
  std::mt19937_64 random(seed);
  const std::vector<Count> drawn = likely->likely()->sample(random, count);
  std::ranges::transform(drawn, positions, [likely](Count one) { return to_c(likely->to_legal(one)); });
  return drawn.size();
}

std::size_t broken(const void* self, hone_position position, std::size_t capacity, std::uint32_t* places) {
  const SearchSpace& space = space_of(self);
  const LikelySpace* const likely = view_of(self).likely();
  if (likely == nullptr || from_c(position) >= space.size()) {
    return 0;
  }
  const std::vector<std::size_t> found = likely->broken(space.at(next_valid_position(space, from_c(position))));
  std::ranges::transform(found | std::views::take(capacity), places, [](std::size_t one) { return static_cast<std::uint32_t>(one); });
  return found.size();
}

std::int32_t kind_of(const Parameter& parameter) {
  switch (parameter.kind) {
    case ParameterKind::kBoolean:
      return HONE_BOOLEAN;
    case ParameterKind::kEnumeration:
      return HONE_CATEGORICAL;
    default:
      return HONE_ORDINAL;
  }
}

}  // namespace

SpaceView::SpaceView(std::shared_ptr<const SearchSpace> space, std::shared_ptr<const LikelySpace> likely)
    : space_(std::move(space)), likely_(likely != nullptr && likely->narrows() ? std::move(likely) : nullptr) {
  storage_.reserve(space_->parameters().size());  // the table points into it
  for (const Parameter& parameter : space_->parameters()) {
    Dimension& made = storage_.emplace_back();
    for (std::size_t i = 0; i < parameter.values.size(); ++i) {
      const bool labelled = parameter.kind == ParameterKind::kEnumeration;
      made.values.push_back(labelled ? static_cast<double>(i) : parameter.values[i].real());
      made.labels.push_back(labelled ? parameter.labels[i] : parameter.values[i].text());
    }
    for (const std::string& label : made.labels) {
      made.label_texts.push_back(label.c_str());
    }
    dimensions_.push_back({.name = parameter.name.c_str(),
                           .kind = kind_of(parameter),
                           .count = static_cast<std::uint32_t>(parameter.values.size()),
                           .values = made.values.data(),
                           .labels = made.label_texts.data()});
  }
  if (likely_ != nullptr) {
    for (const Constraint& expectation : likely_->expectations()) {
      expectations_.push_back({expectation.text.c_str(), expectation.comment.c_str()});
    }
  }
  functions_ = {.struct_size = sizeof(hone_space),
                .self = this,
                .size = to_c(space_->size()),
                .dimension_count = static_cast<std::uint32_t>(dimensions_.size()),
                .dimensions = dimensions_.data(),
                .at = at,
                .index = index,
                .nearest = nearest,
                .sample = sample,
                .neighbours = neighbours,
                .dimension_stride = sizeof(hone_dimension),
                .expectation_count = static_cast<std::uint32_t>(expectations_.size()),
                .expectations = expectations_.data(),
                .expectation_stride = sizeof(hone_expectation),
                .likely_size = to_c(likely_ != nullptr ? likely_->likely()->size() : space_->size()),
                .is_likely = is_likely,
                .sample_likely = sample_likely,
                .broken = broken};
}

}  // namespace hone::plugin_host
