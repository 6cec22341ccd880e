#include "engine/tune/controls.hpp"

#include <doctest/doctest.h>

namespace hone {
namespace {

constexpr double kBound = 0.1, kSecond = 1.0;

/// Two devices of the same speed, which have run a control each.
Controls alike(std::size_t devices = 2) {
  Controls controls(devices, kBound);
  controls.set_reference(100.0);
  for (std::size_t device = 0; device < devices; ++device) {
    controls.ran(device, 100.0, kSecond);
  }
  return controls;
}

}  // namespace

TEST_CASE("a device's times are brought to those of the reference by the median of its last controls") {
  Controls controls(2, kBound);
  controls.ran(1, 104.0, kSecond);
  CHECK(controls.factor(1) == 1.0);  // nothing to compare with yet
  controls.set_reference(100.0);
  CHECK(controls.factor(0) == 1.0);
  CHECK(controls.factor(1) == doctest::Approx(100.0 / 104.0));
  controls.ran(1, 108.0, kSecond);
  controls.ran(1, 103.0, kSecond);
  CHECK(controls.factor(1) == doctest::Approx(100.0 / 104.0));
  controls.ran(1, 102.0, kSecond);  // the first is forgotten
  CHECK(controls.factor(1) == doctest::Approx(100.0 / 103.0));
}

TEST_CASE("a control is due at the start, and again when trials have taken many times as long as one") {
  Controls controls(2, kBound);
  CHECK(controls.due(0));
  CHECK(controls.is_new(0));
  controls.ran(0, 100.0, 3.0 * kSecond);
  CHECK_FALSE(controls.due(0));
  CHECK_FALSE(controls.is_new(0));
  controls.spent(0, 20.0 * kSecond);
  CHECK(controls.due(0));  // soon after the first, as devices warm up then
  controls.ran(0, 100.0, kSecond);
  controls.spent(0, 12.0 * kSecond);
  CHECK_FALSE(controls.due(0));
  controls.spent(0, 12.0 * kSecond);
  CHECK(controls.due(0));
  controls.ran(0, 100.0, kSecond);
  CHECK_FALSE(controls.due(0));
}

TEST_CASE("a device that is off twice running leaves, once the others were looked at too") {
  Controls controls = alike();
  controls.ran(1, 115.0, kSecond);
  CHECK_FALSE(controls.verdict(1));
  CHECK(controls.due(1));
  CHECK(controls.due(0));  // is it that one which has become faster?
  controls.ran(1, 114.0, kSecond);
  CHECK_FALSE(controls.verdict(1));
  controls.ran(0, 100.0, kSecond);
  REQUIRE(controls.verdict(1));
  CHECK(controls.verdict(1)->find("14 % longer") != std::string::npos);
  CHECK_FALSE(controls.verdict(0));
}

TEST_CASE("one disturbed control costs a device nothing") {
  Controls controls = alike();
  controls.ran(1, 150.0, kSecond);
  controls.ran(1, 101.0, kSecond);
  controls.ran(0, 100.0, kSecond);
  CHECK_FALSE(controls.verdict(1));
  CHECK_FALSE(controls.due(1));
  CHECK_FALSE(controls.due(0));
}

TEST_CASE("devices that all become slower alike stay together") {
  Controls controls = alike(3);
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t device : {0, 1, 2}) {
      controls.ran(device, 130.0, kSecond);
      CHECK_FALSE(controls.verdict(device));
    }
  }
  CHECK(controls.factor(1) == doctest::Approx(100.0 / 130.0));
}

TEST_CASE("a device that left is compared with no other") {
  Controls controls = alike();
  controls.ran(1, 120.0, kSecond);
  controls.ran(1, 120.0, kSecond);
  controls.leave(0);
  CHECK_FALSE(controls.verdict(1));
  CHECK_FALSE(controls.due(1));
}

TEST_CASE("a device on which the default fails twice running leaves") {
  Controls controls = alike();
  controls.failed(1, "wrong_result: element 3");
  CHECK_FALSE(controls.verdict(1));
  CHECK(controls.due(1));
  controls.failed(1, "wrong_result: element 3");
  REQUIRE(controls.verdict(1));
  CHECK(controls.verdict(1)->find("element 3") != std::string::npos);
  Controls recovers = alike();
  recovers.failed(1, "the worker was killed");
  recovers.ran(1, 100.0, kSecond);
  recovers.failed(1, "the worker was killed");
  CHECK_FALSE(recovers.verdict(1));
}

}  // namespace hone
