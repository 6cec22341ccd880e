#include <doctest/doctest.h>

#include <set>

#include "tests/measure/track.hpp"

using namespace hone;
using fake::Call;
using fake::FakeDevice;
using fake::FakeGraph;
using fake::FakeKernel;
using fake::kConfiguration;
using fake::taking;
using fake::Track;

TEST_CASE("what is short is timed by a graph of calls, what is long call by call") {
  Track track;
  const Measurement quick = track.time(taking(15.0));
  CHECK(quick.by_graph);
  CHECK(quick.median_us == 15.0 - FakeGraph::kLaunchUs);
  REQUIRE(track.device.graph_calls.size() == 1);
  CHECK(track.device.graph_calls.front() > 1);
  const Measurement slow = track.time(taking(21.0));
  CHECK_FALSE(slow.by_graph);
  CHECK(slow.median_us == 21.0);
}

TEST_CASE("what races against something short is timed as that was") {
  Track track;
  CHECK(track.time(taking(21.0), 19.5).by_graph);
  CHECK_FALSE(track.time(taking(21.0), 20.5).by_graph);
}

TEST_CASE("what lost before its graph is made has none") {
  Track track;
  const Measurement lost = track.time(taking(1000.0), 10.0);
  CHECK(lost.raced_out);
  CHECK_FALSE(lost.by_graph);
  CHECK(track.device.graph_calls.empty());
}

TEST_CASE("what a launch alone takes longer than one in a graph does not decide a race between the shortest") {
  Track track;
  CHECK(track.time(taking(4.0), 1.0).by_graph);
  const Measurement lost = track.time(taking(40.0), 1.0);
  CHECK(lost.raced_out);
  CHECK_FALSE(lost.by_graph);
}

TEST_CASE("a limit of 0 makes no graphs, and neither does a warm cache") {
  Track track;
  track.settings.graph_below_us = 0.0;
  CHECK_FALSE(track.time(taking(5.0)).by_graph);
  track.settings = {.maximum_seconds = 3600.0};
  track.settings.flush_cache = false;
  CHECK_FALSE(track.time(taking(5.0)).by_graph);
}

TEST_CASE("every call of a graph has memory of its own, with the same inputs, restored and zeroed before each run") {
  Track track({fake::argument("x", Direction::kIn, fake::n()), fake::argument("y", Direction::kInOut, fake::n()),
               fake::argument("count", Direction::kOut, fake::n(), true),
               fake::argument("scratch", Direction::kWorkspace, fake::n(), true)});
  track.device.reference = [](const Call& call) {
    call.pointer<double>(1)[99] += 1.0;
    call.pointer<double>(2)[99] += 1.0;
  };
  std::set<float*> inputs, outputs;
  std::optional<float> x, y;
  int dirty = 0;
  FakeKernel kernel([&](const Call& call) {
    inputs.insert(call.pointer<float>(0));
    outputs.insert(call.pointer<float>(2));
    x = x.value_or(call.pointer<float>(0)[99]);
    y = y.value_or(call.pointer<float>(1)[99]);
    dirty += call.pointer<float>(0)[99] != *x || call.pointer<float>(1)[99] != *y ? 1 : 0;
    dirty += call.pointer<float>(2)[99] != 0.0F || call.pointer<float>(3)[99] != 0.0F ? 1 : 0;
    for (const std::size_t written : {1, 2, 3}) {
      call.pointer<float>(written)[99] += 1.0F;
    }
  });
  kernel.time_us = [](int) { return 10.0; };
  CHECK(track.time(kernel).by_graph);
  CHECK(inputs.size() == track.device.graph_calls.front() + 1);  // and the warm-up's
  CHECK(outputs.size() == inputs.size());
  CHECK(dirty == 0);
}

TEST_CASE("a device without graphs times call by call, and is asked once") {
  Track track;
  track.device.has_graphs = false;
  const Measurement measured = track.time(taking(10.0));
  CHECK_FALSE(measured.by_graph);
  CHECK(measured.median_us == 10.0);
  track.device.has_graphs = true;
  CHECK_FALSE(track.time(taking(10.0)).by_graph);
}

TEST_CASE("without memory for the calls of a graph, calls are timed one by one") {
  Track track;
  track.device.largest_allocation = 16;
  CHECK_FALSE(track.time(taking(10.0)).by_graph);
}

TEST_CASE("finalists are timed alike: by graphs if one of them is short, except those that are far from it") {
  Track track;
  const FakeKernel quick = taking(19.0), near = taking(25.0), far = taking(900.0);
  const std::vector<Bench::Finalist> finalists{{&far, kConfiguration}, {&near, kConfiguration}, {&quick, kConfiguration}};
  const auto measured = *track.bench->time_interleaved(finalists, track.settings, 1, track.readings);
  CHECK_FALSE(measured[0].measurement.by_graph);
  CHECK(measured[1].measurement.by_graph);
  CHECK(measured[1].measurement.median_us == 25.0 - FakeGraph::kLaunchUs);
  CHECK(measured[2].measurement.by_graph);
}

TEST_CASE("finalists by graphs have workspaces that fit them all") {
  const Expression scratch = Expression::make(Operator::kMultiply, {Expression::variable("c.split"), fake::n()});
  Track track({fake::argument("x", Direction::kInOut, fake::n()), fake::argument("scratch", Direction::kWorkspace, scratch)});
  FakeKernel one([](const Call& call) { std::fill_n(call.pointer<float>(1), 100, 1.0F); });
  FakeKernel four([](const Call& call) { std::fill_n(call.pointer<float>(1), 400, 4.0F); });
  one.time_us = four.time_us = [](int) { return 10.0; };
  const std::vector<Bench::Finalist> finalists{{&one, kConfiguration}, {&four, Configuration{{Value(4)}}}};
  const auto measured = track.bench->time_interleaved(finalists, track.settings, 5, track.readings);
  REQUIRE(measured.ok());
  CHECK((*measured)[0].measurement.by_graph);
  CHECK((*measured)[1].measurement.by_graph);
}
