// Portfolios in a store, and when a lookup uses them.
#include "engine/store/portfolio_lookup.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/store/operation_lookup.hpp"
#include "engine/store/shipped_portfolios.hpp"
#include "tests/portfolio_cells.hpp"
#include "tests/runtime/engine_fixture.hpp"
#include "tests/runtime/portfolio_fixture.hpp"
#include "tests/shipped_portfolio.hpp"

namespace hone {
namespace {

using test::contains;
using test::Folder;
using test::PortfolioFixture;
using test::Shipped;

}  // namespace

TEST_CASE("a portfolio serves a shape that nobody tuned, and says what it expects") {
  const PortfolioFixture fixture;
  CHECK(fixture.chosen(30).source == Source::kDefault);
  const std::int64_t generation = fixture.put();
  const Choice few = fixture.chosen(30), many = fixture.chosen(2000);
  CHECK(few.source == Source::kPredicted);
  CHECK(fixture.config(few) == fixture.few);
  CHECK(fixture.config(many) == fixture.many);
  REQUIRE(few.prediction);
  CHECK(few.prediction->generation == generation);
  CHECK_FALSE(few.prediction->shipped);
  CHECK(few.prediction->slowdown >= 1.0);
  CHECK(few.prediction->doubt > 0.0);
  CHECK_FALSE(few.record);
  CHECK(fixture.chosen(30, 64, {.portfolios = false}).source == Source::kDefault);
}

TEST_CASE("a record of the problem itself comes before a portfolio, and a portfolio before the nearest record") {
  const PortfolioFixture fixture;
  fixture.record(30);
  CHECK(fixture.chosen(31).source == Source::kNearest);
  fixture.put();
  CHECK(fixture.chosen(30).source == Source::kExact);
  CHECK(fixture.chosen(31).source == Source::kPredicted);
  CHECK(fixture.config(fixture.chosen(31)) == fixture.few);
}

TEST_CASE("outside of its range a portfolio serves as for similar problems, with more doubt the further it is, and far from it not") {
  const PortfolioFixture fixture;
  fixture.put();
  const Choice near = fixture.chosen(8000), outside = fixture.chosen(9000), further = fixture.chosen(200000);
  REQUIRE(near.prediction);
  REQUIRE(outside.prediction);
  REQUIRE(further.prediction);
  CHECK(fixture.config(outside) == fixture.many);
  CHECK(near.prediction->made_for.empty());
  CHECK(outside.prediction->made_for == "rows=1..4096");
  CHECK(outside.prediction->doubt > near.prediction->doubt + 0.05);
  CHECK(further.prediction->doubt > outside.prediction->doubt);
  CHECK(outside.prediction->wants_tuning());
  CHECK(fixture.chosen(4096 * 65).source == Source::kDefault);
  const Choice beside = fixture.chosen(4096, 100), wide = fixture.chosen(4096, 1000);
  REQUIRE(beside.prediction);
  REQUIRE(wide.prediction);
  CHECK(beside.prediction->made_for.empty());
  CHECK(wide.prediction->made_for == "cols=64");
  CHECK(fixture.chosen(9000, 64, {.purpose = purpose_within(0.01)}).source == Source::kDefault);
  CHECK(fixture.chosen(4096, 64 * 65).source == Source::kDefault);

  fixture.record(12000);  // what is near comes first
  CHECK(fixture.chosen(9000).source == Source::kNearest);
  CHECK(fixture.chosen(8000).source == Source::kPredicted);
  CHECK(fixture.chosen(200000).source == Source::kPredicted);
}

TEST_CASE("outside of its range a portfolio serves problems of a kernel of one's own, too: its code is the same") {
  PortfolioFixture fixture;
  fixture.spec.source_hash = fixture.made.sources["row_sum"] = "of one's own";
  fixture.put();
  CHECK(fixture.chosen(30).source == Source::kPredicted);
  CHECK(fixture.chosen(9000).source == Source::kPredicted);
}

TEST_CASE("a portfolio of another version of a kernel is passed over, and why is said") {
  PortfolioFixture fixture;
  fixture.made.sources["row_sum"] = "of yesterday";
  fixture.put();
  const Choice choice = fixture.chosen(30);
  CHECK(choice.source == Source::kDefault);
  CHECK(contains(choice.why, "another version of row_sum"));

  PortfolioFixture other;  // whose problems had one more field
  other.made.sources["row_sum"] = "of yesterday";
  other.made.range.axes.push_back({"depth", {{0, 0}}, true});
  for (PortfolioPoint& point : other.made.points) {
    point.shape.emplace_back("depth", 0);
  }
  other.put();
  CHECK(other.chosen(30).source == Source::kDefault);
  CHECK(contains(other.chosen(30).why, "another version of row_sum"));
}

TEST_CASE("a member that is not legal for a problem is passed over") {
  PortfolioFixture fixture;
  fixture.spec.constraints.push_back({Expression::constant(true), "always", 1});
  fixture.put();
  REQUIRE(fixture.config(fixture.chosen(30)) == fixture.few);
  // Whatever distinguishes the two members: forbid the first one's value.
  const Configuration few = parse_configuration(fixture.spec.parameters, fixture.few).value();
  const Configuration many = parse_configuration(fixture.spec.parameters, fixture.many).value();
  for (std::size_t i = 0; i < few.values.size(); ++i) {
    if (!(few.values[i] == many.values[i])) {
      fixture.spec.constraints.push_back(
          {Expression::make(Operator::kNotEqual,
                            {Expression::variable("c." + fixture.spec.parameters[i].name), Expression::constant(few.values[i])}),
           "not the first", 1});
      break;
    }
  }
  CHECK(fixture.config(fixture.chosen(30)) == fixture.many);
}

TEST_CASE("a portfolio is replaced, and its generation grows") {
  PortfolioFixture fixture;
  const std::int64_t first = fixture.put();
  std::swap(fixture.made.members[0], fixture.made.members[1]);
  const std::int64_t second = fixture.put();
  CHECK(second > first);
  CHECK(fixture.store->portfolios()->size() == 1);
  PortfolioKey other = fixture.key();
  other.dtypes = "bf16";
  CHECK(fixture.store->put_portfolio(other, text(fixture.made)).value() > second);
  CHECK(fixture.store->portfolios()->size() == 2);
  CHECK(fixture.store->find_portfolios(fixture.key())->size() == 1);
}

TEST_CASE("a portfolio is rolled back with the store, and was there or not") {
  PortfolioFixture fixture;
  fixture.record(7);
  const std::int64_t before = fixture.store->generation().value();
  const std::int64_t first = fixture.put();
  std::swap(fixture.made.members[0], fixture.made.members[1]);
  fixture.put();
  CHECK(fixture.config(fixture.chosen(30)) == fixture.many);
  REQUIRE(fixture.store->roll_back(first, "").ok());
  CHECK(fixture.config(fixture.chosen(30)) == fixture.few);
  REQUIRE(fixture.store->roll_back(before, "").ok());
  CHECK(fixture.chosen(30).source == Source::kNearest);
  CHECK(fixture.store->portfolios()->empty());
}

TEST_CASE("a member that was withdrawn from a problem does not serve it") {
  const PortfolioFixture fixture;
  fixture.record(3000);
  fixture.put();
  REQUIRE(fixture.store->set_record_state({1}, RecordState::kWithdrawn, "wrong").ok());
  const Choice choice = fixture.chosen(3000);
  CHECK(choice.source == Source::kPredicted);
  CHECK(fixture.config(choice) == fixture.few);
  CHECK(fixture.config(fixture.chosen(3001)) == fixture.many);
}

TEST_CASE("portfolios of several ranges stand side by side: the newest that holds a shape serves it, else the nearest") {
  PortfolioFixture fixture;
  const std::int64_t wide = fixture.put();
  const ShapeRange all = fixture.made.range;
  fixture.made.range = parse_range(fixture.spec, "rows=1..64,cols=64").value();
  const std::int64_t narrow = fixture.put();
  CHECK(fixture.store->portfolios()->size() == 2);
  CHECK(fixture.chosen(30).prediction->generation == narrow);
  CHECK(fixture.chosen(100).prediction->generation == wide);  // near the narrow one, in the wide one
  CHECK(fixture.chosen(2000).prediction->generation == wide);
  fixture.made.range = all;
  const std::int64_t newer = fixture.put();
  CHECK(fixture.store->portfolios()->size() == 2);
  CHECK(fixture.chosen(30).prediction->generation == newer);
  REQUIRE(fixture.store->roll_back(wide, "").ok());
  CHECK(fixture.store->portfolios()->size() == 1);
  CHECK(fixture.chosen(30).source == Source::kPredicted);
}

TEST_CASE("an operation gets the member of whichever kernel is expected to be fastest") {
  PortfolioFixture fixture;
  KernelSpec other = fixture.spec;
  other.name = "other_sum";
  other.operation = fixture.spec.operation = "row_sum";
  const Operation operation{"row_sum", {&fixture.spec, &other}, &fixture.spec};
  fixture.made.members[1].kernel = "other_sum";
  fixture.made.sources["other_sum"] = other.source_hash;
  fixture.put();
  const auto serving = [&](std::int64_t rows) {
    return choose(operation, fixture.problem(rows), fixture.device, fixture.store.get()).value();
  };
  CHECK(serving(10).spec->name == "row_sum");
  CHECK(serving(3000).spec->name == "other_sum");
  CHECK(serving(3000).choice.source == Source::kPredicted);
  fixture.record(3000);
  CHECK(serving(3000).spec->name == "row_sum");
  CHECK(serving(3000).choice.source == Source::kExact);
}

TEST_CASE("an engine launches what a portfolio predicts") {
  const Folder folder;
  PortfolioFixture fixture;
  {
    const auto own = open_store(folder / "S.db", StoreMode::kReadWrite).value();
    REQUIRE(own->put_portfolio(fixture.key(), text(fixture.made)).ok());
  }
  Engine engine = test::cpu_engine(folder / "S.db");
  const Kernel kernel = engine.kernel("row_sum", DType::kF32, {{"rows", 20}, {"cols", 64}}).value();
  CHECK(kernel.source() == Source::kPredicted);
  CHECK(kernel.configuration_text() == fixture.few);
  REQUIRE(kernel.prediction());
  CHECK(kernel.prediction()->slowdown < 1.3);
  CHECK(name(kernel.source()) == "predicted");
}

TEST_CASE("without a compiler what is predicted and not compiled gives way to the nearest record, which has code") {
  const Folder folder;
  const PortfolioFixture fixture;
  test::make_tuned_store(folder / "S.db", {}, fixture.spec, {{"rows", 20}, {"cols", 64}});
  REQUIRE(open_store(folder / "S.db", StoreMode::kReadWrite).value()->put_portfolio(fixture.key(), text(fixture.made)).ok());
  Engine engine = test::cpu_engine(folder / "S.db");
  const test::Variable compiler("HONE_CXX", folder / "none");
  const Kernel kernel = engine.kernel("row_sum", DType::kF32, {{"rows", 21}, {"cols", 64}}).value();
  CHECK(kernel.source() == Source::kNearest);
  CHECK(contains(kernel.why(), fixture.few + " of row_sum was skipped"));
}

TEST_CASE("portfolios that come with Hone serve its product and lie below the user's store") {
  PortfolioFixture fixture;
  const Shipped own(fixture.made);
  fixture.made.product = "Abacus 3000";
  std::swap(fixture.made.members[0], fixture.made.members[1]);
  const Shipped elsewhere(fixture.made);
  const ReplacedShippedPortfolios replaced(std::array{own.span(), elsewhere.span()});
  REQUIRE(shipped_portfolio_texts().size() == 2);
  CHECK(shipped_portfolio_texts().front() == own.source);
  CHECK(shipped_portfolios(fixture.device).size() == 1);

  const Choice shipped = fixture.chosen(30);
  REQUIRE(shipped.prediction);
  CHECK(shipped.source == Source::kPredicted);
  CHECK(shipped.prediction->shipped);
  CHECK(fixture.config(shipped) == fixture.few);
  CHECK(choose(fixture.spec, fixture.problem(30), fixture.device, nullptr).value().prediction->shipped);
  CHECK(fixture.chosen(30, 64, {.purpose = purpose_within(0.01)}).source == Source::kDefault);
  fixture.made.product = fixture.device.product;
  fixture.put();  // the user's own says otherwise
  CHECK_FALSE(fixture.chosen(30).prediction->shipped);
  CHECK(fixture.config(fixture.chosen(30)) == fixture.many);
  fixture.record(30);
  CHECK(fixture.chosen(30).source == Source::kExact);
}

TEST_CASE("where none was made on the product, a portfolio of its architecture that came with Hone serves, and says so") {
  PortfolioFixture fixture;
  const DeviceInfo own = fixture.device;
  fixture.device.product = "Abacus 3000 SE";
  fixture.made.product = "Abacus 2000";
  fixture.made.architecture = own.architecture;
  const Shipped other(fixture.made);
  fixture.made.product = "Abacus 3000";
  std::swap(fixture.made.members[0], fixture.made.members[1]);
  const Shipped like(fixture.made);
  fixture.made.product = "Slide rule";
  fixture.made.architecture = "sm_1";
  const Shipped foreign(fixture.made);
  const ReplacedShippedPortfolios replaced(std::array{other.span(), like.span(), foreign.span()});

  const Choice choice = fixture.chosen(30);
  CHECK(choice.source == Source::kPredicted);
  CHECK(fixture.config(choice) == fixture.many);  // of the two, what is named more like it
  REQUIRE(choice.prediction);
  CHECK(choice.prediction->shipped);
  CHECK(choice.prediction->product == "Abacus 3000");
  CHECK(choice.prediction->doubt > 0.2);
  CHECK(choice.prediction->wants_tuning());
  CHECK(choice.why.empty());
  const auto serving = [&] {
    std::vector<std::string> products;
    for (const auto& one : shipped_portfolios(fixture.device)) {
      products.push_back(one->portfolio().product);
    }
    return products;
  };
  CHECK(serving() == std::vector<std::string>{"Abacus 3000"});
  fixture.device.mig_profile = "1g.10gb";  // a part of a product has none of its own either
  CHECK(fixture.chosen(30).prediction->product == "Abacus 3000");
  fixture.device.mig_profile = "";
  fixture.device.product = "Abacus 2000";
  CHECK(fixture.chosen(30).prediction->product == "Abacus 2000");
  CHECK(fixture.config(fixture.chosen(30)) == fixture.few);
  for (const char* const unlike : {"Abacus 300", "Abacus", "Tally sticks"}) {  // words count, not letters; then the products' names decide
    fixture.device.product = unlike;
    CHECK(fixture.chosen(30).prediction->product == "Abacus 2000");
  }
  fixture.device.architecture = "abacus";
  fixture.device.product = "Abacus 3000 SE";
  CHECK(fixture.chosen(30).source == Source::kDefault);
  fixture.device = own;
  CHECK(serving().size() == 1);
  fixture.made.product = own.product;
  fixture.put();  // the user's own comes first
  CHECK_FALSE(fixture.chosen(30).prediction->shipped);
}

TEST_CASE("what was measured on other products of the architecture counts where the own portfolio knows less") {
  PortfolioFixture fixture;
  fixture.made.architecture = fixture.device.architecture;
  Portfolio own = fixture.made;
  own.members.resize(1);  // the one for few rows
  for (PortfolioPoint& point : own.points) {
    point.best_us *= point.cells.front().slowdown;
    point.cells = test::cells({1.0});
  }
  const Shipped alone(own);
  fixture.made.product = "Abacus 3000";
  std::swap(fixture.made.members[0], fixture.made.members[1]);  // another order, and one that the own one has, too
  for (PortfolioPoint& point : fixture.made.points) {
    std::swap(point.cells[0].slowdown, point.cells[1].slowdown);
  }
  const Shipped relative(fixture.made);
  {
    const ReplacedShippedPortfolios replaced(std::array{alone.span()});
    CHECK(fixture.config(fixture.chosen(3000)) == fixture.few);
  }
  const ReplacedShippedPortfolios replaced(std::array{alone.span(), relative.span()});
  CHECK(fixture.config(fixture.chosen(3000)) == fixture.many);
  CHECK(fixture.config(fixture.chosen(3)) == fixture.few);
  CHECK(fixture.chosen(3000).prediction->product == own.product);
  REQUIRE(shipped_portfolios(fixture.device).size() == 1);
  CHECK(shipped_portfolios(fixture.device).front()->portfolio().members.size() == 2);
}

TEST_CASE("a search begins with the members of portfolios that came with Hone, of whichever product, the most alike product's first") {
  PortfolioFixture fixture;
  fixture.made.product = "Abacus 3000";
  const Shipped elsewhere(fixture.made);
  const ReplacedShippedPortfolios replaced(std::array{elsewhere.span()});
  CHECK(fixture.chosen(30).source == Source::kDefault);
  const auto first = [&](std::int64_t rows, std::size_t most) {
    std::vector<std::string> all;
    for (const Configuration& one : shipped_proposals(fixture.spec, fixture.problem(rows), fixture.device, most)) {
      all.push_back(text(fixture.spec.parameters, one));
    }
    return all;
  };
  CHECK(first(30, 4) == std::vector<std::string>{fixture.few, fixture.many});
  CHECK(first(3000, 1) == std::vector<std::string>{fixture.many});
  CHECK(shipped_proposals(**find_builtin_kernel("softmax"), fixture.problem(30), fixture.device, 4).empty());
}

TEST_CASE("a portfolio that came with Hone and is damaged is found when it is read") {
  PortfolioFixture fixture;
  Shipped cut(fixture.made), damaged(fixture.made);
  cut.compressed.resize(20);
  CHECK_THROWS_AS(ReplacedShippedPortfolios(std::array{cut.span()}), ContractError);  // what it is for cannot be read
  damaged.compressed.resize(damaged.compressed.size() - 12);                          // its first lines can be read
  fixture.made.operation = "softmax";
  const Shipped whole(fixture.made);
  const ReplacedShippedPortfolios replaced(std::array{damaged.span(), whole.span()});
  CHECK_THROWS_AS(static_cast<void>(fixture.chosen(30)), ContractError);
  CHECK(
      shipped_proposals(**find_builtin_kernel("softmax"), fixture.problem(30), fixture.device, 4).empty());  // it reads the whole one alone
}

TEST_CASE("what came with Hone is read when a kernel is bound, of that kernel alone and not at its first lookup") {
  PortfolioFixture fixture;
  fixture.made.architecture = fixture.device.architecture;
  Shipped damaged(fixture.made);  // which whoever reads it finds
  damaged.compressed.resize(damaged.compressed.size() - 12);
  const ReplacedShippedPortfolios replaced(std::array{damaged.span()});
  const Folder folder;
  Engine engine = test::cpu_engine(folder / "S.db");
  CHECK_THROWS_AS(static_cast<void>(engine.bind("row_sum", DType::kF32, {"rows"}, {{"cols", 64}})), ContractError);
  CHECK(engine.bind("softmax", DType::kF32, {"rows"}, {{"cols", 64}}).ok());
  CHECK(engine.bind("row_sum", DType::kBF16, {"rows"}, {{"cols", 64}}).ok());
}

TEST_CASE("an engine of an earlier generation knows no later portfolio, of such problems or of similar ones") {
  PortfolioFixture fixture;
  fixture.record(7);  // so that the store has a generation
  const auto earlier = fixture.store_as({.generation = fixture.store->generation().value()});
  fixture.put();
  const auto served = [&](DType dtype, Store* store) {
    const Problem problem = make_problem(fixture.spec, dtype, {{"rows", 30}, {"cols", 64}}).value();
    return choose(fixture.spec, problem, fixture.device, store).value().source;
  };
  CHECK(served(DType::kF32, fixture.store.get()) == Source::kPredicted);
  CHECK(served(DType::kF32, earlier.get()) == Source::kNearest);
  fixture.made.dtypes = "bf16";
  PortfolioKey key = fixture.key();
  key.dtypes = "bf16";
  REQUIRE(fixture.store->put_portfolio(key, text(fixture.made)).ok());
  CHECK(served(DType::kF16, fixture.store.get()) == Source::kPredicted);
  CHECK(served(DType::kF16, earlier.get()) == Source::kDefault);
}

TEST_CASE("an engine of approved records alone knows no portfolio of the store, but those that came with Hone") {
  PortfolioFixture fixture;
  fixture.put();
  fixture.record(7);
  const auto approved = fixture.store_as({.approved_only = true});
  const auto chosen = [&](std::int64_t rows) {
    return choose(fixture.spec, fixture.problem(rows), fixture.device, approved.get()).value();
  };
  CHECK(chosen(30).source == Source::kDefault);
  CHECK(chosen(7).source == Source::kDefault);
  const Shipped shipped(fixture.made);
  const ReplacedShippedPortfolios replaced(std::array{shipped.span()});
  CHECK(chosen(30).source == Source::kPredicted);
  CHECK(chosen(30).prediction->shipped);
  REQUIRE(fixture.store->set_record_state({1}, RecordState::kApproved, "").ok());
  CHECK(chosen(7).source == Source::kExact);
  CHECK(chosen(30).source == Source::kPredicted);
}

}  // namespace hone
