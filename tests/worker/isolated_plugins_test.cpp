// A strategy in a process of its own sees the space, the history and what other sessions left as it would in this one.
#include "engine/worker/isolated_plugins.hpp"

#include <doctest/doctest.h>

#include "engine/worker/plugin_wire.hpp"
#include "engine/worker/space_wire.hpp"
#include "tests/space/described.hpp"
#include "tests/tune/replay_fixture.hpp"

namespace hone {
namespace {

using test::conditions;
using test::counting;
using test::described;
using test::powers_of_two;

std::filesystem::path plugin_file(const std::string& name) {
  return std::filesystem::path(HONE_BINARY_DIR) / "tests/plugin" / (name + ".so");
}

std::vector<Parameter> tile_parameters() {
  std::vector<Parameter> made{described("block", powers_of_two(1024)), described("vec", {1, 2, 4, 8}), described("stages", counting(0, 7)),
                              described("factor", {1, 2, 3})};
  made[3].values = {Value(0.1), Value(1.0 / 3.0), Value(2.5)};
  made[3].kind = ParameterKind::kReal;
  made[3].default_value = made[3].values.front();
  return made;
}

Bindings tile_bindings() { return {{"p.cols", Value(std::int64_t{4096})}, {"d.share", Value(0.1)}, {"p.even", Value(true)}}; }

std::vector<Constraint> tile_constraints() { return conditions(tile_parameters(), {"block * vec <= 2048", "stages == 0 or block >= 64"}); }
std::vector<Constraint> tile_expectations() { return conditions(tile_parameters(), {"vec >= 2", "block >= 128"}); }

std::shared_ptr<const SearchSpace> space_of_constraints() {
  return std::make_shared<const SearchSpace>(SearchSpace::build(tile_parameters(), tile_constraints(), tile_bindings()).value());
}

std::shared_ptr<const SearchSpace> space_of_rows() {
  std::vector<std::vector<std::uint16_t>> rows;
  for (std::uint16_t block = 0; block < 11; ++block) {
    rows.push_back(
        {block, static_cast<std::uint16_t>(block % 4), static_cast<std::uint16_t>((3 * block) % 8), static_cast<std::uint16_t>(block % 3)});
    rows.push_back({block, static_cast<std::uint16_t>(block % 3), 1, 2});
  }
  return std::make_shared<const SearchSpace>(SearchSpace::from_rows(tile_parameters(), rows).value());
}

/// Through the bytes that cross the socket.
Result<wire::BuiltSpace> sent(const SearchSpace& space, const LikelySpace* likely) {
  const std::vector<std::uint8_t> bytes = wire::encode(wire::to_message(space, likely));
  HONE_ASSIGN(const wire::Message message, wire::decode(bytes.data() + wire::kHeaderBytes, bytes.size() - wire::kHeaderBytes));
  return wire::read_space(message);
}

void check_same(const SearchSpace& a, const SearchSpace& b) {
  REQUIRE(a.size() == b.size());
  REQUIRE(a.parameters().size() == b.parameters().size());
  for (std::size_t i = 0; i < a.parameters().size(); ++i) {
    CHECK(a.parameters()[i].values == b.parameters()[i].values);
    CHECK(a.parameters()[i].labels == b.parameters()[i].labels);
  }
  for (Count position = 0; position < a.size(); ++position) {
    CHECK(a.digits(position) == b.digits(position));
  }
}

/// What a strategy proposes, answered by a made-up time.
std::vector<Count> proposals_of(const StrategyPlugin& plugin, StrategyContext context) {
  const std::shared_ptr<const SearchSpace> space = context.space;
  Strategy strategy = plugin.create(std::move(context)).value();
  std::vector<Count> proposed;
  while (proposed.size() < 60 && !strategy.exhausted()) {
    std::vector<Observation> observations;
    for (const Count position : strategy.ask(3)) {
      proposed.push_back(position);
      Observation observation;
      observation.position = position;
      for (const std::uint16_t digit : space->digits(position)) {
        observation.time_us = 2.0 * observation.time_us + digit;
      }
      observations.push_back(observation);
    }
    strategy.tell(observations);
  }
  strategy.end();
  CHECK(strategy.faults().first == "");
  CHECK(strategy.faults().failed + strategy.faults().crashed + strategy.faults().stalled == 0);
  return proposed;
}

const StrategyPlugin& loaded(Registry& registry, const std::string& file, const std::string& name, bool isolated) {
  const auto done = isolated ? load_isolated_plugin(registry, plugin_file(file)) : load_plugin(registry, plugin_file(file));
  REQUIRE_MESSAGE(done.ok(), (done ? std::string() : done.error().message));
  return *registry.strategy(name).value();
}

}  // namespace

TEST_CASE("a space is built again as it was: from constraints, from rows, with and without what is expected of it") {
  for (const auto& space : {space_of_constraints(), space_of_rows()}) {
    const Result<wire::BuiltSpace> plain = sent(*space, nullptr);
    REQUIRE_MESSAGE(plain.ok(), (plain ? std::string() : plain.error().message));
    check_same(*space, *plain->space);
    CHECK(plain->likely == nullptr);
    const LikelySpace likely = space->recipe() != nullptr
                                   ? LikelySpace::build(tile_parameters(), tile_constraints(), tile_expectations(), tile_bindings()).value()
                                   : LikelySpace::of_recorded(space, tile_expectations(), tile_bindings()).value();
    REQUIRE(likely.narrows());
    const Result<wire::BuiltSpace> expected = sent(*likely.legal(), &likely);
    REQUIRE_MESSAGE(expected.ok(), (expected ? std::string() : expected.error().message));
    check_same(*likely.legal(), *expected->space);
    REQUIRE(expected->likely != nullptr);
    check_same(*likely.likely(), *expected->likely->likely());
    CHECK(expected->likely->expectations()[1].text == likely.expectations()[1].text);
    check_same(*likely.likely(), *sent(*likely.likely(), nullptr).value().space);  // as a search of the likely ones sees it
  }
}

TEST_CASE("a space that comes out otherwise than the sender's is refused") {
  wire::Message message = wire::to_message(*space_of_constraints(), nullptr);
  message["fixed"]["p.cols"] = message["fixed"]["d.share"];
  CHECK(wire::read_space(message).ok());  // no constraint is about it
  message["fingerprint"] = "another";
  const auto refused = wire::read_space(message);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("of one version") != std::string::npos);
  message.erase("spec");
  CHECK_THROWS(static_cast<void>(wire::read_space(message).ok()));  // the worker turns it into an error
}

TEST_CASE("a strategy proposes in a process of its own what it proposes here") {
  struct Case {
    const char *file, *name;
  };
  for (const Case& one : {Case{"good_plugin", "from_the_end"}, Case{"abi2/walker", "walker"}, Case{"isolated/climber", "climber"}}) {
    Registry here, apart;
    const StrategyPlugin& local = loaded(here, one.file, one.name, false);
    const StrategyPlugin& remote = loaded(apart, one.file, one.name, true);
    CHECK(remote.summary() == local.summary());
    CHECK(remote.source() == local.source());
    CHECK(remote.weighs_expectations() == local.weighs_expectations());
    REQUIRE(remote.parameters().size() == local.parameters().size());
    for (std::size_t i = 0; i < local.parameters().size(); ++i) {
      CHECK(remote.parameters()[i].name == local.parameters()[i].name);
      CHECK(remote.parameters()[i].maximum == local.parameters()[i].maximum);
    }
    const auto likely = std::make_shared<const LikelySpace>(
        LikelySpace::build(tile_parameters(), tile_constraints(), tile_expectations(), tile_bindings()).value());
    StrategyContext context;
    context.seed = 7;
    context.first = 3;
    context.priors = {
        {.device = "NVIDIA H200", .dtype = "f32", .shape = "n=1", .observations = {Observation{.position = 5, .resources = {}}}}};
    context.model = std::string("\0\xff model", 8);
    for (const auto& space : {space_of_constraints(), space_of_rows(), likely->legal()}) {
      context.space = space;
      context.likely = space == likely->legal() ? likely : nullptr;
      const std::vector<Count> proposed = proposals_of(local, context);
      CHECK(proposed.size() > 10);
      CHECK_MESSAGE(proposals_of(remote, context) == proposed, one.name);
      CHECK_MESSAGE(proposals_of(remote, context) == proposed, one.name);  // in the same process, which has the space already
    }
  }
}

TEST_CASE("a plugin may reserve addresses in its entry, as the runtime of a GPU does") {
  Registry registry;
  const auto loaded = load_isolated_plugin(registry, plugin_file("reserving_entry"));
  CHECK_MESSAGE(loaded.ok(), (loaded ? std::string() : loaded.error().message));
}

TEST_CASE("what is wrong with a file is said as where it is opened here") {
  const auto message = [](const std::string& name) {
    Registry registry;
    const auto refused = load_isolated_plugin(registry, plugin_file(name));
    CHECK(registry.strategies().empty());
    return refused.ok() ? std::string("loaded") : refused.error().message;
  };
  CHECK(message("nowhere").find("no such file") != std::string::npos);
  CHECK(message("no_entry_plugin").find("exports no function hone_plugin_entry") != std::string::npos);
  CHECK(message("other_abi_plugin").find("it was built for plugin ABI 4") != std::string::npos);
  CHECK(message("throwing_entry").find("hone_plugin_entry failed: no licence here") != std::string::npos);
  Registry builtin = make_builtin_registry();
  const auto taken = load_isolated_plugin(builtin, plugin_file("taken_name_plugin"));
  REQUIRE_FALSE(taken.ok());
  CHECK(taken.error().message.find("a strategy named 'random' is registered already") != std::string::npos);
}

TEST_CASE("replies of another shape are errors") {
  using wire::Message;
  const auto broken = [](const Message& message) {
    return !wire::read_open(message).ok() || !wire::read_call(message).ok() || !wire::read_devices(message).ok();
  };
  CHECK(broken(Message{{"strategies", 7}, {"devices", Message::array()}}));
  CHECK(broken(Message{{"strategies", {{{"name", "x"}}}}, {"devices", Message::array()}}));
  CHECK_FALSE(wire::read_call(Message{{"positions", Message::binary({1, 2, 3})}}).ok());
  CHECK_FALSE(wire::read_call(Message{{"positions", "text"}}).ok());
  CHECK_FALSE(wire::read_call(Message{{"model", Message::binary(std::vector<std::uint8_t>((1U << 20U) + 1))}}).ok());
  CHECK_FALSE(wire::read_call(Message::array()).ok());
  CHECK(wire::read_call(Message{{"failure", "no idea"}}).value().failure == "no idea");
  CHECK_FALSE(wire::read_text(Message{{"text", 1}}).ok());
}

}  // namespace hone
