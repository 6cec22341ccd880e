#include <doctest/doctest.h>

#include <limits>

#include "engine/store/store.hpp"

namespace hone {
namespace {

Record measured(double low, double high) {
  Record record;
  record.measurement = {.samples_us = {low, high}, .median_us = (low + high) / 2, .ci95_low_us = low, .ci95_high_us = high};
  return record;
}

}  // namespace

TEST_CASE("a record changes hands where the intervals part and the new one is faster") {
  CHECK(replaces(measured(8, 9), measured(10, 11)));
  CHECK_FALSE(replaces(measured(10, 11), measured(8, 9)));
  CHECK_FALSE(replaces(measured(9, 10.5), measured(10, 11)));
  CHECK_FALSE(replaces(measured(8, 10), measured(10, 11)));  // they touch
  CHECK_FALSE(replaces(measured(10, 11), measured(10, 11)));
}

TEST_CASE("calls and graphs of calls are not compared") {
  Record graph = measured(1, 2);
  graph.measurement.by_graph = true;
  CHECK_FALSE(replaces(graph, measured(10, 11)));
  CHECK_FALSE(replaces(measured(1, 2), [&] {
    graph.measurement.ci95_low_us = 10;
    return graph;
  }()));
}

TEST_CASE("what was never timed gives way, and what has no interval takes nothing") {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  CHECK(replaces(measured(8, 9), measured(0, 0)));
  CHECK(replaces(measured(8, 9), measured(kNone, kNone)));
  CHECK_FALSE(replaces(measured(kNone, kNone), measured(8, 9)));
}

}  // namespace hone
