// Portfolios in a store.
#include "store_fixture.hpp"

using namespace hone;
using namespace hone::test;

TEST_CASE("portfolios are found for dtypes, or for any") {
  Directory directory;
  auto store = must_open(directory.store());
  PortfolioKey key;
  key.operation = "softmax";
  key.device = "NVIDIA H200";
  for (const char* const dtypes : {"bf16", "f16"}) {
    key.dtypes = dtypes;
    must(store->put_portfolio(key, dtypes));
  }
  REQUIRE(must(store->find_portfolios(key)).size() == 1);
  CHECK(must(store->find_portfolios(key)).front().text == "f16");
  key.dtypes = "";
  CHECK(must(store->find_portfolios(key)).size() == 2);
  key.operation = "layernorm";
  CHECK(must(store->find_portfolios(key)).empty());
}
