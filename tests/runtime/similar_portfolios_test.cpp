// Portfolios that serve problems similar to those they are for.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/store/operation_lookup.hpp"
#include "engine/store/portfolio_lookup.hpp"
#include "engine/store/shipped_portfolios.hpp"
#include "tests/hopper.hpp"
#include "tests/portfolio_cells.hpp"
#include "tests/runtime/engine_fixture.hpp"
#include "tests/runtime/portfolio_fixture.hpp"
#include "tests/shipped_portfolio.hpp"

namespace hone {
namespace {

using test::contains;
using test::PortfolioFixture;
using test::Shipped;

/// A portfolio in bf16, asked for f16, which no session has checked.
class SimilarFixture : public PortfolioFixture {
 public:
  SimilarFixture() {
    made.dtypes = "bf16";
    put_bf16();
  }
  void put_bf16() const {
    PortfolioKey own = key();
    own.dtypes = made.dtypes;
    REQUIRE(store->put_portfolio(own, text(made)).ok());
  }
  [[nodiscard]] Problem f16(std::int64_t rows) const { return make_problem(spec, DType::kF16, {{"rows", rows}, {"cols", 64}}).value(); }
  [[nodiscard]] Choice of_f16(std::int64_t rows, const Lookup& lookup = {}) const {
    return choose(spec, f16(rows), device, store.get(), lookup).value();
  }
};

/// Its other one is none any longer.
void keep_first_member(Portfolio& portfolio) {
  portfolio.members.pop_back();
  for (PortfolioPoint& point : portfolio.points) {
    std::erase_if(point.cells, [](const PortfolioCell& cell) { return cell.member > 0; });
  }
}

}  // namespace

TEST_CASE("where no portfolio is for such problems, one for the most similar ones serves, and says so") {
  PortfolioFixture fixture;
  fixture.made.dtypes = "bf16";
  const Shipped similar(fixture.made);
  const ReplacedShippedPortfolios replaced(std::array{similar.span()});
  const auto chosen = [&](DType dtype, std::int64_t cols = 64) {
    const Problem problem = make_problem(fixture.spec, dtype, {{"rows", 30}, {"cols", cols}}).value();
    return choose(fixture.spec, problem, fixture.device, fixture.store.get()).value();
  };
  const Choice own = chosen(DType::kBF16), other = chosen(DType::kF16);
  REQUIRE(own.prediction);
  REQUIRE(other.prediction);
  CHECK(other.source == Source::kPredicted);
  CHECK(fixture.config(other) == fixture.few);
  CHECK(own.prediction->made_for.empty());
  CHECK(other.prediction->made_for == "bf16");
  CHECK(other.prediction->doubt > own.prediction->doubt);
  CHECK(other.why.empty());
  CHECK(chosen(DType::kF32).source == Source::kDefault);  // of another size
  CHECK(chosen(DType::kF16, 1000).prediction.value().made_for == "bf16, cols=64");
  CHECK(chosen(DType::kBF16, 64 * 50).source == Source::kPredicted);
  CHECK(chosen(DType::kF16, 64 * 50).source == Source::kDefault);  // too far from its range for another dtype

  CHECK(shipped_proposals(fixture.spec, make_problem(fixture.spec, DType::kF16, {{"rows", 30}, {"cols", 64}}).value(), fixture.device, 4)
            .size() == 2);

  fixture.made.dtypes = "f16";  // what is for such problems comes first, wherever it comes from
  std::swap(fixture.made.members[0], fixture.made.members[1]);
  const Shipped exact(fixture.made);
  const ReplacedShippedPortfolios both(std::array{similar.span(), exact.span()});
  CHECK(fixture.config(chosen(DType::kF16)) == fixture.many);
  CHECK(chosen(DType::kF16).prediction->made_for.empty());
}

TEST_CASE("a GPU for whose architecture there is no portfolio is served by those of others, after what was tuned near the problem") {
  PortfolioFixture fixture;
  fixture.made.product = "Abacus 2000";
  fixture.made.architecture = "sm_1";
  fixture.device.product = "Abacus 4000";
  fixture.device.architecture = "sm_4";
  const Shipped foreign(fixture.made);
  const ReplacedShippedPortfolios replaced(std::array{foreign.span()});
  const Choice other = fixture.chosen(30);
  REQUIRE(other.prediction);
  CHECK(fixture.config(other) == fixture.few);
  CHECK(other.prediction->product == "Abacus 2000");
  CHECK(shipped_portfolios(fixture.device).empty());  // what is compiled ahead is for the device's own
  CHECK(fixture.chosen(30, 64, {.purpose = purpose_within(0.01)}).source == Source::kDefault);

  fixture.device.architecture = "sm_1";
  CHECK(fixture.chosen(30).prediction->doubt < other.prediction->doubt);

  fixture.device.architecture = "sm_4";
  for (PortfolioPoint& point : fixture.made.points) {
    point.cells[0].slowdown = 2.0;  // what is legal here is far behind what is fast there
    point.cells[1].slowdown = 1.5;
  }
  const Shipped slow(fixture.made);
  {
    const ReplacedShippedPortfolios behind(std::array{slow.span()});
    CHECK(fixture.chosen(30).source == Source::kDefault);
  }
  fixture.record(40);
  CHECK(fixture.chosen(30).source == Source::kNearest);
  CHECK(fixture.chosen(4000).source == Source::kPredicted);
}

TEST_CASE("proposals that are wanted come from similar problems where all that is for the problem's own is known") {
  PortfolioFixture fixture;
  const Problem problem = make_problem(fixture.spec, DType::kF16, {{"rows", 30}, {"cols", 64}}).value();
  const auto proposed = [&](const std::string& known) {
    std::vector<std::string> all;
    for (const Configuration& one : shipped_proposals(fixture.spec, problem, fixture.device, 4, [&](const Configuration& configuration) {
           return text(fixture.spec.parameters, configuration) != known;
         })) {
      all.push_back(text(fixture.spec.parameters, one));
    }
    return all;
  };
  fixture.made.dtypes = "bf16";
  const Shipped similar(fixture.made);
  fixture.made.dtypes = "f16";
  keep_first_member(fixture.made);
  const std::string only = fixture.made.members.front().configuration;
  const Shipped own(fixture.made);
  const ReplacedShippedPortfolios both(std::array{similar.span(), own.span()});
  CHECK(proposed("") == std::vector<std::string>{only});
  CHECK(proposed(only) == std::vector<std::string>{only == fixture.few ? fixture.many : fixture.few});
}

TEST_CASE("a problem's own members are proposed also where what is similar is expected to be faster") {
  PortfolioFixture fixture;
  const Problem problem = make_problem(fixture.spec, DType::kF16, {{"rows", 30}, {"cols", 64}}).value();
  fixture.made.dtypes = "bf16";
  const Shipped similar(fixture.made);
  fixture.made.dtypes = "f16";
  keep_first_member(fixture.made);
  for (PortfolioPoint& point : fixture.made.points) {
    point.cells.front().slowdown = 2.0;
  }
  const Shipped own(fixture.made);
  const ReplacedShippedPortfolios both(std::array{similar.span(), own.span()});
  const std::vector<Configuration> all = shipped_proposals(fixture.spec, problem, fixture.device, 4);
  REQUIRE(all.size() == 1);
  CHECK(text(fixture.spec.parameters, all.front()) == fixture.made.members.front().configuration);
}

TEST_CASE("of a store's portfolios that for the most similar problems serves where none is for such") {
  PortfolioFixture fixture;
  const KernelSpec& spec = *find_builtin_kernel("gemm").value();
  const auto put = [&](const char* range, const std::string& configuration, double slowdown = 1.0) {
    Portfolio made = fixture.made;
    made.operation = "gemm";
    made.dtypes = "f32";
    made.sources = {{"gemm", spec.source_hash}};
    made.range = parse_range(spec, range).value();
    made.members = {{"gemm", configuration}};
    made.points.clear();
    for (const std::int64_t m : {1, 64, 1024}) {
      Shape shape;
      for (const RangeAxis& axis : made.range.axes) {
        shape.emplace_back(axis.name, axis.varies() ? m : axis.least());
      }
      made.points.push_back({shape, 5.0, 5.0, test::cells({slowdown})});
    }
    PortfolioKey key = portfolio_key("gemm", DType::kF32, fixture.device);
    key.range = range;
    REQUIRE(fixture.store->put_portfolio(key, text(made)).ok());
  };
  const auto problem = [&](std::int64_t layout, std::int64_t activation) {
    return make_problem(spec, DType::kF32, {{"m", 32}, {"n", 64}, {"k", 64}, {"layout", layout}, {"activation", activation}}).value();
  };
  const auto chosen = [&](std::int64_t layout, std::int64_t activation) {
    const Implementation only{&spec, problem(layout, activation)};
    std::string why;
    const auto own = pick_from_portfolios("gemm", {&only, 1}, fixture.device, fixture.store.get(), {}, Match::kSame, why).value();
    return own ? own : pick_from_portfolios("gemm", {&only, 1}, fixture.device, fixture.store.get(), {}, Match::kSimilar, why).value();
  };
  Bindings bound = bindings(problem(1, 1));
  bound.merge(bindings(fixture.device));
  const SearchSpace space = SearchSpace::build(spec.parameters, spec.constraints, bound).value();
  const std::string first = text(spec.parameters, space.at(0));
  const std::string second = text(spec.parameters, default_for(spec, problem(4, 3), fixture.device).value());
  REQUIRE(first != second);
  CHECK_FALSE(chosen(1, 3));
  put("m=1..1024,n=64,k=64", first);
  put("m=1..1024,n=64,k=64,layout=2", second);
  const auto configuration = [&](const std::optional<PortfolioPick>& one) { return text(spec.parameters, one.value().configuration); };
  CHECK(configuration(chosen(1, 1)) == first);
  CHECK(configuration(chosen(1, 3)) == first);
  CHECK(chosen(1, 3)->prediction.made_for == "activation=1");
  CHECK(configuration(chosen(2, 3)) == second);
  CHECK(configuration(chosen(4, 1)) == second);  // a factor of two, not of four
  CHECK(chosen(4, 3)->prediction.made_for == "layout=2, activation=1");

  // One that is expected to be far behind does not keep what differs a little more from serving, one that is a little behind does.
  put("m=1..1024,n=64,k=64", first, 1.02);
  CHECK(chosen(1, 3)->prediction.made_for == "activation=1");
  put("m=1..1024,n=64,k=64", first, 1.5);
  CHECK(configuration(chosen(1, 3)) == second);
  CHECK(chosen(1, 3)->prediction.made_for == "layout=2, activation=1");
  CHECK(configuration(chosen(1, 1)) == first);

  // Of several that differ as much the newest one counts, whatever an older one promises.
  put("m=1..1024,n=64,k=64,layout=2", second, 3.0);
  CHECK(configuration(chosen(1, 3)) == first);

  // Either may serve, by what is expected of it: a program needs the members of both.
  const Implementation only{&spec, problem(1, 3)};
  std::string why;
  const auto all = portfolios_for("gemm", {&only, 1}, only.problem.shape, fixture.device, fixture.store.get(), why).value();
  REQUIRE(all.size() == 2);
  CHECK(all[0].members.front().configuration == first);
  CHECK(all[1].members.front().configuration == second);
}

TEST_CASE("what similar problems say counts only for kernels that come with Hone, and not under a purpose") {
  SimilarFixture fixture;
  CHECK(fixture.of_f16(30).source == Source::kPredicted);
  CHECK(fixture.of_f16(30, {.purpose = purpose_within(0.01)}).source == Source::kDefault);
  fixture.spec.source_hash = "a kernel of the user's own, under this name";
  fixture.made.sources["row_sum"] = fixture.spec.source_hash;
  fixture.put_bf16();
  CHECK(fixture.of_f16(30).source == Source::kDefault);
}

TEST_CASE("a record of a shape nearby comes before a portfolio for similar problems, one far away behind it") {
  const SimilarFixture fixture;
  fixture.record(fixture.f16(64), fixture.many);
  CHECK(fixture.of_f16(64).source == Source::kExact);
  CHECK(fixture.of_f16(200).source == Source::kNearest);
  CHECK(fixture.of_f16(20).source == Source::kNearest);
  CHECK(fixture.of_f16(8).source == Source::kPredicted);
  CHECK(fixture.of_f16(2000).source == Source::kPredicted);
}

TEST_CASE("why a portfolio for such problems was passed over is said also where one for similar problems serves") {
  SimilarFixture fixture;
  fixture.made.dtypes = "f16";
  fixture.made.sources["row_sum"] = "of yesterday";
  fixture.put_bf16();  // under f16, that is
  const Choice choice = fixture.of_f16(30);
  CHECK(choice.source == Source::kPredicted);
  CHECK(choice.prediction->made_for == "bf16");
  CHECK(contains(choice.why, "another version of row_sum"));
}

TEST_CASE("a member that was withdrawn from a problem does not serve it as one for similar problems") {
  const SimilarFixture fixture;
  REQUIRE(fixture.config(fixture.of_f16(30)) == fixture.few);
  fixture.record(fixture.f16(30), fixture.few);
  REQUIRE(fixture.store->set_record_state({1}, RecordState::kWithdrawn, "wrong").ok());
  CHECK(fixture.config(fixture.of_f16(30)) == fixture.many);
}

TEST_CASE("what differs in too much is not similar") {
  Portfolio made;
  made.dtypes = "bf16";
  const KernelSpec& spec = *find_builtin_kernel("attention_mma").value();
  made.range = parse_range(spec, "batch=1..8").value();
  const auto apart = [&](const char* shape, DType dtype) {
    return difference(made, dtype, make_problem(spec, dtype, parse_shape(spec, shape).value()).value().shape);
  };
  CHECK(apart("batch=2", DType::kBF16) == 0.0);
  CHECK(apart("batch=2", DType::kF16) == 0.25);
  CHECK(apart("head=64,causal=0", DType::kF16) == doctest::Approx(1.75 + 1.0 / 6));
  CHECK(apart("head=64,causal=0,packed=1", DType::kBF16) > 2.0);
  CHECK(apart("window=512", DType::kBF16) == 1.0);
  CHECK(apart("window=512,packed=1,varied=9", DType::kBF16) == 3.0);
  CHECK(difference_text(made, DType::kF16, make_problem(spec, DType::kF16, parse_shape(spec, "head=64,window=9").value()).value().shape) ==
        "bf16, head=128, window=0");
}

TEST_CASE("of an extent that is not given those portfolios count that have it as 0, and those that have not") {
  const KernelSpec& spec = **find_builtin_kernel("attention_wgmma");
  const auto windows = [&](const Shape& given) {
    const std::array<Implementation, 1> only{Implementation{&spec, make_problem(spec, DType::kBF16, given).value()}};
    std::string why, all;
    for (const Portfolio& one : portfolios_for("attention", only, given, test::hopper("NVIDIA H200"), nullptr, why).value()) {
      const auto axis = std::ranges::find(one.range.axes, "window", &RangeAxis::name);
      all += axis->most() == 0 ? "none " : "some ";
    }
    return all;
  };
  CHECK(contains(windows({}), "none"));
  CHECK(contains(windows({}), "some"));
  CHECK(windows({{"window", 0}}) == "none ");
  CHECK(windows({{"window", 512}}) == "some ");
}

TEST_CASE("attention with a window is served by what was measured without one") {
  const KernelSpec& spec = **find_builtin_kernel("attention_wgmma");
  const Shape shape = parse_shape(spec, "batch=2,heads=8,queries=32768,keys=32768,head=64,window=30000").value();
  const Choice choice = choose(spec, make_problem(spec, DType::kBF16, shape).value(), test::hopper("NVIDIA H200"), nullptr).value();
  REQUIRE(choice.prediction);
  CHECK(contains(choice.prediction->made_for, "window=0"));
}

}  // namespace hone
