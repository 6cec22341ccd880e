// The figures that results are held against: the calculated random search and the community's score.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "engine/plugin/registry.hpp"
#include "hone/plugin.hpp"
#include "tests/compare/made_up_space.hpp"

namespace hone::test {
namespace {

/// Knows where the fastest is.
class Oracle final : public plugin::Strategy {
 public:
  static constexpr plugin::About kAbout{.name = "oracle", .summary = "the optimum, then everything else"};
  static inline plugin::Position optimum = 0;
  explicit Oracle(const plugin::Context& context) : size_(context.space().size()) {}
  std::vector<plugin::Position> ask(std::size_t) override { return {first_ ? std::exchange(first_, false), optimum : next_++}; }
  void tell(std::span<const plugin::Observation>) override {}

 private:
  plugin::Position size_ = 0, next_ = 0;
  bool first_ = true;
};

CompareRequest::Entry random_search() {
  return {.strategy = builtin_registry().strategy("random").value(), .settings = {}, .label = "random"};
}

CompareRequest::Entry oracle(const RecordedSpace& space) {
  static const StrategyPlugin plugin(plugin::table<Oracle>());
  for (Count i = 0; i < space.space().size(); ++i) {
    Oracle::optimum = space.find(i)->time_us == space.best_time_us() ? i : Oracle::optimum;
  }
  return {.strategy = &plugin, .settings = {}, .label = "oracle"};
}

/// The mean over all subsets of `draws` records.
double enumerated(const std::vector<MadeUp>& records, std::size_t draws) {
  std::vector<bool> chosen(records.size(), false);
  std::fill_n(chosen.begin(), draws, true);
  double sum = 0.0, subsets = 0.0;
  do {
    double best = 0.0;
    for (std::size_t i = 0; i < records.size(); ++i) {
      best = chosen[i] && records[i].time_ms ? std::max(best, 1.0 / *records[i].time_ms) : best;
    }
    sum += best;
    subsets += 1.0;
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  return sum / subsets;
}

/// 400 configurations whose times rise ever faster, a sixteenth of which fail.
std::vector<MadeUp> wide() {
  std::vector<MadeUp> records;
  for (int i = 0; i < 400; ++i) {
    const double place = static_cast<double>(i * 137 % 400) / 400.0;
    records.push_back({.block = 16 * (1 + i / 4), .vec = 1 << (i % 4), .time_ms = 1.0 + place + 3.0 * place * place, .seconds = 1.0});
    if (i % 16 == 3) {
      records.back().time_ms.reset();
    }
  }
  return records;
}

std::string blocks(const std::vector<MadeUp>& records) {
  std::string list;
  for (std::size_t i = 0; i < records.size(); i += 4) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", records[i].block);
  }
  return list;
}

CompareReport run(std::vector<std::shared_ptr<const RecordedSpace>> spaces, std::vector<CompareRequest::Entry> entries,
                  std::vector<double> budgets, int repeats, CostUnit unit = CostUnit::kEvaluations) {
  CompareRequest request;
  request.spaces = std::move(spaces);
  request.entries = std::move(entries);
  request.budgets = std::move(budgets);
  request.repeats = repeats;
  request.unit = unit;
  auto report = compare_strategies(request);
  REQUIRE_MESSAGE(report.ok(), (report.ok() ? "" : report.error().message));
  return std::move(*report);
}

}  // namespace

TEST_CASE("The calculated random search is the mean over every possible draw") {
  const Folder folder;
  const std::vector<MadeUp> records{{16, 1, 1.0}, {16, 2, std::nullopt}, {16, 4, 1.5}, {32, 1, 1.5},
                                    {32, 2, 4.0}, {64, 1, std::nullopt}, {64, 8, 2.5}};
  const auto space = load(folder.write("k.A.json", records));
  const CompareReport report = run({space}, {random_search()}, {1, 2, 3, 4, 5, 6, 7}, 2);
  for (std::size_t draws = 1; draws <= records.size(); ++draws) {
    CAPTURE(draws);
    CHECK(report.baseline[draws - 1] == doctest::Approx(enumerated(records, draws)).epsilon(1e-12));
  }
}

TEST_CASE("Random search agrees with the calculated one and scores 0; an oracle scores 1") {
  const Folder folder;
  const auto space = load(folder.write("k.A.json", wide(), blocks(wide())));
  for (const CostUnit unit : {CostUnit::kEvaluations, CostUnit::kSeconds}) {
    const double cost = unit == CostUnit::kEvaluations ? 1.0 : 1.75;
    const CompareReport report = run({space}, {random_search(), oracle(*space)}, {10 * cost, 40 * cost, 400 * cost}, 400, unit);
    REQUIRE(report.spaces[0].score_to < report.budgets.back());
    CHECK(std::abs(report.strategies[0].score) < 0.06);
    CHECK(report.strategies[1].score == doctest::Approx(1.0));
    for (std::size_t b = 0; b < 2; ++b) {
      CHECK(report.strategies[0].fractions[b].mean == doctest::Approx(report.baseline[b]).epsilon(0.02));
    }
    CHECK(report.strategies[1].fractions[0].mean == 1.0);
  }
}

TEST_CASE("A budget that ends within the score's range ends it, and that is noted") {
  const Folder folder;
  const auto space = load(folder.write("k.A.json", wide(), blocks(wide())));
  const CompareReport report = run({space}, {random_search()}, {2}, 2);
  CHECK(report.spaces[0].score_to == 2.0);
  REQUIRE_FALSE(report.notes.empty());
  CHECK(report.notes.back().find("ends at the largest budget") != std::string::npos);
}

TEST_CASE("On a recorded space of a real GPU random search is the calculated one") {
  const std::filesystem::path file = std::filesystem::path(HONE_SOURCE_DIR) / "bench/spaces/softmax.NVIDIA_H200.json.gz";
  const CompareReport report = run({load(file)}, {random_search()}, {25, 100, 240}, 200);
  CHECK(std::abs(report.strategies[0].score) < 0.1);
  for (std::size_t b = 0; b < 3; ++b) {
    CHECK(report.strategies[0].fractions[b].mean == doctest::Approx(report.baseline[b]).epsilon(0.02));
  }
}

}  // namespace hone::test
