#include "engine/tune/stage_limits.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace hone {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

wire::Stage stage(const char* name) { return {.name = name}; }
wire::Stage reference() { return {.kind = wire::Stage::Kind::kReference, .name = "the reference f"}; }

}  // namespace

TEST_CASE("before the default has shown what is normal, the budget says how long a stage may take, within bounds") {
  CHECK(StageLimits(false, 60.0).stage(stage("validating"), kForever) == 60.0);
  CHECK(StageLimits(false, 1.0).stage(stage("validating"), kForever) == 30.0);
  CHECK(StageLimits(false, std::nullopt).stage(stage("validating"), kForever) == 300.0);
  CHECK(StageLimits(false, 60.0).stage({.name = "validating", .within = 2.0}, kForever) == 2.0);
}

TEST_CASE("a stage gets several times what the default took for it, between a floor and a share of what is left") {
  StageLimits limits(false, 60.0);
  limits.learn(stage("validating"), 0.01);
  limits.learn(stage("timing"), 0.5);
  limits.learnt(0.6);
  CHECK(limits.stage(stage("validating"), kForever) == limits.floor());
  CHECK(limits.floor() < 0.5);  // a hang costs less than a second
  const double timing = limits.stage(stage("timing"), kForever);
  CHECK(timing > 1.0);
  CHECK(timing < 10.0);
  CHECK(limits.stage(stage("what the default did not do"), kForever) == timing);
  CHECK(limits.stage(stage("timing"), 12.0) == 3.0);
  CHECK(limits.stage(stage("timing"), 0.0) == 2.0);  // the default itself is in the final round, which may do it twice
  CHECK(limits.stage(stage("validating"), 0.0) == limits.floor());
}

TEST_CASE("what the worker expects of a piece of timing replaces what the default took for all of it") {
  StageLimits limits(false, 60.0);
  limits.learn(stage("timing"), 0.5);
  limits.learnt(0.6);
  CHECK(limits.stage({.name = "timing", .expected = 0.1}, kForever) < 1.0);
  CHECK(limits.stage({.name = "timing", .expected = 1e9}, 20.0) == 5.0);  // made up
}

TEST_CASE("a device that is the host's own cores has a higher floor") {
  CHECK(StageLimits(true, 60.0).floor() > StageLimits(false, 60.0).floor());
}

TEST_CASE("the reference has limits of its own, which no candidate changes") {
  StageLimits limits(false, 60.0);
  CHECK(limits.stage(reference(), kForever) == 60.0);
  limits.learn(reference(), 2.0);
  limits.learn(stage("validating"), 0.001);
  limits.learnt(0.01);
  CHECK(limits.stage(reference(), kForever) == 20.0);
  CHECK(limits.stage(reference(), 1.0) == 4.0);  // it has shown that it needs two
  CHECK(limits.stage(stage("validating"), kForever) == limits.floor());
  CHECK(limits.trial(kForever) > 2.0);  // new inputs need it once more
}

TEST_CASE("the reference of a small problem does not limit that of the user's") {
  StageLimits limits(false, 60.0);
  const wire::Stage small{.kind = wire::Stage::Kind::kReference, .name = "the reference f on n=64"};
  limits.learn(small, 0.001);
  CHECK(limits.stage(reference(), kForever) == 60.0);
  limits.learn(reference(), 2.0);
  limits.learnt(0.01);
  const wire::Stage another{.kind = wire::Stage::Kind::kReference, .name = "the reference f on n=128"};
  CHECK(limits.stage(another, kForever) == 20.0);  // a problem that is made later is smaller than the user's
}

TEST_CASE("beside a process that runs the reference, a stage gets the time of all references and more") {
  StageLimits limits(false, 60.0);
  limits.learn(stage("validating"), 0.01);
  limits.learnt(0.1);
  CHECK(limits.beside_reference() > 2.0 * limits.floor());
  CHECK(limits.beside_reference() < 2.0);  // a hang there costs less than two seconds
  limits.learn(reference(), 3.0);
  limits.learn({.kind = wire::Stage::Kind::kReference, .name = "the reference of another problem"}, 1.0);
  CHECK(limits.beside_reference() > 2.0 * 4.0);
}

TEST_CASE("a whole trial gets at most half of what is left") {
  StageLimits limits(false, 60.0);
  limits.learn(stage("timing"), 3.0);
  limits.learnt(3.0);
  CHECK(limits.trial(10.0) == 5.0);
}

TEST_CASE("while buffers are filled, the reference of a small problem says nothing of the large one's") {
  StageLimits limits(false, 60.0);
  limits.learnt(0.1);  // in an earlier part of the session
  const wire::Stage small{.kind = wire::Stage::Kind::kReference, .name = "the reference on n=8"};
  const wire::Stage large{.kind = wire::Stage::Kind::kReference, .name = "the reference on n=8000"};
  limits.learn(small, 0.001);
  CHECK(limits.preparing(small) == limits.floor());
  CHECK(limits.preparing(large) == limits.patience());
  limits.learn(large, 2.0);
  CHECK(limits.preparing(large) == doctest::Approx(20.0));
  CHECK(limits.preparing(stage("opening")) == limits.patience());
}

}  // namespace hone
