// Plugins that were built before version 3 of the interface go on working.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "engine/plugin/plugin_loader.hpp"

extern "C" {  // NOLINTBEGIN(readability-identifier-naming): names of C
struct place {
  const char* what;
  std::size_t offset, size;
};
extern const place layout_of_abi2[], layout_of_today[];
extern const std::size_t layout_of_abi2_count, layout_of_today_count;
}  // NOLINTEND(readability-identifier-naming)

namespace {

using namespace hone;

std::shared_ptr<const SearchSpace> positions(int values) {
  Parameter parameter;
  parameter.name = "x";
  for (int value = 0; value < values; ++value) {
    parameter.values.emplace_back(value);
  }
  parameter.default_value = parameter.values.front();
  return std::make_shared<const SearchSpace>(SearchSpace::build({parameter}, {}, {}).value());
}

Observation observed(Count position, Outcome outcome, double time_us) {
  Observation observation;
  observation.position = position;
  observation.outcome = outcome;
  observation.time_us = time_us;
  return observation;
}

}  // namespace

TEST_CASE("no field of ABI 2 has changed its place or size, nor has what lies in arrays") {
  REQUIRE(layout_of_abi2_count == layout_of_today_count);
  for (std::size_t i = 0; i < layout_of_abi2_count; ++i) {
    CAPTURE(layout_of_today[i].what);
    CHECK(layout_of_abi2[i].offset == layout_of_today[i].offset);
    CHECK(layout_of_abi2[i].size == layout_of_today[i].size);
  }
}

TEST_CASE("a strategy of ABI 2 is asked and told, of what was too slow in terms that it knows") {
  Registry registry = make_builtin_registry();
  const auto loaded = load_plugin(registry, std::filesystem::path(HONE_BINARY_DIR) / "tests/plugin/abi2/walker.so");
  REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
  const StrategyPlugin& walker = *registry.strategy("walker").value();
  REQUIRE(walker.parameters().size() == 2);
  CHECK(walker.parameters()[1].name == "unused");
  CHECK_FALSE(walker.weighs_expectations());
  StrategyContext context;
  context.space = positions(10);
  context.parameters = {{"step", 3}};
  context.priors = {{.device = "a", .dtype = "f32", .shape = "n=1", .observations = {observed(2, Outcome::kTooSlow, 70.0)}}};
  Strategy strategy = walker.create(std::move(context)).value();
  CHECK((strategy.ask(2) == std::vector<Count>{7, 4}));
  const std::vector<Observation> told{observed(7, Outcome::kOk, 10.0), observed(4, Outcome::kTooSlow, 90.0),
                                      observed(1, Outcome::kTooSlow, 0.0), observed(0, Outcome::kRace, 0.0)};
  strategy.tell(told);
  CHECK_MESSAGE(strategy.faults().failed == 0, strategy.faults().first);
  // An ok that is slow; a time-out where nobody knows how slow.
  CHECK(strategy.save() == "p2:0:70 7:0:10 4:0:90 1:6:0 0:9:0 ");
}
