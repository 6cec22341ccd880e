// hone/plugin.hpp against a Hone that is newer or older than it.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "hone/plugin.hpp"

namespace {

using namespace hone;

/// A strategy that keeps what it is made from and told.
struct Keeps : plugin::Strategy {
  static constexpr plugin::About kAbout{.name = "keeps", .summary = "for a test"};
  static inline std::vector<plugin::Observation> told;
  static inline std::vector<plugin::Prior> priors;
  static inline std::vector<std::string> dimensions;
  explicit Keeps(const plugin::Context& context) {
    told.clear();
    dimensions.clear();
    priors = context.priors();
    for (std::size_t i = 0; i < context.space().dimensions(); ++i) {
      dimensions.emplace_back(context.space().dimension(i).name);
    }
  }
  std::vector<plugin::Position> ask(std::size_t) override { return {}; }
  void tell(std::span<const plugin::Observation> observations) override { told.assign(observations.begin(), observations.end()); }
};

/// An element with something behind it.
template <class T>
struct Wide {
  T known;
  std::uint64_t later[5] = {~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL};
};

hone_observation seen(std::uint64_t position, std::int32_t outcome, double time_us) {
  hone_observation made{};
  made.position.low = position;
  made.outcome = outcome;
  made.time_us = time_us;
  made.occupancy = 0.5;
  return made;
}

/// Makes an instance, tells it and destroys it.
void run(const hone_strategy_context& context, const hone_observation* observations, std::size_t count) {
  const hone_strategy& table = *plugin::table<Keeps>();
  hone_message message{};
  void* instance = nullptr;
  REQUIRE(table.create(&context, &instance, &message) == 0);
  REQUIRE(table.tell(instance, observations, count, &message) == 0);
  table.destroy(instance);
}

}  // namespace

TEST_CASE("elements that a newer Hone has made longer are found by their strides") {
  const Wide<hone_dimension> dimensions[] = {{{"x", HONE_ORDINAL, 1, nullptr, nullptr}}, {{"y", HONE_ORDINAL, 1, nullptr, nullptr}}};
  const Wide<hone_observation> observations[] = {{seen(3, HONE_OK, 1.5)}, {seen(4, HONE_TOO_SLOW, 9.0)}};
  const Wide<hone_prior> priors[] = {{{"a", "f32", "n=1", &observations[0].known, 2}}, {{"b", "f32", "n=2", &observations[1].known, 1}}};
  hone_space space{};
  space.struct_size = sizeof(space);
  space.dimension_count = 2;
  space.dimensions = &dimensions[0].known;
  space.dimension_stride = sizeof(dimensions[0]);
  hone_strategy_context context{};
  context.struct_size = sizeof(context);
  context.space = &space;
  context.priors = &priors[0].known;
  context.prior_count = 2;
  context.prior_stride = sizeof(priors[0]);
  context.observation_stride = sizeof(observations[0]);
  run(context, &observations[0].known, 2);
  CHECK(Keeps::dimensions == std::vector<std::string>{"x", "y"});
  REQUIRE(Keeps::priors.size() == 2);
  CHECK(Keeps::priors[1].device == "b");
  REQUIRE(Keeps::priors[0].observations.size() == 2);
  CHECK(Keeps::priors[0].observations[1].time_us == 9.0);
  CHECK(Keeps::priors[1].observations[0].too_slow());
  REQUIRE(Keeps::told.size() == 2);
  CHECK((Keeps::told[1].at() == 4));
  CHECK(Keeps::told[1].time_us == 9.0);
  CHECK(Keeps::told[0].eligible());
  CHECK_FALSE(Keeps::told[1].eligible());
}

TEST_CASE("what an older Hone leaves out is 0, and nothing is expected of its spaces") {
  // As if the latest field of an observation were newer than that Hone.
  constexpr std::size_t kStride = offsetof(hone_observation, occupancy);
  std::vector<std::byte> bytes(2 * kStride);
  const hone_observation observations[] = {seen(3, HONE_OK, 1.5), seen(4, HONE_RACE, 0.0)};
  for (std::size_t i = 0; i < 2; ++i) {
    std::memcpy(bytes.data() + i * kStride, &observations[i], kStride);
  }
  hone_space space{};
  space.struct_size = offsetof(hone_space, dimension_stride);
  space.size = {10, 0};
  space.expectation_count = 3;  // behind its end
  hone_strategy_context context{};
  context.struct_size = sizeof(context);
  context.space = &space;
  context.observation_stride = kStride;
  run(context, reinterpret_cast<const hone_observation*>(bytes.data()), 2);
  REQUIRE(Keeps::told.size() == 2);
  CHECK((Keeps::told[1].at() == 4));
  CHECK(Keeps::told[1].outcome == HONE_RACE);
  CHECK(Keeps::told[0].time_us == 1.5);
  CHECK(Keeps::told[0].occupancy == 0.0);

  const plugin::Space seen_space(space);
  CHECK(seen_space.expectations() == 0);
  CHECK((seen_space.likely_size() == 10));
  CHECK(seen_space.is_likely(9));
  CHECK_FALSE(seen_space.is_likely(10));
  CHECK(seen_space.broken(3).empty());
}
