// A strategy that breaks its contract loses its turn, never the session.
#include "engine/plugin/strategy.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>

#include "hone/plugin.hpp"
#include "tests/space/described.hpp"

namespace {

using namespace hone;
using namespace std::chrono_literals;

std::shared_ptr<const SearchSpace> grid(int values) {
  std::vector<hone::Parameter> parameters(2);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    parameters[p].name = p == 0 ? "x" : "y";
    for (int value = 0; value < values; ++value) {
      parameters[p].values.emplace_back(value);
    }
    parameters[p].default_value = parameters[p].values.front();
  }
  return std::make_shared<const SearchSpace>(SearchSpace::build(std::move(parameters), {}, {}).value());
}

template <class S>
Strategy make(std::optional<std::chrono::milliseconds> patience = std::nullopt) {
  static std::vector<std::unique_ptr<StrategyPlugin>> plugins;
  plugins.push_back(std::make_unique<StrategyPlugin>(plugin::table<S>(), patience));
  StrategyContext context;
  context.space = grid(8);
  return plugins.back()->create(std::move(context)).value();
}

hone::Observation ok(Count position) {
  hone::Observation observation;
  observation.position = position;
  observation.time_us = 1.0 + static_cast<double>(position);
  return observation;
}

/// Asks and tells until the end of the space: every position exactly once.
void check_whole_space(Strategy& strategy) {
  std::set<Count> seen;
  while (!strategy.exhausted()) {
    const std::vector<Count> asked = strategy.ask(3);
    REQUIRE_FALSE(asked.empty());
    for (const Count position : asked) {
      CHECK(position < 64);
      CHECK(seen.insert(position).second);
      const hone::Observation observation = ok(position);
      strategy.tell({&observation, 1});
    }
  }
  CHECK(seen.size() == 64);
}

struct Base : plugin::Strategy {
  static constexpr plugin::About kAbout{.name = "sham", .summary = "for a test"};
  explicit Base(const plugin::Context&) {}
  std::vector<plugin::Position> ask(std::size_t) override { return {}; }
  void tell(std::span<const plugin::Observation>) override {}
};

}  // namespace

TEST_CASE("what a session tries by itself is proposed to it by nobody, and is no fault of who cannot know") {
  struct Upwards : Base {
    using Base::Base;
    std::vector<plugin::Position> ask(std::size_t n) override {
      std::vector<plugin::Position> asked;
      for (; asked.size() < n && next < 64; ++next) {
        asked.push_back(next);
      }
      return asked;
    }
    plugin::Position next = 0;
  };
  Strategy strategy = make<Upwards>();
  strategy.take(1);
  strategy.take(63);
  CHECK((strategy.ask(3) == std::vector<Count>{0, 2}));
  CHECK((strategy.ask(2) == std::vector<Count>{3, 4}));
  std::set<Count> rest;
  while (!strategy.exhausted()) {
    const std::vector<Count> asked = strategy.ask(8);
    rest.insert(asked.begin(), asked.end());
  }
  CHECK(rest.size() == 64 - 2 - 4);
  CHECK_FALSE(rest.contains(63));
  CHECK(strategy.faults().repeated == 0);
}

TEST_CASE("a strategy that throws loses its turns; the session goes on to the end of the space") {
  struct Throws : Base {
    using Base::Base;
    std::vector<plugin::Position> ask(std::size_t) override { throw std::runtime_error("no idea"); }
    void tell(std::span<const plugin::Observation>) override { throw 7; }
  };
  Strategy strategy = make<Throws>();
  check_whole_space(strategy);
  CHECK(strategy.faults().failed > 64);
  CHECK(strategy.faults().first == "strategy sham: ask failed: no idea");
}

TEST_CASE("a C++ exception that crosses the border is caught too") {
  static const hone_strategy raw = [] {
    hone_strategy table = *plugin::table<Base>();
    table.ask = [](void*, std::size_t, hone_position*, std::size_t*, hone_message*) -> std::int32_t { throw std::runtime_error("raw"); };
    return table;
  }();
  const StrategyPlugin plugin(&raw);
  StrategyContext context;
  context.space = grid(8);
  Strategy strategy = plugin.create(std::move(context)).value();
  CHECK(strategy.ask(4).size() == 4);
  CHECK(strategy.faults().first == "strategy sham: ask failed: raw");
}

TEST_CASE("a strategy that fails to start is an error with its message") {
  struct Fails : Base {
    explicit Fails(const plugin::Context& context) : Base(context) { throw std::runtime_error("needs a licence"); }
  };
  const StrategyPlugin plugin(plugin::table<Fails>());
  StrategyContext context;
  context.space = grid(8);
  const auto made = plugin.create(std::move(context));
  REQUIRE_FALSE(made.ok());
  CHECK(made.error().code == ErrorCode::kPlugin);
  CHECK(made.error().message == "strategy sham: create failed: needs a licence");
}

TEST_CASE("proposals outside the space are dropped and counted") {
  struct Outside : Base {
    using Base::Base;
    std::vector<plugin::Position> ask(std::size_t) override { return {64, 5, ~plugin::Position{0}}; }
  };
  Strategy strategy = make<Outside>();
  CHECK(strategy.ask(3) == std::vector<Count>{5});
  CHECK(strategy.faults().invalid == 2);
}

TEST_CASE("a repeated proposal is free: its outcome is told again at once") {
  struct Repeats : Base {
    using Base::Base;
    std::vector<plugin::Position> ask(std::size_t) override { return {told_ < 5 ? plugin::Position{3} : plugin::Position{9}}; }
    void tell(std::span<const plugin::Observation> observations) override {
      for (const plugin::Observation& observation : observations) {
        told_ += observation.at() == 3 && observation.time_us == 4.0 ? 1 : 0;
      }
    }
    int told_ = 0;
  };
  Strategy strategy = make<Repeats>();
  CHECK(strategy.ask(1) == std::vector<Count>{3});
  const hone::Observation observation = ok(3);
  strategy.tell({&observation, 1});
  CHECK(strategy.ask(1) == std::vector<Count>{9});
  CHECK(strategy.faults().repeated == 4);
}

TEST_CASE("a strategy that only repeats itself does not hold the session up") {
  struct Stuck : Base {
    using Base::Base;
    std::vector<plugin::Position> ask(std::size_t) override { return {3}; }
  };
  Strategy strategy = make<Stuck>();
  check_whole_space(strategy);
}

TEST_CASE("a strategy that proposes nothing while outcomes are awaited may wait; otherwise its turn is filled") {
  Strategy strategy = make<Base>();
  const std::vector<Count> asked = strategy.ask(2);
  CHECK(asked.size() == 2);
  CHECK(strategy.faults().idle == 1);
  CHECK(strategy.ask(2).empty());
  const std::vector<hone::Observation> outcomes{ok(asked[0]), ok(asked[1])};
  strategy.tell(outcomes);
  CHECK(strategy.ask(2).size() == 2);
}

TEST_CASE("a strategy that proposes again what is still awaited waits for its outcome") {
  struct Insists : Base {
    using Base::Base;
    std::vector<plugin::Position> ask(std::size_t) override { return {plugin::Position{told_}}; }
    void tell(std::span<const plugin::Observation> observations) override { told_ += observations.size(); }
    std::size_t told_ = 0;
  };
  Strategy strategy = make<Insists>();
  CHECK(strategy.ask(1) == std::vector<Count>{0});
  CHECK(strategy.ask(1).empty());
  CHECK(strategy.faults().repeated == 1);
  const hone::Observation observation = ok(0);
  strategy.tell({&observation, 1});
  CHECK(strategy.ask(1) == std::vector<Count>{1});
}

TEST_CASE("a strategy that stalls loses its turns until it returns, and may outlive the session") {
  static std::atomic<bool> released = false;
  static std::atomic<int> destroyed = 0;
  struct Stalls : Base {
    using Base::Base;
    ~Stalls() override { ++destroyed; }
    std::vector<plugin::Position> ask(std::size_t) override {
      released.wait(false);
      return {1};
    }
  };
  {
    Strategy strategy = make<Stalls>(20ms);
    check_whole_space(strategy);
    CHECK(strategy.faults().stalled >= 1);
    CHECK(strategy.faults().first == "strategy sham: ask did not return within 20 ms");
  }
  CHECK(destroyed == 0);
  released = true;
  released.notify_all();
  while (destroyed == 0) {
    std::this_thread::yield();
  }
}

TEST_CASE("a strategy whose end stalls is left behind") {
  static std::atomic<bool> released = false, gone = false;
  struct Clings : Base {
    using Base::Base;
    ~Clings() override {
      released.wait(false);
      gone = true;
      gone.notify_all();
    }
  };
  { const Strategy strategy = make<Clings>(20ms); }
  CHECK_FALSE(gone);
  released = true;
  released.notify_all();
  gone.wait(false);
}

TEST_CASE("what a strategy keeps has a bound") {
  struct Hoards : Base {
    using Base::Base;
    [[nodiscard]] std::string save() const override { return std::string((std::size_t{1} << 20) + 1, 'x'); }
  };
  Strategy strategy = make<Hoards>();
  CHECK(strategy.save().empty());
  CHECK(strategy.faults().first == "strategy sham: save failed: it keeps more than 1 MiB");
}

TEST_CASE("what was told while a call stalled is told before the next") {
  static std::atomic<bool> released = false;
  static std::atomic<std::size_t> told_before_second = 0;
  struct Late : Base {
    using Base::Base;
    std::vector<plugin::Position> ask(std::size_t) override {
      if (asked_++ == 0) {
        released.wait(false);
      } else {
        told_before_second = told_;
      }
      return {};
    }
    void tell(std::span<const plugin::Observation> observations) override { told_ += observations.size(); }
    std::size_t asked_ = 0, told_ = 0;
  };
  Strategy strategy = make<Late>(20ms);
  const std::vector<Count> filled = strategy.ask(1);
  const hone::Observation observation = ok(filled[0]);
  strategy.tell({&observation, 1});
  released = true;
  released.notify_all();
  while (told_before_second == 0 && !strategy.exhausted()) {
    strategy.ask(1);
    std::this_thread::sleep_for(1ms);
  }
  CHECK(told_before_second == 1);
}

TEST_CASE("a table that lacks something breaks the contract") {
  hone_strategy table = *plugin::table<Base>();
  table.tell = nullptr;
  CHECK_THROWS_AS(StrategyPlugin{&table}, ContractError);
  table = *plugin::table<Base>();
  table.struct_size = 8;
  CHECK_THROWS_AS(StrategyPlugin{&table}, ContractError);
  static constexpr plugin::Parameter kTwice[] = {plugin::flag("a", "x", false), plugin::flag("a", "x", false)};
  table = *plugin::table<Base>();
  table.parameters = kTwice;
  table.parameter_count = 2;
  CHECK_THROWS_AS(StrategyPlugin{&table}, ContractError);
}

TEST_CASE("a strategy sees the space through functions alone") {
  struct Looks : Base {
    explicit Looks(const plugin::Context& context) : Base(context) {
      const plugin::Space space = context.space();
      plugin::Random random(1);
      CHECK(space.size() == 64);
      CHECK(space.dimensions() == 2);
      CHECK(std::string_view(space.dimension(1).name) == "y");
      CHECK(space.dimension(1).kind == HONE_ORDINAL);
      CHECK(std::string_view(space.dimension(1).labels[3]) == "3");
      CHECK(space.index(space.at(17)) == plugin::Position{17});
      CHECK_FALSE(space.index(plugin::Digits{8, 0}));
      CHECK(space.nearest({2, 11}) == *space.index(plugin::Digits{2, 7}));
      CHECK(space.neighbours(0, plugin::Neighbourhood::kHamming).size() == 14);
      CHECK(space.neighbours(0, plugin::Neighbourhood::kAdjacent).size() == 2);
      CHECK(space.sample(random, 1000).size() == 64);
      CHECK_THROWS_AS(static_cast<void>(space.at(64)), std::out_of_range);
      CHECK_THROWS_AS(static_cast<void>(context.parameter("none")), std::invalid_argument);
    }
  };
  make<Looks>();
}

TEST_CASE("priors and an earlier session's model reach the strategy") {
  struct Learns : Base {
    explicit Learns(const plugin::Context& context) : Base(context), model_(context.model()) {
      REQUIRE(context.priors().size() == 1);
      const plugin::Prior prior = context.priors().front();
      CHECK(prior.device == "NVIDIA H200");
      CHECK(prior.observations.size() == 2);
      CHECK(prior.observations[1].at() == 9);
      CHECK(prior.observations[1].time_us == 10.0);
    }
    [[nodiscard]] std::string save() const override { return model_ + "+"; }
    std::string model_;
  };
  const StrategyPlugin plugin(plugin::table<Learns>());
  StrategyContext context;
  context.space = grid(8);
  context.priors = {{.device = "NVIDIA H200", .dtype = "f32", .shape = "n=1", .observations = {ok(3), ok(9)}}};
  context.priors.front().observations.push_back(ok(64));  // of a larger space: it is not handed on
  context.model = "weights";
  Strategy strategy = plugin.create(std::move(context)).value();
  CHECK(strategy.save() == "weights+");
}

TEST_CASE("a strategy sees what is expected of the space, and can keep to what is likely") {
  struct Weighs : Base {
    explicit Weighs(const plugin::Context& context) : Base(context) {
      const plugin::Space space = context.space();
      plugin::Random random(1);
      REQUIRE(space.expectations() == 2);
      CHECK(space.expectation(0).text == "x >= 4");
      CHECK(space.expectation(1).text == "y <= 1 or x < 6");
      CHECK(space.expectation(1).comment == "slower on a small device");
      CHECK((space.size() == 64));
      CHECK((space.likely_size() == 20));
      std::size_t likely = 0;
      for (plugin::Position position = 0; position < space.size(); ++position) {
        const plugin::Digits digits = space.at(position);
        std::vector<std::uint32_t> broken;
        if (digits[0] < 4) {
          broken.push_back(0);
        }
        if (digits[1] > 1 && digits[0] >= 6) {
          broken.push_back(1);
        }
        CHECK(space.broken(position) == broken);
        CHECK(space.is_likely(position) == broken.empty());
        likely += broken.empty() ? 1 : 0;
      }
      CHECK(likely == 20);
      CHECK_FALSE(space.is_likely(64));
      CHECK(space.broken(64).empty());
      const std::vector<plugin::Position> all = space.sample_likely(random, 1000);
      CHECK(std::set<plugin::Position>(all.begin(), all.end()).size() == 20);
      for (const plugin::Position position : all) {
        CHECK(space.is_likely(position));
      }
      CHECK(space.sample_likely(random, 3).size() == 3);
    }
  };
  const StrategyPlugin plugin(plugin::table<Weighs>());
  StrategyContext context;
  const std::vector<hone::Parameter> parameters = grid(8)->parameters();
  std::vector<Constraint> expectations = test::conditions(parameters, {"x >= 4", "y <= 1 or x < 6"});
  expectations[1].comment = "slower on a small device";
  context.likely = std::make_shared<const LikelySpace>(LikelySpace::build(parameters, {}, expectations, {}).value());
  context.space = context.likely->legal();
  const auto made = plugin.create(std::move(context));
  CHECK_MESSAGE(made.ok(), (made.ok() ? "" : made.error().message));
}
