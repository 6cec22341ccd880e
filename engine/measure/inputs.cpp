// What inputs hold: drawn by the device, described by their marks, or made by the kernel file's generators.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/kernel/instantiation.hpp"
#include "engine/measure/bench_impl.hpp"
#include "engine/measure/input_profile.hpp"
#include "hone/random.h"

namespace hone {
namespace {

bool is_usual_draw(InputProfile profile) {
  return profile == InputProfile::kUsual || profile == InputProfile::kOtherScalars || profile == InputProfile::kGreatScalars ||
         profile == InputProfile::kOtherSigns;
}

/// One that changes as a whole: a part drawn anew would break what its mark promises.
bool is_of_one_piece(const measure::FillPlan& plan) { return plan.sorted || plan.distinct || plan.permutation; }

}  // namespace

bool Bench::Impl::is_generated(const Slot& slot) const {
  return std::ranges::any_of(judge().generators, [&](const Generator& generator) {
    return judge().arguments[static_cast<std::size_t>(generator.target)].name == slot.argument->name;
  });
}

Result<void> Bench::Impl::fill_inputs(std::uint64_t seed) {
  if (inputs_seed_ == seed) {
    return {};
  }
  const Preparing preparing(*this);
  inputs_seed_.reset();
  answer_seed_.reset();
  known_.clear();
  for (std::vector<Frozen>& of_place : inputs_) {
    of_place.clear();
  }
  HONE_TRY(take_given_inputs());  // generators read them
  const bool varies = variation_ && variation_->seeds.back() == seed;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (!slot.is_input()) {
      continue;
    }
    // Every argument draws from a stream of its own: equal inputs would hide a kernel that mixes them up.
    void* const destination = slot.is(Direction::kIn) ? slot.address[kFirst] : slot.original;
    if (is_given(slot)) {
      continue;
    }
    if (is_generated(slot)) {
      HONE_TRY(device_.fill(destination, slot.bytes(), 0));
      continue;
    }
    const bool whole = slot.fill && is_of_one_piece(*slot.fill);
    if (is_filled_by_device(slot)) {
      continue;
    }
    HONE_TRY(fill_input(slot, destination, random_bits(varies && !whole ? variation_->base : seed, i)));
    if (varies && !whole) {
      HONE_TRY(fill_variations(slot, destination, i));
    }
  }
  HONE_TRY(fill_by_device(varies ? variation_->base : seed));
  for (std::size_t i = 0; varies && i < slots_.size(); ++i) {
    if (is_filled_by_device(slots_[i]) && !is_given(slots_[i])) {
      HONE_TRY(fill_variations(slots_[i], slots_[i].is(Direction::kIn) ? slots_[i].address[kFirst] : slots_[i].original, i));
    }
  }
  HONE_TRY(generate(seed));
  HONE_TRY(take_given_inputs());  // one program fills all that have marks or generators
  for (Slot& slot : slots_) {
    if (!slot.is_input() || !slot.is(Direction::kIn)) {
      continue;
    }
    HONE_ASSIGN(const std::uint64_t sum, device_.checksum(slot.address[kFirst], slot.bytes()));
    inputs_[kFirst].push_back({{slot.address[kFirst], slot.bytes()}, sum, &slot, false, nullptr, 0});
    if (has_second_inputs_) {
      HONE_TRY(device_.copy(slot.address[kSecond], slot.address[kFirst], slot.bytes()));
      inputs_[kSecond].push_back({{slot.address[kSecond], slot.bytes()}, sum, &slot, false, nullptr, 0});
    }
  }
  inputs_seed_ = seed;
  ++draws_;
  return {};
}

bool Bench::Impl::is_given(const Slot& slot) const { return given_.inputs.contains(slot.argument->name); }

Result<void> Bench::Impl::take_given_inputs() {
  for (Slot& slot : slots_) {
    if (slot.is_input() && is_given(slot)) {
      HONE_ASSIGN(const std::vector<std::byte> elements,
                  given_elements(given_.inputs.at(slot.argument->name), slot.argument->name, slot.element, slot.count));
      HONE_TRY(device_.upload(slot.is(Direction::kIn) ? slot.address[kFirst] : slot.original, elements));
    }
  }
  return {};
}

bool Bench::Impl::is_filled_by_device(const Slot& slot) const {
  const auto author = std::ranges::find(judge().arguments, slot.argument->name, &Argument::name);
  return slot.is_input() && fills_ != nullptr && is_usual_draw(profile_) && author != judge().arguments.end() &&
         hone::is_filled_by_device(judge(), *author);
}

/// What an input's mark says of each element by itself. What provokes is drawn by the host, for small problems alone.
Result<void> Bench::Impl::fill_by_device(std::uint64_t seed) {
  if (fills_ == nullptr || !is_usual_draw(profile_)) {
    return {};
  }
  generator_seed_ = random_bits(seed, slots_.size() + static_cast<std::uint64_t>(provoking_profiles().size()) + 1);
  HONE_TRY(fills_->launch(nullptr, generator_arguments_));
  return device_.synchronize();
}

/// By the kernel file's own generators, in their order; they may read inputs that were filled before.
Result<void> Bench::Impl::generate(std::uint64_t seed) {
  if (generators_ == nullptr) {
    return {};
  }
  generator_seed_ = random_bits(seed, slots_.size() + static_cast<std::uint64_t>(profile_));
  HONE_TRY(generators_->launch(nullptr, generator_arguments_));
  HONE_TRY(device_.synchronize());
  HONE_ASSIGN(const std::optional<std::string> harm, damage(bands(kFirst)));
  if (harm) {
    return Error{ErrorCode::kBadKernel, fmt::format("{}: a generator: {}", judge().file, *harm)};
  }
  return {};
}

/// Inputs that are the same as before but for a part of each, somewhere: what keeps its results by a look at its inputs looks elsewhere.
Result<void> Bench::Impl::vary(std::uint64_t seed) {
  HONE_TRY(ready_for_timing());
  if (!variation_ || variation_->seeds.back() != *inputs_seed_) {
    variation_ = Variation{.base = *inputs_seed_, .seeds = {}};
  }
  variation_->seeds.push_back(seed);
  return compute_answer(seed);
}

/// The parts of an argument that vary.
Result<void> Bench::Impl::fill_variations(Slot& slot, void* destination, std::size_t argument) {
  const std::size_t count = std::min(slot.count, std::max<std::size_t>(1, slot.count / 16));
  for (const std::uint64_t seed : variation_->seeds) {
    const std::uint64_t stream = random_bits(seed, argument);
    const std::size_t first = random_bits(stream, slot.count) % (slot.count - count + 1);
    std::byte* const begin = static_cast<std::byte*>(destination) + first * size_of(slot.element);
    if (slot.fill) {
      HONE_TRY(device_.upload(begin, measure::draw(*slot.fill, profile_, slot.element, count, stream)));
    } else {
      HONE_TRY(device_.randomize(begin, slot.element, count, stream));
    }
  }
  return {};
}

Result<void> Bench::Impl::fill_input(Slot& slot, void* destination, std::uint64_t stream) {
  if (slot.fill) {
    return device_.upload(destination, measure::draw(*slot.fill, profile_, slot.element, slot.count, stream));
  }
  if (is_usual_draw(profile_)) {
    return device_.randomize(destination, slot.element, slot.count, stream);
  }
  std::vector<double> scalars;
  for (const Argument& argument : judge().arguments) {
    if (argument.direction == Direction::kScalar && argument.enumeration.empty()) {
      scalars.push_back(argument.scalar_default.real());
    }
  }
  return device_.upload(destination, measure::draw(profile_, slot.element, slot.count, stream, scalars));
}

/// "index in [0, p.rows)": what a failure's inputs were, where they were not the usual ones.
std::string Bench::Impl::inputs_text() const {
  std::string text;
  for (std::size_t i = 0; i < judge().arguments.size(); ++i) {
    if (const std::string what = fill_text(judge(), static_cast<int>(i)); !what.empty()) {
      text += fmt::format("; {}: {}", judge().arguments[i].name, what);
    }
  }
  return text;
}

}  // namespace hone
