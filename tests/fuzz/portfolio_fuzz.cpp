// Portfolios, which come from stores that others have written: reading them, and what their rule makes of a shape.

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/store/portfolio_rule.hpp"
#include "tests/fuzz/mutate.hpp"

namespace {

using hone::Opinion;
using hone::fuzz::require;

constexpr std::size_t kMostWork = 4096;  // members times points: more takes long, and shows no more

void check_rule(const hone::Portfolio& portfolio) {
  if (portfolio.points.empty() || portfolio.members.size() * portfolio.points.size() > kMostWork) {
    return;
  }
  const hone::PortfolioRule rule(portfolio);
  for (const hone::PortfolioPoint* point : {&portfolio.points.front(), &portfolio.points.back()}) {
    std::vector<Opinion> opinions = rule.rank(point->shape, launches_at(*point, portfolio.members.size()));
    require(std::ranges::all_of(
                opinions, [](const Opinion& one) { return std::isfinite(one.slowdown) && std::isfinite(one.doubt) && one.doubt > 0.0; }),
            "what is thought of a member is a number");
    std::ranges::sort(opinions, {}, &Opinion::member);
    require(opinions.size() == portfolio.members.size(), "each member has its place");
    for (std::size_t i = 0; i < opinions.size(); ++i) {
      require(opinions[i].member == i, "and no more than one");
    }
  }
}

constexpr std::array<std::string_view, 33> kWords{
    "operation", "dtypes",    "product", "sources", "range",     "name",    "parts",   "exact", "rule",  "reach",    "noise",
    "spread",    "members",   "kernel",  "config",  "slowdowns", "best_us", "extents", "rows",  "toy",   "floor_us", "trials",
    "deviation", "alignment", "unlike",  "blocks",  "trees",     "columns", "borders", "base",  "steps", "tails",    "launches"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto portfolio = hone::parse_portfolio(hone::fuzz::text_of(data, size));
  if (!portfolio) {
    require(!portfolio.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  check_rule(*portfolio);
  const std::string written = text(*portfolio);
  const auto again = hone::parse_portfolio(written);
  require(again.ok(), "what is written can be read", again ? "" : again.error().message);
  require(text(*again) == written, "and is the same then", written);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  hone::fuzz::Random random(seed);
  return hone::fuzz::mutate_json_text(random, kWords, data, size, max_size, 5);
}
