#pragma once
// Several activities that a budget is spent on in turn, each with a share of it.

#include <cstddef>
#include <functional>
#include <vector>

#include "hone/error.hpp"

namespace hone {

struct Activity {
  double share = 1.0;                  ///< of what is spent, that it may have while others have something to do
  std::function<Result<bool>()> turn;  ///< false: it has nothing to do now
};

class Spending {
 public:
  /// `spent`: so far, in whatever unit the budget has; what it grows by while an activity has its turn is charged to that.
  Spending(std::function<double()> spent, std::vector<Activity> activities);

  void set_share(std::size_t activity, double share) { activities_[activity].share = share; }
  /// A turn of the first that has had no more than its share and has something to do; where there is none, of the first of the others.
  /// False if nobody has anything to do. Errors: the activity's.
  Result<bool> next();

 private:
  std::function<double()> spent_;
  std::vector<Activity> activities_;
  std::vector<double> had_;  ///< by each, of spent_()
};

}  // namespace hone
