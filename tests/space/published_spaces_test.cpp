// The sizes of search spaces from the literature.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "engine/space/search_space.hpp"
#include "engine/space/space_description.hpp"
#include "tests/skip.hpp"

TEST_CASE("Published search spaces have exactly their published number of configurations") {
  // As "Efficient Construction of Large Search Spaces for Auto-Tuning" (arXiv 2509.26253) lists them; the file is not ours to copy.
  const char* const folder = std::getenv("HONE_SPACES");
  if (folder == nullptr) {
    hone::tests::skip("spaces", "HONE_SPACES names no folder with definitions.json");
    return;
  }
  const auto file = std::filesystem::path(folder) / "definitions.json";
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
