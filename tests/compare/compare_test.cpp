// The laboratory's rules: what counts, what is free, what strategies are told, and that results depend on the seed alone.
#include <algorithm>
#include <mutex>
#include <numeric>
#include <set>

#include "engine/plugin/registry.hpp"
#include "hone/plugin.hpp"
#include "tests/compare/made_up_space.hpp"

namespace hone::test {
namespace {

/// Takes positions in order, and proposes each three times.
class Stutterer final : public plugin::Strategy {
 public:
  static constexpr plugin::About kAbout{.name = "stutterer", .summary = "everything three times"};
  explicit Stutterer(const plugin::Context& context) : size_(context.space().size()) {}
  std::vector<plugin::Position> ask(std::size_t) override { return {std::min(next_++ / 3, size_ - 1)}; }
  void tell(std::span<const plugin::Observation>) override {}

 private:
  plugin::Position size_ = 0, next_ = 0;
};

/// Takes positions in order, and keeps what it is told.
class Listener final : public plugin::Strategy {
 public:
  static constexpr plugin::About kAbout{.name = "listener", .summary = "keeps what it is told"};
  static inline std::mutex mutex;
  static inline std::vector<plugin::Observation> heard;
  explicit Listener(const plugin::Context&) {}
  std::vector<plugin::Position> ask(std::size_t) override { return {next_++}; }
  void tell(std::span<const plugin::Observation> observations) override {
    const std::lock_guard lock(mutex);
    heard.insert(heard.end(), observations.begin(), observations.end());
  }

 private:
  plugin::Position next_ = 0;
};

/// Proposes what was fastest in its priors, then the next.
class Believer final : public plugin::Strategy {
 public:
  static constexpr plugin::About kAbout{.name = "believer", .summary = "the order of the priors"};
  explicit Believer(const plugin::Context& context) {
    for (const plugin::Prior& prior : context.priors()) {
      known_.insert(known_.end(), prior.observations.begin(), prior.observations.end());
    }
    std::ranges::sort(known_, {},
                      [](const plugin::Observation& observation) { return std::pair(observation.objective(), observation.at()); });
  }
  std::vector<plugin::Position> ask(std::size_t) override {
    return next_ < known_.size() ? std::vector{known_[next_++].at()} : std::vector<plugin::Position>{};
  }
  void tell(std::span<const plugin::Observation>) override {}

 private:
  std::vector<plugin::Observation> known_;
  std::size_t next_ = 0;
};

const StrategyPlugin* made(const hone_strategy* table) {
  static std::vector<std::unique_ptr<StrategyPlugin>> kept;
  return kept.emplace_back(std::make_unique<StrategyPlugin>(table)).get();
}

CompareRequest::Entry entry(const StrategyPlugin* strategy) {
  return {.strategy = strategy, .settings = {}, .label = std::string(strategy->name())};
}

CompareRequest::Entry builtin(const std::string& name) {
  const auto strategy = builtin_registry().strategy(name);
  REQUIRE(strategy.ok());
  return entry(*strategy);
}

CompareRequest request(std::vector<std::shared_ptr<const RecordedSpace>> spaces, std::vector<CompareRequest::Entry> entries) {
  CompareRequest made;
  made.spaces = std::move(spaces);
  made.entries = std::move(entries);
  made.budgets = {1, 5, 10};
  made.repeats = 10;
  return made;
}

CompareReport run(const CompareRequest& request) {
  auto report = compare_strategies(request);
  REQUIRE_MESSAGE(report.ok(), (report.ok() ? "" : report.error().message));
  return std::move(*report);
}

}  // namespace

TEST_CASE("Failures count as evaluations, and nothing found is a fraction of 0") {
  const Folder folder;
  const auto space = load(folder.write("k.A.json", {{16, 1, std::nullopt}, {16, 2, 4.0}, {32, 1, std::nullopt}, {32, 2, 2.0}}));
  auto wanted = request({space}, {builtin("exhaustive")});
  wanted.budgets = {1, 2, 3, 4};
  const CompareReport report = run(wanted);
  const auto& fractions = report.strategies[0].fractions;
  CHECK(fractions[0].mean == 0.0);
  CHECK(fractions[1].mean == doctest::Approx(0.5));
  CHECK(fractions[2].mean == doctest::Approx(0.5));
  CHECK(fractions[3].mean == doctest::Approx(1.0));
  CHECK(report.strategies[0].evaluations_to_95 == doctest::Approx(4.0));
  CHECK(report.strategies[0].evaluations == 40);
  CHECK(report.spaces[0].failed == 2);
}

TEST_CASE("What was too slow in a record finds nothing and did not fail; a strategy is told its time") {
  const Folder folder;
  const auto space =
      load(folder.write("k.A.json", R"({"tune_params_keys": ["block", "vec"], "tune_params": {"block": [16], "vec": [1, 2, 4]},
    "cache": {"16,1": {"block": 16, "vec": 1, "time": "too_slow", "times": [0.5]}, "16,2": {"block": 16, "vec": 2, "time": 2.0},
              "16,4": {"block": 16, "vec": 4, "time": 1.0}}})"));
  auto wanted = request({space}, {builtin("exhaustive"), entry(made(plugin::table<Listener>()))});
  wanted.budgets = {1, 2, 3};
  const CompareReport report = run(wanted);
  const auto& fractions = report.strategies[0].fractions;
  CHECK(fractions[0].mean == 0.0);
  CHECK(fractions[1].mean == doctest::Approx(0.5));
  CHECK(fractions[2].mean == doctest::Approx(1.0));
  CHECK(report.spaces[0].failed == 0);
  REQUIRE_FALSE(Listener::heard.empty());
  CHECK(Listener::heard.front().too_slow());
  CHECK(Listener::heard.front().objective() == doctest::Approx(500.0));
}

TEST_CASE("What is proposed again is free, and counted") {
  const Folder folder;
  const auto space = load(folder.write("k.A.json", grid()));
  auto wanted = request({space}, {entry(made(plugin::table<Stutterer>())), builtin("exhaustive")});
  wanted.repeats = 1;
  const CompareReport report = run(wanted);
  CHECK(report.strategies[0].faults.repeated > 0);
  CHECK(report.strategies[1].faults.repeated == 0);
  for (std::size_t b = 0; b < report.budgets.size(); ++b) {
    CHECK(report.strategies[0].fractions[b].mean == report.strategies[1].fractions[b].mean);
  }
}

TEST_CASE("A seed gives the same results on one thread and on four, and every strategy has the same seeds") {
  const Folder folder;
  const auto a = load(folder.write("k.A.json", grid(5))), b = load(folder.write("m.A.json", grid()));
  auto wanted = request({a, b}, {builtin("random"), builtin("local_search")});
  wanted.keep_traces = true;
  wanted.jobs = 1;
  const CompareReport one = run(wanted);
  wanted.jobs = 4;
  const CompareReport four = run(wanted);
  REQUIRE(one.traces.size() == 40);
  for (std::size_t i = 0; i < one.traces.size(); ++i) {
    CHECK(one.traces[i].positions == four.traces[i].positions);
    CHECK(one.traces[i].seed == one.traces[i % 20].seed);
  }
  for (std::size_t s = 0; s < 2; ++s) {
    CHECK(one.strategies[s].score == four.strategies[s].score);
    CHECK(one.strategies[s].fractions[1].low == four.strategies[s].fractions[1].low);
  }
  wanted.seed = 1;
  CHECK(run(wanted).traces[0].positions != one.traces[0].positions);
}

TEST_CASE("Seconds: a result counts once its compilation, verification and benchmark are paid, also those of failures") {
  const Folder folder;
  const auto space = load(folder.write("k.A.json", {{16, 1, std::nullopt, 2.0}, {16, 2, 4.0, 4.0}, {32, 1, 2.0, 1.0}}));
  auto wanted = request({space}, {builtin("exhaustive")});
  wanted.unit = CostUnit::kSeconds;
  wanted.budgets = {3.5, 10.4, 10.5, 12.2, 12.25};  // 2, 4 and 1 seconds times 1.75
  const CompareReport report = run(wanted);
  std::vector<double> means;
  for (const Estimate& estimate : report.strategies[0].fractions) {
    means.push_back(estimate.mean);
  }
  CHECK(means == std::vector{0.0, 0.0, 0.5, 0.5, 1.0});
}

TEST_CASE("Transfer: records of another device come at the positions of this space") {
  const Folder folder;
  // There the values of block are listed in another order, one more is measured, and one of here is missing.
  const auto here = load(folder.write("k.A.json", grid()));
  std::vector<MadeUp> other = grid();
  other.erase(other.begin() + 5);
  other.push_back({.block = 512, .vec = 1, .time_ms = 0.5});
  const auto there = load(folder.write("k.B.json", other, "512, 256, 128, 64, 32, 16"));
  const auto lonely = load(folder.write("m.A.json", grid()));
  auto wanted = request({here, there, lonely}, {entry(made(plugin::table<Believer>()))});
  wanted.transfer = Transfer::kAll;
  const CompareReport report = run(wanted);
  REQUIRE(report.spaces.size() == 2);
  CHECK(report.strategies[0].per_space[0].fractions[0].mean == doctest::Approx(1.0));
  CHECK(report.strategies[0].per_space[0].evaluations_to_95 == doctest::Approx(1.0));
  REQUIRE(report.notes.size() >= 1);
  CHECK(report.notes[0].find("m.A") != std::string::npos);

  wanted.transfer = Transfer::kMisleading;
  wanted.keep_traces = true;
  const CompareReport misled = run(wanted);
  CHECK(misled.strategies[0].per_space[0].fractions[0].mean == doctest::Approx(1.0 / 2.9));
  CHECK(misled.traces[0].source == "k.B");
}

TEST_CASE("Transfer one: each other device in turn, and the results are the mean over them") {
  const Folder folder;
  std::vector<MadeUp> reversed = grid();
  for (MadeUp& record : reversed) {
    record.time_ms = 10.0 - *record.time_ms;
  }
  const auto a = load(folder.write("k.A.json", grid())), b = load(folder.write("k.B.json", grid())),
             c = load(folder.write("k.C.json", reversed));
  auto wanted = request({a, b, c}, {entry(made(plugin::table<Believer>()))});
  wanted.transfer = Transfer::kOne;
  const CompareReport report = run(wanted);
  CHECK(report.strategies[0].runs == 3 * 2 * 10);
  CHECK(report.strategies[0].per_space[0].fractions[0].mean == doctest::Approx((1.0 + 1.0 / 2.9) / 2.0));
}

TEST_CASE("Transfer goes by the kernel's name in the files, and by its parameters") {
  const Folder folder;
  const std::string blocks = "16, 32, 64, 128, 256";
  const auto a = load(folder.write("first.json", grid(), blocks, "gemm")), b = load(folder.write("second.json", grid(), blocks, "gemm")),
             other = load(folder.write("first.B.json", grid(), blocks, "transpose"));
  auto wanted = request({a, b, other}, {entry(made(plugin::table<Believer>()))});
  wanted.transfer = Transfer::kOne;
  const CompareReport report = run(wanted);
  REQUIRE(report.spaces.size() == 2);
  CHECK(report.spaces[1].kernel == "gemm");
  CHECK(report.notes[0].find("first.B") != std::string::npos);
}

TEST_CASE("Transfer shuffled: the outcomes of one other device, in each repeat dealt out otherwise") {
  const Folder folder;
  const auto a = load(folder.write("k.A.json", grid())), b = load(folder.write("k.B.json", grid()));
  auto wanted = request({a, b}, {entry(made(plugin::table<Believer>()))});
  wanted.transfer = Transfer::kShuffled;
  wanted.keep_traces = true;
  const CompareReport report = run(wanted);
  std::set<std::uint64_t> first;
  for (const RunTrace& trace : report.traces) {
    first.insert(trace.positions.front());
  }
  CHECK(first.size() > 3);
  CHECK(run(wanted).traces[3].positions == report.traces[3].positions);
}

TEST_CASE("The best of a space, and whoever is level with it, wins") {
  const Folder folder;
  const auto a = load(folder.write("k.A.json", grid())), b = load(folder.write("k.B.json", grid()));
  auto wanted = request({a, b}, {builtin("exhaustive"), entry(made(plugin::table<Believer>()))});
  wanted.transfer = Transfer::kAll;
  wanted.budgets = {2, 20};
  const CompareReport report = run(wanted);
  CHECK(report.wins[0][0] == std::vector<std::string>{"believer"});
  CHECK(report.wins[1][0].size() == 2);
}

TEST_CASE("What cannot be compared is refused") {
  const Folder folder;
  const auto space = load(folder.write("k.A.json", grid()));
  const auto refused = [&](auto change) {
    auto wanted = request({space}, {builtin("random")});
    change(wanted);
    const auto report = compare_strategies(wanted);
    REQUIRE_FALSE(report.ok());
    CHECK(report.error().code == ErrorCode::kInvalidArgument);
    return report.error().message;
  };
  CHECK(refused([](CompareRequest& wanted) { wanted.budgets = {0}; }).find("budget 0") != std::string::npos);
  CHECK(refused([](CompareRequest& wanted) { wanted.budgets = {2.5}; }).find("2.5") != std::string::npos);
  CHECK(refused([](CompareRequest& wanted) { wanted.repeats = 0; }).find("repeats") != std::string::npos);
  CHECK(refused([](CompareRequest& wanted) { wanted.batch = 0; }).find("batch") != std::string::npos);
  CHECK(refused([](CompareRequest& wanted) { wanted.spaces.clear(); }).find("recorded space") != std::string::npos);
  CHECK(refused([](CompareRequest& wanted) { wanted.entries[0].settings["warmth"] = 3; }).find("warmth") != std::string::npos);
  CHECK(refused([](CompareRequest& wanted) { wanted.entries.push_back(wanted.entries[0]); }).find("twice") != std::string::npos);
  CHECK(refused([](CompareRequest& wanted) { wanted.transfer = Transfer::kAll; }).find("other device") != std::string::npos);
}

TEST_CASE("A folder's spaces are loaded once each; what is none is passed over with a note") {
  const Folder folder;
  folder.write("k.A.json", grid());
  folder.write("definitions.json", std::string("[1, 2]"));
  folder.write(
      "k.A.T4.json", std::string(R"({"results": [)") + [] {
        std::string records;
        for (const MadeUp& record : grid()) {
          records += fmt::format(R"({}{{"configuration": {{"block": {}, "vec": {}}}, "invalidity": "correct", "times": {{}},
                             "measurements": [{{"name": "time", "value": {}}}]}})",
                                 records.empty() ? "" : ",", record.block, record.vec, *record.time_ms);
        }
        return records;
      }() + "]}");
  const auto loaded = load_recorded_spaces({folder.path()});
  REQUIRE(loaded.ok());
  REQUIRE(loaded->spaces.size() == 1);
  CHECK(loaded->spaces[0]->name() == "k.A");
  CHECK(loaded->notes.size() == 2);

  std::vector<MadeUp> slower = grid();
  slower[0].time_ms = 7.0;
  folder.write("deeper/still/k.A.json", slower);
  folder.write("deeper/copy.json", grid());
  const auto deep = load_recorded_spaces({folder.path()});
  REQUIRE(deep.ok());
  std::set<std::string> names;
  for (const auto& space : deep->spaces) {
    names.insert(space->name());
  }
  CHECK(names == std::set<std::string>{"copy", "k.A", "still/k.A"});

  const Folder empty;
  const auto none = load_recorded_spaces({empty.path()});
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().message.find(empty.path().string()) != std::string::npos);
  CHECK_FALSE(load_recorded_spaces({folder.path() / "definitions.json"}).ok());
}

}  // namespace hone::test
