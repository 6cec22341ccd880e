#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "engine/plugin/plugin_loader.hpp"

namespace {

using namespace hone;

std::filesystem::path built(const char* name) {
  return std::filesystem::path(HONE_BINARY_DIR) / "tests" / "plugin" / (std::string(name) + ".so");
}

std::shared_ptr<const SearchSpace> line(int values) {
  Parameter parameter;
  parameter.name = "x";
  for (int value = 0; value < values; ++value) {
    parameter.values.emplace_back(value);
  }
  parameter.default_value = parameter.values.front();
  return std::make_shared<const SearchSpace>(SearchSpace::build({parameter}, {}, {}).value());
}

void check_refused(const std::filesystem::path& file, const char* reason) {
  CAPTURE(file);
  Registry registry = make_builtin_registry();
  const std::size_t before = registry.strategies().size();
  const auto loaded = load_plugin(registry, file);
  REQUIRE_FALSE(loaded.ok());
  CHECK_MESSAGE(loaded.error().message.find(reason) != std::string::npos, loaded.error().message);
  CHECK(loaded.error().message.find(file.filename().string()) != std::string::npos);
  CHECK(registry.strategies().size() == before);
}

}  // namespace

TEST_CASE("a plugin's strategy is registered, created with its parameters and asked") {
  Registry registry = make_builtin_registry();
  const auto loaded = load_plugin(registry, built("good_plugin"));
  REQUIRE(loaded.ok());
  CHECK(loaded->strategies == std::vector<std::string>{"from_the_end"});
  CHECK(loaded->devices.empty());
  const StrategyPlugin& plugin = *registry.strategy("from_the_end").value();
  REQUIRE(plugin.parameters().size() == 1);
  CHECK(plugin.parameters()[0].type == StrategyParameter::Type::kInteger);
  StrategyContext context;
  context.space = line(10);
  context.parameters = {{"step", 3}};
  Strategy strategy = plugin.create(std::move(context)).value();
  CHECK((strategy.ask(2) == std::vector<Count>{7, 4}));
}

TEST_CASE("a plugin of another ABI version is refused with both versions named") {
  check_refused(built("other_abi_plugin"), "it was built for plugin ABI 4; this Hone supports ABI 2 to 3");
}

TEST_CASE("a shared object that is no plugin is refused") {
  check_refused(built("no_entry_plugin"), "exports no function hone_plugin_entry");
}

TEST_CASE("a plugin whose entry throws or announces nothing at all is refused") {
  check_refused(built("throwing_entry"), "hone_plugin_entry failed: no licence here");
  Registry registry = make_builtin_registry();
  const auto stalled = load_plugin(registry, built("stalling/stalling_entry"), std::chrono::milliseconds(20));
  REQUIRE_FALSE(stalled.ok());
  CHECK(stalled.error().message.find("hone_plugin_entry did not return within 20 ms") != std::string::npos);
  check_refused(built("null_table"), "it declares 1 strategy tables, one of which is null");
}

TEST_CASE("a file that is there already is not loaded again") {
  Registry registry = make_builtin_registry();
  CHECK(load_plugins(registry, built("x").parent_path().string()).size() == 5);
  const std::size_t before = registry.strategies().size();
  const auto again = load_plugin(registry, built("x").parent_path() / "." / "good_plugin.so");
  REQUIRE(again.ok());
  CHECK(again->strategies == std::vector<std::string>{"from_the_end"});
  CHECK(registry.strategies().size() == before);
}

TEST_CASE("a plugin whose strategy has the name of another is refused") {
  check_refused(built("taken_name_plugin"), "a strategy named 'random' is registered already");
}

TEST_CASE("a file that is missing or no shared object is refused") {
  check_refused(built("nowhere"), "no such file");
  const auto text = std::filesystem::temp_directory_path() / "hone_not_a_library.so";
  std::ofstream(text) << "text";
  check_refused(text, "hone_not_a_library.so");
  std::filesystem::remove(text);
}

TEST_CASE("folders are searched in order; what fails is reported and the rest loaded") {
  Registry registry = make_builtin_registry();
  const std::vector<Error> errors = load_plugins(registry, "/nowhere:" + built("x").parent_path().string());
  CHECK(registry.strategy("from_the_end").ok());
  CHECK(errors.size() == 5);
}

TEST_CASE("a setting that is unknown, out of range or not whole is an error") {
  Registry registry = make_builtin_registry();
  REQUIRE(load_plugin(registry, built("good_plugin")).ok());
  const auto message = [&](const char* name, double value) {
    StrategyContext context;
    context.space = line(10);
    context.parameters = {{name, value}};
    const auto made = registry.strategy("from_the_end").value()->create(std::move(context));
    return made.ok() ? std::string("ok") : made.error().message;
  };
  CHECK(message("stepp", 1).find("did you mean 'step'?") != std::string::npos);
  CHECK(message("step", 0).find("from 1 to 100") != std::string::npos);
  CHECK(message("step", 1.5).find("whole number") != std::string::npos);
}
