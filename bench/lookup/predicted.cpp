#include "bench/lookup/predicted.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/kernel/operation.hpp"
#include "engine/store/portfolio_lookup.hpp"
#include "engine/store/shape_range.hpp"
#include "tests/hopper.hpp"

namespace hone::bench {
namespace {

constexpr std::uint64_t kShapes = 200;

Result<nlohmann::json> lookups_of(const Portfolio& portfolio, const DeviceInfo& device) {
  HONE_ASSIGN(const Operation operation, find_operation(portfolio.operation));
  HONE_ASSIGN(const DTypes dtypes, parse_dtypes(portfolio.dtypes));
  std::vector<double> ms;
  for (std::uint64_t i = 0; i < kShapes; ++i) {
    std::vector<Implementation> able;
    for (const KernelSpec* const spec : operation.implementations) {
      if (Result<Problem> problem = make_problem(*spec, dtypes, draw(portfolio.range, i))) {
        able.push_back({spec, *std::move(problem)});
      }
    }
    std::string why;
    const auto start = std::chrono::steady_clock::now();
    HONE_TRY(pick_from_portfolios(portfolio.operation, able, device, nullptr, Lookup(), Match::kSame, why));
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::ranges::sort(ms);
  return nlohmann::json{{"portfolio", portfolio.operation + " " + portfolio.dtypes + " " + text(portfolio.range)},
                        {"members", portfolio.members.size()},
                        {"median_ms", ms[kShapes / 2]},
                        {"nine_tenths_ms", ms[kShapes * 9 / 10]}};
}

}  // namespace

Result<nlohmann::json> predicted_lookups() {
  const DeviceInfo device = test::hopper("NVIDIA H200");
  nlohmann::json all = nlohmann::json::array();
  for (const auto& one : shipped_portfolios(device)) {
    static_cast<void>(one->rule());  // made by the first lookup, and kept
    HONE_ASSIGN(nlohmann::json row, lookups_of(one->portfolio(), device));
    all.push_back(std::move(row));
  }
  return all;
}

}  // namespace hone::bench
