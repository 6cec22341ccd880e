// What a strategy's table may lack, and what may be behind its end.
#include <doctest/doctest.h>

#include <cstddef>
#include <string>

#include "engine/plugin/strategy.hpp"
#include "hone/plugin.hpp"

namespace {

using namespace hone;

struct Still : plugin::Strategy {
  static constexpr plugin::Parameter kParameters[] = {plugin::integer("first", "one", 1, 0, 5), plugin::real("second", "two", 2.5, 0, 5)};
  static constexpr plugin::About kAbout{.name = "still", .summary = "for a test", .parameters = kParameters};
  explicit Still(const plugin::Context&) {}
  std::vector<plugin::Position> ask(std::size_t) override { return {}; }
  void tell(std::span<const plugin::Observation>) override {}
};

/// What is said of a table that is refused.
std::string refusal(const hone_strategy& table) {
  try {
    const StrategyPlugin plugin(&table);
  } catch (const ContractError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a table that ends after what it must have is taken, and nothing behind its end is read") {
  hone_strategy table = *plugin::table<Still>();
  table.struct_size = offsetof(hone_strategy, parameter_stride);
  table.parameter_stride = 1;
  table.weighs_expectations = 1;
  const StrategyPlugin plugin(&table);
  REQUIRE(plugin.parameters().size() == 2);
  CHECK(plugin.parameters()[1].default_value == 2.5);
  CHECK_FALSE(plugin.weighs_expectations());
}

TEST_CASE("a table that is longer than this version's is taken without the rest") {
  struct {
    hone_strategy known = *plugin::table<Still>();
    void (*later)() = nullptr;
  } table;
  table.known.struct_size = sizeof(table);
  CHECK(refusal(table.known) == "accepted");
}

TEST_CASE("a table that ends before what it must have is refused, and what is missing is named") {
  hone_strategy table = *plugin::table<Still>();
  table.struct_size = offsetof(hone_strategy, tell);
  CHECK(refusal(table) == "strategy 'still': its table, of " + std::to_string(table.struct_size) + " bytes, lacks tell, destroy");
  table.struct_size = sizeof(table.struct_size);
  CHECK(refusal(table) == "strategy '': its table, of 8 bytes, lacks name, create, ask, tell, destroy");
  table = *plugin::table<Still>();
  table.ask = nullptr;
  CHECK(refusal(table).find("lacks ask") != std::string::npos);
}

TEST_CASE("texts that a table lacks are empty") {
  hone_strategy table = *plugin::table<Still>();
  table.summary = table.source = nullptr;
  const StrategyPlugin plugin(&table);
  CHECK(plugin.summary().empty());
  CHECK(plugin.source().empty());
}

TEST_CASE("parameters that lie further apart than this version knows them are read where they are") {
  struct Wide {
    hone_parameter known;
    double later[3] = {-1.0, -1.0, -1.0};
  };
  static const Wide parameters[] = {{Still::kParameters[0]}, {Still::kParameters[1]}};
  hone_strategy table = *plugin::table<Still>();
  table.parameters = &parameters[0].known;
  table.parameter_stride = sizeof(Wide);
  const StrategyPlugin plugin(&table);
  REQUIRE(plugin.parameters().size() == 2);
  CHECK(plugin.parameters()[1].name == "second");
  CHECK(plugin.parameters()[1].default_value == 2.5);
  table.parameter_stride = 0;  // not given: as in ABI 2
  table.parameters = Still::kParameters;
  CHECK(StrategyPlugin(&table).parameters()[1].name == "second");
  table.parameter_stride = 16;
  CHECK(refusal(table) == "its parameter_stride is 16: a multiple of 8 that is at least 48 is needed");
}
