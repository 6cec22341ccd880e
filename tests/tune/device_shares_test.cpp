#include "engine/tune/device_shares.hpp"

#include <doctest/doctest.h>

namespace hone {
namespace {

Trial trial_on(const std::string& device, Outcome outcome = Outcome::kOk, const std::string& final_device = "") {
  Trial trial;
  trial.device = device;
  trial.outcome = outcome;
  trial.final_device = final_device;
  return trial;
}

Control control_on(const std::string& device, double us, double factor, const std::string& left = "") {
  Control control{.device = device, .measurement = {}, .readings = {}, .factor = factor, .left = left};
  control.measurement.median_us = us;
  return control;
}

}  // namespace

TEST_CASE("a session's only device has all of it") {
  const std::vector<std::string> ids = split_device_ids("cpu");
  const std::vector<Trial> trials{trial_on(""), trial_on("", Outcome::kCompileError)};
  const std::vector<DeviceShare> shares = device_shares(ids, trials, {});
  REQUIRE(shares.size() == 1);
  CHECK(shares[0].id == "cpu");
  CHECK(shares[0].trials == 2);
  CHECK(shares[0].factor == 1.0);
}

TEST_CASE("each device has its trials, its controls and why it left") {
  const std::vector<std::string> ids = split_device_ids("cuda:0,cuda:1");
  CHECK(ids == std::vector<std::string>{"cuda:0", "cuda:1"});
  const std::vector<Trial> trials{trial_on("cuda:0", Outcome::kOk, "cuda:0"), trial_on("cuda:1", Outcome::kOk, "cuda:0"),
                                  trial_on("cuda:1"), trial_on("", Outcome::kCompileError)};
  const std::vector<Control> controls{control_on("cuda:0", 100.0, 1.0), control_on("cuda:1", 110.0, 0.91),
                                      control_on("cuda:1", 100.0, 0.95), control_on("cuda:1", 120.0, 0.9),
                                      control_on("cuda:1", 0.0, 0.9, "too hot")};
  const std::vector<DeviceShare> shares = device_shares(ids, trials, controls);
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].trials == 1);  // what did not compile was on no device
  CHECK(shares[1].trials == 2);
  CHECK(shares[0].final_round);
  CHECK_FALSE(shares[1].final_round);
  CHECK(shares[1].controls == 3);
  CHECK(shares[1].control_us == 110.0);
  CHECK(shares[1].spread == doctest::Approx(0.2));
  CHECK(shares[1].factor == 0.9);
  CHECK(shares[1].left == "too hot");
  CHECK(shares[0].left.empty());
}

TEST_CASE("a device that is back in a resumed session has not left") {
  const std::vector<std::string> ids{"a", "b"};
  const std::vector<Control> controls{control_on("b", 0.0, 1.0, "lost"), control_on("b", 100.0, 1.0)};
  CHECK(device_shares(ids, {}, controls)[1].left.empty());
}

TEST_CASE("a device of an earlier run that the session does not name is listed as well") {
  const std::vector<std::string> ids{"a"};
  const std::vector<Trial> trials{trial_on("c")};
  const std::vector<DeviceShare> shares = device_shares(ids, trials, {});
  REQUIRE(shares.size() == 2);
  CHECK(shares[1].id == "c");
  CHECK(shares[1].trials == 1);
}

}  // namespace hone
