// What no kernel may write: guard bands, inputs, what is the bench's own. Looked at after each run where the run could have written, and
// after a trial everywhere.
#include <fmt/format.h>

#include <algorithm>

#include "engine/measure/bench_impl.hpp"

namespace hone {

void Bench::Impl::add_bands(std::vector<Frozen>& watched, const measure::GuardedArena& arena, const std::vector<Owner>& owners) {
  for (std::size_t band = 0; !arena.empty() && band < arena.bands().size(); ++band) {
    const Owner& owner = owners[band / 2];
    watched.push_back({arena.bands()[band], arena.checksums()[band], owner.slot, owner.own, &arena, band});
  }
}

std::vector<Bench::Impl::Frozen> Bench::Impl::bands(std::size_t place) const {
  std::vector<Frozen> watched;
  add_bands(watched, arenas_[place], arena_owners_[place]);
  add_bands(watched, workspaces_[place], workspace_owners_[place]);
  return watched;
}

std::vector<Bench::Impl::Frozen> Bench::Impl::frozen() const {
  std::vector<Frozen> watched;
  for (std::size_t place = 0; place < kPlaces; ++place) {
    add_bands(watched, arenas_[place], arena_owners_[place]);
    add_bands(watched, workspaces_[place], workspace_owners_[place]);
    watched.insert(watched.end(), inputs_[place].begin(), inputs_[place].end());
  }
  add_bands(watched, own_arena_, own_owners_);
  add_bands(watched, call_arena_, call_owners_);
  add_bands(watched, call_workspaces_, call_workspace_owners_);
  watched.insert(watched.end(), own_.begin(), own_.end());
  return watched;
}

Result<std::optional<std::string>> Bench::Impl::damage(const std::vector<Frozen>& watched) {
  std::vector<Region> regions;
  std::ranges::transform(watched, std::back_inserter(regions), &Frozen::region);
  HONE_ASSIGN(const std::vector<std::uint64_t> now, device_.checksums(regions));
  for (std::size_t i = 0; i < watched.size(); ++i) {
    if (now[i] != watched[i].checksum) {
      HONE_ASSIGN(std::string what, describe_damage(watched[i]));
      return std::optional(std::move(what));
    }
  }
  return std::optional<std::string>();
}

Result<std::string> Bench::Impl::describe_damage(const Frozen& hit) {
  const std::string_view argument = hit.slot->argument->name;
  if (hit.arena == nullptr) {
    return hit.own ? fmt::format("memory that belongs to no argument was written (beside argument '{}')", argument)
                   : fmt::format("argument '{}' is an input (IN) and was written", argument);
  }
  HONE_ASSIGN(const std::string where, hit.arena->describe(device_, hit.band));
  return fmt::format("{}argument '{}' {}", hit.own ? "the reference's answer for " : "", argument, where);
}

Result<void> Bench::Impl::repair() {
  for (std::size_t place = 0; place < kPlaces; ++place) {
    for (measure::GuardedArena* arena : {&arenas_[place], &workspaces_[place]}) {
      if (!arena->empty()) {
        HONE_TRY(arena->paint(device_));
      }
    }
  }
  for (measure::GuardedArena* arena : {&own_arena_, &call_arena_, &call_workspaces_}) {
    if (!arena->empty()) {
      HONE_TRY(arena->paint(device_));
    }
  }
  calls_seed_.reset();
  if (!inputs_seed_) {
    return {};
  }
  const std::uint64_t seed = *inputs_seed_;
  bool intact = answer_seed_ == seed;
  for (const Frozen& own : own_) {
    HONE_ASSIGN(const std::uint64_t now, device_.checksum(own.region.address, own.region.bytes));
    intact = intact && now == own.checksum;
  }
  inputs_seed_.reset();
  HONE_TRY(fill_inputs(seed));
  if (intact) {
    answer_seed_ = seed;  // the inputs are the same numbers again, and so is the answer
  } else {
    own_.clear();  // until the answer is computed again
  }
  return {};
}

Result<std::optional<std::string>> Bench::audit(std::span<Bench* const> benches) {
  std::vector<Impl::Frozen> watched;
  for (Bench* const bench : benches) {
    const std::vector<Impl::Frozen> of_one = bench->impl_->frozen();
    watched.insert(watched.end(), of_one.begin(), of_one.end());
  }
  if (watched.empty()) {
    return std::optional<std::string>();
  }
  HONE_ASSIGN(auto found, benches.front()->impl_->damage(watched));
  if (found) {
    for (Bench* const bench : benches) {
      HONE_TRY(bench->impl_->repair());
    }
  }
  return found;
}

}  // namespace hone
