#include "engine/tune/kernel_final.hpp"

#include <doctest/doctest.h>

namespace hone {
namespace {

/// A winner whose samples all take so long when it is timed again; `asked` counts how often it is.
KernelFinalist finalist(double us, double again_us, int& asked, bool by_graph = false) {
  Measurement measured;
  measured.median_us = us;
  measured.ci95_low_us = 0.99 * us;
  measured.ci95_high_us = 1.01 * us;
  measured.by_graph = by_graph;
  return {.measured = measured, .serves_already = false, .time_again = [again_us, &asked](double /*seconds*/, bool /*graphs*/) {
            ++asked;
            return Result<std::vector<double>>(std::vector<double>(8, again_us));
          }};
}

}  // namespace

TEST_CASE("kernels that lie close together are timed again, in turns, and what is far behind is not") {
  int first = 0, second = 0, far = 0;
  std::vector<KernelFinalist> finalists{finalist(10.0, 10.4, first), finalist(10.2, 10.1, second), finalist(20.0, 1.0, far)};
  REQUIRE(time_in_turns(finalists, 1.0).ok());
  CHECK(first == second);
  CHECK(first > 1);
  CHECK(far == 0);
  CHECK(finalists[0].measured.median_us == 10.4);
  CHECK(finalists[1].measured.median_us == 10.1);
  CHECK(finalists[2].measured.median_us == 20.0);
  CHECK(pick(finalists) == 1);
}

TEST_CASE("what the comparison may take is shared by the kernels and their turns") {
  int asked = 0;
  double spent = 0.0;
  std::vector<KernelFinalist> finalists{finalist(10.0, 10.0, asked), finalist(10.1, 10.1, asked)};
  for (KernelFinalist& one : finalists) {
    one.time_again = [&spent](double seconds, bool /*graphs*/) {
      spent += seconds;
      return Result<std::vector<double>>(std::vector<double>(8, 10.0));
    };
  }
  REQUIRE(time_in_turns(finalists, 0.3).ok());
  CHECK(spent == doctest::Approx(0.3));
  spent = 0.0;
  REQUIRE(time_in_turns(finalists, 60.0).ok());
  CHECK(spent < 1.0);  // more tells no more
}

TEST_CASE("one kernel alone is not timed again") {
  int asked = 0;
  std::vector<KernelFinalist> finalists{finalist(10.0, 1.0, asked)};
  REQUIRE(time_in_turns(finalists, 1.0).ok());
  CHECK(asked == 0);
  CHECK(pick(finalists) == 0);
  CHECK_FALSE(pick({}).has_value());
}

TEST_CASE("kernels are compared as calls of a graph as soon as one of them was measured so") {
  int first = 0, second = 0;
  std::vector<KernelFinalist> finalists{finalist(10.0, 10.0, first, true), finalist(10.1, 10.1, second)};
  bool graphs = false;
  finalists[1].time_again = [&graphs](double /*seconds*/, bool as_graph) {
    graphs = as_graph;
    return Result<std::vector<double>>(std::vector<double>(8, 9.0));
  };
  REQUIRE(time_in_turns(finalists, 1.0).ok());
  CHECK(graphs);
  CHECK(finalists[1].measured.by_graph);
}

TEST_CASE("where a kernel cannot be timed again all keep what they had, and a session that is stopped ends") {
  int asked = 0;
  std::vector<KernelFinalist> finalists{finalist(10.0, 11.0, asked), finalist(10.1, 9.0, asked)};
  finalists[1].time_again = [](double, bool) { return Result<std::vector<double>>(Error{ErrorCode::kDevice, "the device is gone"}); };
  REQUIRE(time_in_turns(finalists, 1.0).ok());
  CHECK(finalists[0].measured.median_us == 10.0);
  CHECK(pick(finalists) == 0);
  finalists[1].time_again = [](double, bool) { return Result<std::vector<double>>(Error{ErrorCode::kCancelled, "stopped"}); };
  CHECK(time_in_turns(finalists, 1.0).error().code == ErrorCode::kCancelled);
}

TEST_CASE("the kernel that serves already stays where it cannot be told from the fastest") {
  int asked = 0;
  std::vector<KernelFinalist> finalists{finalist(10.0, 10.0, asked), finalist(10.15, 10.15, asked), finalist(12.0, 12.0, asked)};
  finalists[1].serves_already = true;
  CHECK(pick(finalists) == 1);
  finalists[1].serves_already = false;
  finalists[2].serves_already = true;
  CHECK(pick(finalists) == 0);
}

}  // namespace hone
