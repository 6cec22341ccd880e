// Portfolios in a store.
#include "store_fixture.hpp"

using namespace hone;
using namespace hone::test;

namespace {

PortfolioKey softmax_of(std::string dtypes) {
  PortfolioKey key;
  key.operation = "softmax";
  key.device = "NVIDIA H200";
  key.dtypes = std::move(dtypes);
  return key;
}

}  // namespace

TEST_CASE("portfolios are found for dtypes, or for any") {
  Directory directory;
  auto store = must_open(directory.store());
  for (const char* const dtypes : {"bf16", "f16"}) {
    must(store->put_portfolio(softmax_of(dtypes), dtypes));
  }
  PortfolioKey key = softmax_of("f16");
  REQUIRE(must(store->find_portfolios(key)).size() == 1);
  CHECK(must(store->find_portfolios(key)).front().text == "f16");
  key.dtypes = "";
  CHECK(must(store->find_portfolios(key)).size() == 2);
  key.operation = "layernorm";
  CHECK(must(store->find_portfolios(key)).empty());
}

TEST_CASE("a portfolio that stands already is no change") {
  Directory directory;
  auto store = must_open(directory.store());
  const PortfolioKey key = softmax_of("f32");
  const std::int64_t first = must(store->put_portfolio(key, "a"));
  CHECK(must(store->put_portfolio(key, "a")) == first);
  CHECK(must(store->generation()) == first);
  const std::int64_t second = must(store->put_portfolio(key, "b"));
  CHECK(second > first);
  CHECK(must(store->put_portfolio(key, "a")) > second);  // what stood before is a change again
  PortfolioKey narrow = key;
  narrow.range = "m=1..8";
  const std::int64_t third = must(store->put_portfolio(narrow, "a"));
  CHECK(third > second);
  const std::int64_t fourth = must(store->put_portfolio(key, "a"));
  CHECK(fourth > third);  // the newest one serves what several hold
  PortfolioKey other = key;
  other.statics = "layout=2";
  must(store->put_portfolio(other, "a"));
  other = key;
  other.purpose.accuracy_bound = "relative=1e-3";
  must(store->put_portfolio(other, "a"));
  CHECK(must(store->put_portfolio(key, "a")) == fourth);            // these serve other problems
  const std::int64_t back = must(store->roll_back(third - 1, ""));  // of several ranges in one generation
  CHECK(must(store->put_portfolio(key, "a")) == back);
}
