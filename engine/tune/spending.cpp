#include "engine/tune/spending.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace hone {

Spending::Spending(std::function<double()> spent, std::vector<Activity> activities)
    : spent_(std::move(spent)), activities_(std::move(activities)), had_(activities_.size()) {}

Result<bool> Spending::next() {
  std::vector<std::size_t> order(activities_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_partition(order, [this, so_far = spent_()](std::size_t i) { return had_[i] <= activities_[i].share * so_far; });
  for (const std::size_t i : order) {
    const double before = spent_();
    HONE_ASSIGN(const bool done, activities_[i].turn());
    had_[i] += spent_() - before;
    if (done) {
      return true;
    }
  }
  return false;
}

}  // namespace hone
