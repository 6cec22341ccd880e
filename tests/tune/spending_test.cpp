#include "engine/tune/spending.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace hone {
namespace {

/// Activities that note their name and cost one each, as long as they have something to do.
struct Spenders {
  double spent = 0.0;
  std::string order;

  Activity activity(char name, double share, int turns) {
    return {share, [this, name, left = turns]() mutable -> Result<bool> {
              if (left == 0) {
                return false;
              }
              --left;
              order += name;
              spent += 1.0;
              return true;
            }};
  }
  Spending spending(std::vector<Activity> activities) {
    return {[this] { return spent; }, std::move(activities)};
  }
  void run(Spending& spending, int turns) {
    for (int i = 0; i < turns; ++i) {
      REQUIRE(spending.next().ok());
    }
  }
};

}  // namespace

TEST_CASE("the first activity that has had no more than its share is next, and the last has the rest") {
  Spenders spenders;
  Spending spending =
      spenders.spending({spenders.activity('a', 0.5, 100), spenders.activity('b', 0.25, 100), spenders.activity('c', 1.0, 100)});
  spenders.run(spending, 80);
  CHECK(std::ranges::count(spenders.order, 'a') == doctest::Approx(40).epsilon(0.05));
  CHECK(std::ranges::count(spenders.order, 'b') == doctest::Approx(20).epsilon(0.05));
  CHECK(spenders.order.front() == 'a');
}

TEST_CASE("what others leave goes to those that have had their share") {
  Spenders spenders;
  Spending spending = spenders.spending({spenders.activity('a', 0.1, 6), spenders.activity('b', 1.0, 2)});
  spenders.run(spending, 8);
  CHECK(std::ranges::count(spenders.order, 'a') == 6);
  CHECK(std::ranges::count(spenders.order, 'b') == 2);
  const Result<bool> another = spending.next();
  REQUIRE(another.ok());
  CHECK_FALSE(*another);
}

TEST_CASE("a share can change, and an error of an activity is the answer") {
  Spenders spenders;
  Spending spending = spenders.spending({spenders.activity('a', 1.0, 100), {1.0, [] {
                                                                              return Result<bool>(Error{ErrorCode::kIo, "full"});
                                                                            }}});
  spenders.run(spending, 3);
  CHECK(spenders.order == "aaa");
  spending.set_share(0, 0.1);
  CHECK(spending.next().error().message == "full");
}

}  // namespace hone
