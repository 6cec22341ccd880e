// The sizes of search spaces from the literature.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "hone/search_space.hpp"
#include "tests/space/python_condition.hpp"

TEST_CASE("Published search spaces have exactly their published number of configurations") {
  const std::filesystem::path file = std::filesystem::path(HONE_SOURCE_DIR) / "../shared/spaces/definitions.json";
  if (!std::filesystem::exists(file)) {
    MESSAGE("skipped: ", file.string(), " is not there");
    return;
  }
  std::ifstream stream(file);
  for (const auto& definition : nlohmann::ordered_json::parse(stream)) {
    CAPTURE(definition["name"].get<std::string>());
    std::vector<hone::Parameter> parameters;
    for (const auto& [name, values] : definition["parameters"].items()) {
      hone::Parameter parameter;
      parameter.name = name;
      for (const auto& value : values) {
        parameter.values.emplace_back(value.get<std::int64_t>());
      }
      parameters.push_back(std::move(parameter));
    }
    std::vector<hone::Constraint> constraints;
    for (const auto& text : definition["constraints"]) {
      constraints.push_back({hone::test::PythonCondition::parse(text.get<std::string>()), text.get<std::string>(), 0});
    }
    const auto space = hone::SearchSpace::build(parameters, constraints, {});
    REQUIRE_MESSAGE(space.ok(), (space.ok() ? "" : space.error().message));
    CHECK(hone::text(space->cartesian()) == std::to_string(definition["cartesian"].get<std::uint64_t>()));
    CHECK(hone::text(space->size()) == std::to_string(definition["valid"].get<std::uint64_t>()));
  }
}
