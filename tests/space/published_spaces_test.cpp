// The sizes of search spaces from the literature.
#include <doctest/doctest.h>

#include <filesystem>

#include "engine/space/search_space.hpp"
#include "engine/space/space_description.hpp"

TEST_CASE("Published search spaces have exactly their published number of configurations") {
  const std::filesystem::path file = std::filesystem::path(HONE_SOURCE_DIR) / "../shared/spaces/definitions.json";
  if (!std::filesystem::exists(file)) {
    MESSAGE("skipped: ", file.string(), " is not there");
    return;
  }
  const auto descriptions = hone::read_space_descriptions(file);
  REQUIRE_MESSAGE(descriptions.ok(), (descriptions.ok() ? "" : descriptions.error().message));
  CHECK(descriptions->size() == 8);
  for (const hone::SpaceDescription& description : *descriptions) {
    CAPTURE(description.name);
    const auto space = hone::SearchSpace::build(description.parameters, description.constraints, {});
    REQUIRE_MESSAGE(space.ok(), (space.ok() ? "" : space.error().message));
    CHECK(space->exact());
    CHECK(hone::text(space->size()) == description.valid);
  }
}
