#pragma once
// A portfolio of row_sum on the cpu device, in a store of its own.

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/plugin/registry.hpp"
#include "engine/space/search_space.hpp"
#include "engine/store/lookup.hpp"
#include "engine/store/portfolio_lookup.hpp"
#include "tests/portfolio_cells.hpp"
#include "tests/runtime/engine_fixture.hpp"

namespace hone::test {

/// One member is fast for few rows, the other for many.
class PortfolioFixture {
 public:
  PortfolioFixture() : store(open_store(folder_ / "S.db", StoreMode::kReadWrite).value()) {
    made.operation = made.sources.begin()->first;
    made.dtypes = "f32";
    made.product = device.product;
    made.range = parse_range(spec, "rows=1..4096,cols=64").value();
    const Problem any = problem(8);
    const SearchSpace space = SearchSpace::build(spec.parameters, spec.constraints,
                                                 [&] {
                                                   Bindings bound = bindings(any);
                                                   bound.merge(bindings(device));
                                                   return bound;
                                                 }())
                                  .value();
    few = text(spec.parameters, space.at(0));
    many = text(spec.parameters, space.at(space.size() - 1));
    made.members = {{spec.name, few}, {spec.name, many}};
    made.rule = {.reach = {4.0}, .alignment = 0.0, .noise = 0.01};
    for (const std::int64_t rows : {1, 16, 64, 256, 1024, 4096}) {
      const bool is_few = rows < 128;
      made.points.push_back({{{"rows", rows}, {"cols", 64}}, 5.0, 5.0, test::cells({is_few ? 1.0 : 2.0, is_few ? 2.0 : 1.0})});
    }
  }

  [[nodiscard]] Problem problem(std::int64_t rows, std::int64_t cols = 64) const {
    return make_problem(spec, DType::kF32, {{"rows", rows}, {"cols", cols}}).value();
  }
  [[nodiscard]] PortfolioKey key() const {
    PortfolioKey key = portfolio_key(spec.name, DType::kF32, device);
    key.range = text(made.range);
    return key;
  }
  std::int64_t put() const { return store->put_portfolio(key(), text(made)).value(); }
  [[nodiscard]] std::unique_ptr<Store> store_as(StoreView view) const {
    return open_store(folder_ / "S.db", StoreMode::kReadOnly, Trust::kOwn, view).value();
  }
  [[nodiscard]] Choice chosen(std::int64_t rows, std::int64_t cols = 64, const Lookup& lookup = {}) const {
    return choose(spec, problem(rows, cols), device, store.get(), lookup).value();
  }
  [[nodiscard]] std::string config(const Choice& choice) const { return text(spec.parameters, choice.configuration); }

  void record(std::int64_t rows) const { record(problem(rows), many); }
  void record(const Problem& of, const std::string& configuration) const {
    const RecordKey exact = record_key(spec, of, device);
    Record record;
    record.configuration = parse_configuration(spec.parameters, configuration).value();
    record.configuration_text = configuration;
    record.measurement = {.samples_us = {1.0}, .median_us = 1.0, .ci95_low_us = 1.0, .ci95_high_us = 1.0};
    record.session = store->begin_session({exact, "random", "", 0}, "1trials").value();
    REQUIRE(store->finish_session(record.session, exact, record, 1.0).value());
  }

 private:
  Folder folder_;

 public:
  DeviceInfo device = builtin_registry().device("cpu").value().info;
  KernelSpec spec = *find_builtin_kernel("row_sum").value();
  Portfolio made{.operation = {},
                 .dtypes = {},
                 .product = {},
                 .sources = {{"row_sum", find_builtin_kernel("row_sum").value()->source_hash}},
                 .range = {},
                 .members = {},
                 .points = {},
                 .rule = {}};
  std::string few, many;
  std::unique_ptr<Store> store;
};

}  // namespace hone::test
