// What a range goes on from, on the cpu device.
#include "engine/tune/portfolio_session.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include "engine/reader/kernel_file.hpp"
#include "engine/store/portfolio_lookup.hpp"
#include "engine/store/shipped_portfolios.hpp"
#include "tests/portfolio_cells.hpp"
#include "tests/shipped_portfolio.hpp"
#include "tests/twice_kernel.hpp"

namespace hone {
namespace {

namespace fs = std::filesystem;

/// test::kTwice with more parameters, of which one must divide n.
std::string wide_source(const std::string& valid = "p.n % c.wide == 0") {
  std::string source = test::kTwice;
  const auto put = [&source](std::string_view before, std::string_view after) {
    source.replace(source.find(before), before.size(), after);
  };
  put("TUNE(32, 64, 128) int block = 64;", "TUNE(32, 64, 96, 128, 160, 192, 224, 256) int block = 64; TUNE(1, 2, 4) int wide = 1;");
  put("constexpr Launch",
      "template <class T> constexpr bool valid(Problem p, Config c, Device d) { return " + valid + "; }\nconstexpr Launch");
  return source;
}

class RangeFixture {
 public:
  explicit RangeFixture(const std::string& source = test::kTwice)
      : folder_(fs::temp_directory_path() / ("hone_range_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "twice.cu") << source;
    spec_ = read_kernel_file(folder_ / "twice.cu").value();
    operation_ = {spec_.name, {&spec_}, &spec_};
    request.operation = &operation_;
    request.range = parse_range(spec_, "n=1..4096").value();
    request.dtypes = DType::kF32;
    request.common.device = builtin_registry().device("cpu").value();
  }
  ~RangeFixture() { fs::remove_all(folder_); }

  [[nodiscard]] std::unique_ptr<Store> store(const std::string& name) const {
    return open_store(folder_ / name, StoreMode::kReadWrite).value();
  }
  Result<PortfolioReport> run(Store& store, std::int64_t trials) {
    request.budget = {.seconds = std::nullopt, .trials = trials};
    return tune(request, store, builtin_registry());
  }
  /// Another kernel for the same.
  void add_kernel() {
    std::string source = test::kTwice;
    for (std::size_t at = source.find("twice"); at != std::string::npos; at = source.find("twice", at)) {
      source.replace(at, 5, "again");
    }
    std::ofstream(folder_ / "again.cu") << source;
    other_ = read_kernel_file(folder_ / "again.cu").value();
    operation_.implementations.push_back(&other_);
  }
  [[nodiscard]] const KernelSpec& spec() const { return spec_; }
  [[nodiscard]] std::size_t portfolios_in(Store& store) const { return store.portfolios().value().size(); }

  PortfolioRequest request;

 private:
  fs::path folder_;
  KernelSpec spec_, other_;
  Operation operation_;
};

}  // namespace

TEST_CASE("the sessions of a range of few shapes share its budget, and it says when nothing is left") {
  RangeFixture fixture(wide_source());
  fixture.request.range = parse_range(fixture.spec(), "n=64|96").value();
  const auto store = fixture.store("S.db");
  const PortfolioReport report = fixture.run(*store, 32).value();
  CHECK(report.portfolio.points.size() == 2);
  std::vector<std::int64_t> searched;
  for (const SessionInfo& session : store->sessions().value()) {
    if (session.strategy != "survey") {
      searched.push_back(session.trials);
    }
  }
  CHECK(searched == std::vector<std::int64_t>{16, 16});  // of a range of many a session has six
  const PortfolioReport again = fixture.run(*store, 2000).value();
  CHECK(again.nothing_left);
  CHECK(again.portfolio.points.size() == 2);
}

TEST_CASE("where no member is legal the portfolio does not serve, and says so") {
  RangeFixture fixture(wide_source("c.wide == (p.n % 2 == 0 ? 2 : 1)"));
  const auto store = fixture.store("S.db");
  fixture.request.range = parse_range(fixture.spec(), "n=64").value();
  CHECK(fixture.run(*store, 6).value().unserved == 0.0);
  fixture.request.range = parse_range(fixture.spec(), "n=61..68").value();
  const PortfolioReport report = fixture.run(*store, 0).value();  // of what is known of 64
  CHECK(report.unserved > 0.3);
  CHECK(report.unserved < 0.7);
  CHECK(report.wants_tuning >= report.unserved);
}

TEST_CASE("a range goes on from what came with Hone for the product, and spends its own budget") {
  RangeFixture fixture;
  const auto first = fixture.store("first.db"), second = fixture.store("second.db"), third = fixture.store("third.db");
  const Portfolio made = fixture.run(*first, 24).value().portfolio;
  REQUIRE(made.points.size() > 2);
  const test::Shipped shipped(made);
  const ReplacedShippedPortfolios replaced(std::array{shipped.span()});

  const PortfolioReport report = fixture.run(*second, 12).value();
  CHECK(report.measured > 0);
  CHECK(report.portfolio.points.size() == made.points.size() + report.measured);
  CHECK(report.portfolio.trials >= 12);
  CHECK(report.portfolio.trials < 24);
  CHECK(fixture.run(*second, 12).value().measured == 0);  // the budget is spent
  CHECK(fixture.run(*second, 20).value().measured > 0);

  fixture.request.common.transfer = false;
  const PortfolioReport alone = fixture.run(*third, 12).value();
  CHECK(alone.portfolio.points.size() == alone.measured);
}

TEST_CASE("the code of members that are known is compiled ahead, where that does not disturb what is timed") {
  RangeFixture fixture(wide_source());
  fixture.request.range = parse_range(fixture.spec(), "n=64|96").value();
  const auto first = fixture.store("first.db"), second = fixture.store("second.db"), third = fixture.store("third.db");
  const Portfolio made = fixture.run(*first, 32).value().portfolio;
  REQUIRE(!made.members.empty());
  const test::Shipped shipped(made);
  const ReplacedShippedPortfolios replaced(std::array{shipped.span()});
  const auto compiled_in = [&](Store& store) {
    std::size_t count = 0;
    for (const PortfolioMember& member : made.members) {
      const Problem problem = make_problem(fixture.spec(), DType::kF32, made.points.front().shape).value();
      const CompiledKey key = compiled_key(fixture.spec(), problem, member.configuration, fixture.request.common.device.info);
      count += store.find_compiled(key).value() ? 1 : 0;
    }
    return count;
  };
  fixture.request.common.device.info.compile_overlaps = true;
  CHECK(!fixture.run(*third, 0));
  CHECK(compiled_in(*third) == 0);                // nothing was to be measured
  static_cast<void>(fixture.run(*second, 2000));  // nor is there a shape for a session
  CHECK(compiled_in(*second) == made.members.size());
}

TEST_CASE("what came with Hone is not stored where nothing was measured") {
  RangeFixture fixture;
  const auto first = fixture.store("first.db"), second = fixture.store("second.db");
  const test::Shipped shipped(fixture.run(*first, 12).value().portfolio);
  const ReplacedShippedPortfolios replaced(std::array{shipped.span()});
  std::stop_source stop;
  stop.request_stop();
  fixture.request.common.stop = stop.get_token();
  CHECK(fixture.run(*second, 12).error().code == ErrorCode::kCancelled);
  CHECK(fixture.portfolios_in(*second) == 0);
}

TEST_CASE("a run whose budget is spent changes nothing, whatever was measured first") {
  RangeFixture fixture;
  const auto before = fixture.store("before.db"), store = fixture.store("spent.db");
  const test::Shipped shipped(fixture.run(*before, 24).value().portfolio);
  fixture.add_kernel();
  for (const bool goes_on : {false, true}) {
    CAPTURE(goes_on);
    std::vector<std::span<const unsigned char>> came;
    if (goes_on) {
      came.push_back(shipped.span());
    }
    const ReplacedShippedPortfolios replaced(came);
    const std::int64_t trials = goes_on ? 60 : 30;
    const Result<PortfolioReport> first = fixture.run(*store, trials);
    REQUIRE_MESSAGE(first.ok(), first.error().message);
    const Result<PortfolioReport> again = fixture.run(*store, trials);
    REQUIRE_MESSAGE(again.ok(), again.error().message);
    CHECK(again->measured == 0);
    CHECK(again->generation == first->generation);
    CHECK(text(again->portfolio) == text(first->portfolio));
    CHECK(fixture.run(*store, trials + 12)->generation > first->generation);
  }
}

TEST_CASE("members are compared at shapes that were measured before, which are no new points") {
  RangeFixture fixture(wide_source());
  fixture.request.range = parse_range(fixture.spec(), "n=61..67").value();
  const auto first = fixture.store("first.db"), second = fixture.store("second.db");
  Portfolio made = fixture.run(*first, 6).value().portfolio;
  made.members = {{"twice", "block=64,wide=1,items=1"}};  // the fastest everywhere, and first where nothing wider is legal
  made.points.clear();
  for (std::int64_t n = 61; n <= 66; ++n) {
    made.points.push_back({{{"n", n}}, 10.0, 1.0, test::cells({1.0})});
  }
  const test::Shipped shipped(made);
  const ReplacedShippedPortfolios replaced(std::array{shipped.span()});

  const PortfolioReport report = fixture.run(*second, 60).value();
  CHECK(report.measured == 1);  // 67
  CHECK(report.portfolio.points.size() == 7);
  CHECK(report.portfolio.trials < 60);  // what is left to compare ends, too
  std::set<std::int64_t> at;
  for (const SessionInfo& session : second->sessions().value()) {
    at.insert(session.problem.shape.front().second);
  }
  for (const std::int64_t n : {62, 64, 66}) {
    CHECK(at.contains(n));
  }
}

TEST_CASE("once much is known a survey times the first few members of the rule") {
  RangeFixture fixture;
  const auto first = fixture.store("first.db"), second = fixture.store("second.db");
  Portfolio made = fixture.run(*first, 6).value().portfolio;
  made.members.clear();
  for (const char* const block : {"32", "64", "128"}) {
    for (const char* const items : {"1", "2", "4"}) {
      made.members.push_back({"twice", std::string("block=") + block + ",items=" + items});
    }
  }
  made.points.clear();
  for (std::int64_t n = 4; n <= 4096; n += 4) {
    made.points.push_back({{{"n", n}}, 10.0, 1.0, test::cells({1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07, 1.08})});
  }
  const test::Shipped shipped(made);
  const ReplacedShippedPortfolios replaced(std::array{shipped.span()});

  CHECK(fixture.run(*second, 24).value().measured > 0);
  std::size_t surveys = 0;
  for (const SessionInfo& session : second->sessions().value()) {
    if (session.strategy == "survey" && session.problem.shape.front().second % 4 != 0) {
      CHECK(session.trials <= 8);
      ++surveys;
    }
  }
  CHECK(surveys > 0);
}

}  // namespace hone
