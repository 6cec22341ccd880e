#include "engine/worker/wire.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "engine/worker/fields.hpp"
#include "engine/worker/replies.hpp"

namespace hone {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes body(const wire::Message& message) {
  const Bytes bytes = wire::encode(message);
  return {bytes.begin() + wire::kHeaderBytes, bytes.end()};
}

Result<wire::Message> decode(const Bytes& bytes) { return wire::decode(bytes.data(), bytes.size()); }

Trial timed_trial() {
  Trial trial;
  trial.measurement = {
      .samples_us = {1.0, 2.5}, .median_us = 1.75, .ci95_low_us = 1.0, .ci95_high_us = 2.5, .raced_out = true, .by_graph = true};
  return trial;
}

wire::Message trial_reply() {
  wire::Message message = wire::to_message(timed_trial());
  message["fatal"] = false;
  message["blameless"] = message["asks_default"] = false;
  message["held"] = wire::Message::array();
  message["dropped"] = wire::Message::array();
  message["notes"] = wire::Message::array();
  return message;
}

wire::Message compile_reply() {
  auto artifact = std::make_shared<Artifact>();
  artifact->digest = "00ff";
  artifact->bytes = {std::byte{1}, std::byte{255}};
  const Compiled compiled{artifact, {"f", "g"}, {.registers = 7, .spill_bytes = 0, .stack_bytes = 0, .shared_bytes = 0, .occupancy = 0.0}};
  return {{"results", {{{"compiled", wire::to_message(compiled)}}, {{"error", wire::to_message(Error{ErrorCode::kCompile, "line 3"})}}}},
          {"seconds", 0.5}};
}

/// Reads a message as each reply there is; what is no such reply must be an Error.
void read_as_anything(const wire::Message& message) {
  static_cast<void>(wire::read_stage(message));
  static_cast<void>(wire::read_done(message));
  static_cast<void>(wire::read_trial(message));
  static_cast<void>(wire::read_finals(message));
  static_cast<void>(wire::read_survey(message));
  static_cast<void>(wire::read_compile(message));
  static_cast<void>(wire::read_reading(message));
}

/// One of the message's values, at any depth, becomes another.
void mutate(wire::Message& message, std::mt19937& random) {
  static const std::vector<wire::Message> others{nullptr,
                                                 true,
                                                 -1,
                                                 std::numeric_limits<std::int64_t>::min(),
                                                 std::numeric_limits<std::uint64_t>::max(),
                                                 std::nan(""),
                                                 std::numeric_limits<double>::infinity(),
                                                 -0.5,
                                                 1e300,
                                                 "",
                                                 "no outcome",
                                                 "\xff\xfe",
                                                 wire::Message::array(),
                                                 wire::Message::object(),
                                                 wire::Message::array({nullptr, "x", -3}),
                                                 wire::Message::binary({0, 1, 2})};
  if (message.is_structured() && !message.empty() && random() % 4 != 0) {
    auto child = message.begin();
    std::advance(child, static_cast<std::ptrdiff_t>(random() % message.size()));
    if (random() % 8 == 0) {
      message.erase(child);
    } else {
      mutate(*child, random);
    }
    return;
  }
  message = others[random() % others.size()];
}

}  // namespace

TEST_CASE("a message survives the wire") {
  const wire::Message message{{"op", "trial"}, {"bytes", wire::Message::binary({1, 2, 255})}, {"size", 1 << 20}, {"ratio", -0.1}};
  const auto bytes = wire::encode(message);
  std::uint8_t header[wire::kHeaderBytes] = {bytes[0], bytes[1], bytes[2], bytes[3]};
  REQUIRE(wire::body_size(header) == bytes.size() - wire::kHeaderBytes);
  CHECK(decode(body(message)).value() == message);
}

TEST_CASE("a trial that was too slow comes with its time, or is refused") {
  wire::Message reply = trial_reply();
  reply["outcome"] = "too_slow";
  const auto read = wire::read_trial(reply);
  REQUIRE(read.ok());
  CHECK(read->trial.outcome == Outcome::kTooSlow);
  CHECK(read->trial.measurement.median_us == timed_trial().measurement.median_us);
  Trial untimed = timed_trial();
  untimed.measurement = {};
  reply["measurement"] = wire::to_message(untimed)["measurement"];
  CHECK_FALSE(wire::read_trial(reply).ok());
}

TEST_CASE("a trial survives the wire") {
  Trial sent = timed_trial();
  sent.outcome = Outcome::kWrongResult;
  sent.detail = "y[3]";
  sent.resources.registers = 42;
  sent.readings.throttle_reasons = 4;
  sent.seconds.time = 0.25;
  sent.input_seed = 0xffffffffffffffffULL;
  sent.max_error = std::numeric_limits<double>::infinity();
  Trial received;
  REQUIRE(wire::fill_from(decode(body(wire::to_message(sent))).value(), received).ok());
  CHECK(received.outcome == sent.outcome);
  CHECK(received.detail == sent.detail);
  CHECK(received.measurement.samples_us == sent.measurement.samples_us);
  CHECK(received.measurement.raced_out);
  CHECK(received.measurement.by_graph);
  CHECK(received.resources.registers == 42);
  CHECK(received.readings.throttle_reasons == 4);
  CHECK(received.seconds.time == 0.25);
  CHECK(received.input_seed == sent.input_seed);
  CHECK(received.max_error == sent.max_error);
}

TEST_CASE("a device survives the wire") {
  DeviceInfo sent{.id = "cuda:0",
                  .plugin = "cuda",
                  .product = "P",
                  .uuid = "U",
                  .architecture = "sm_90a",
                  .mig_profile = "",
                  .properties = {{"memory", 1}},
                  .environment = {{"driver", "580"}},
                  .compile_overlaps = false};
  sent.share = "mps:50";
  const DeviceInfo received = wire::device_from(wire::to_message(sent));
  CHECK(received.id == sent.id);
  CHECK(received.share == sent.share);
  CHECK(received.architecture == sent.architecture);
  CHECK(received.properties == sent.properties);
  CHECK(received.environment == sent.environment);
  CHECK_FALSE(received.compile_overlaps);
}

TEST_CASE("settings and stages survive the wire") {
  MeasureSettings settings;
  settings.graph_below_us = std::numeric_limits<double>::infinity();
  CHECK(wire::settings_from(wire::to_message(settings)).graph_below_us == settings.graph_below_us);
  settings.objective = {Objective::Kind::kPercentile, 99.0};
  settings.energy_window_seconds = 0.25;
  CHECK(wire::settings_from(wire::to_message(settings)).objective == settings.objective);
  CHECK(wire::settings_from(wire::to_message(settings)).energy_window_seconds == 0.25);
  const Incumbent incumbent = wire::incumbent_from(wire::to_message(Incumbent{.time_us = 2.0, .value = 5.0, .time_allowance = 1.5}));
  CHECK(incumbent.time_us == 2.0);
  CHECK(incumbent.value == 5.0);
  CHECK(incumbent.time_allowance == 1.5);
  wire::Message unknown = wire::to_message(settings);
  unknown["objective"] = "beauty";
  CHECK_FALSE(wire::read_settings(unknown).ok());
  const wire::Stage sent{.kind = wire::Stage::Kind::kReference, .name = "f", .within = 2.5, .expected = 0.5, .finalist = 3};
  const wire::Stage received = wire::read_stage(wire::to_message(sent)).value();
  CHECK(received.kind == sent.kind);
  CHECK(received.name == sent.name);
  CHECK(received.within == sent.within);
  CHECK(received.expected == sent.expected);
  CHECK(received.finalist == sent.finalist);
}

TEST_CASE("a reply of the wrong shape is an error that names the field") {
  wire::Message missing = trial_reply();
  missing.erase("max_error");
  CHECK(wire::read_trial(missing).error().message == "field 'max_error' is missing");
  wire::Message negative = trial_reply();
  negative["resources"]["registers"] = -1;
  CHECK(wire::read_trial(negative).error().message == "field 'registers' is out of its range");
  wire::Message unknown = trial_reply();
  unknown["outcome"] = "excellent";
  CHECK(wire::read_trial(unknown).error().message.find("excellent") != std::string::npos);
  wire::Message other = trial_reply();
  other["fatal"] = "no";
  CHECK(wire::read_trial(other).error().message == "field 'fatal' is string, not a boolean");
  CHECK_FALSE(wire::read_trial(wire::Message::array()).ok());
}

TEST_CASE("a right trial without a time is no right trial") {
  for (const double median : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    wire::Message reply = trial_reply();
    reply["measurement"]["median"] = median;
    CHECK_FALSE(wire::read_trial(reply).ok());
  }
  wire::Message none = trial_reply();
  none["measurement"]["samples"] = wire::Message::array();
  CHECK_FALSE(wire::read_trial(none).ok());
}

TEST_CASE("a trial's energy survives the wire, and is none where it was not measured") {
  CHECK_FALSE(wire::read_trial(trial_reply()).value().trial.measurement.energy_j);
  wire::Message reply = trial_reply();
  reply["energy"] = {{"value", 2e-3}, {"low", 1e-3}, {"high", 3e-3}};
  const Trial trial = wire::read_trial(reply).value().trial;
  REQUIRE(trial.measurement.energy_j);
  CHECK(trial.measurement.energy_j->value == 2e-3);
  CHECK(trial.measurement.energy_j->high == 3e-3);
  reply["energy"]["low"] = "none";
  CHECK_FALSE(wire::read_trial(reply).ok());
  reply["energy"] = 1.0;
  CHECK_FALSE(wire::read_trial(reply).ok());
}

TEST_CASE("what a worker says is text that a report can hold") {
  wire::Message reply = trial_reply();
  reply["detail"] = "wrong\xff\xc0 \xe2\x82\xac \xed\xa0\x80";
  const Trial trial = wire::read_trial(reply).value().trial;
  CHECK(trial.detail == "wrong?? \xe2\x82\xac ???");
  CHECK_NOTHROW(static_cast<void>(wire::Message(trial.detail).dump()));
  CHECK(wire::readable(std::string(100, 'x'), 10).size() == 10);
}

TEST_CASE("deep nesting, lengths beyond the end and what follows the end are no message") {
  CHECK_FALSE(decode(Bytes(1 << 20, 0x81)).ok());  // a million arrays, one in the other
  CHECK_FALSE(decode({0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}).ok());
  CHECK_FALSE(decode({0xbb, 0x80, 0, 0, 0, 0, 0, 0, 0}).ok());  // twice this many entries are none, in 64 bits
  CHECK_FALSE(decode({0x5a, 0x7f, 0xff, 0xff, 0xff, 1}).ok());
  CHECK_FALSE(decode({0x5f, 0x41, 0}).ok());
  CHECK_FALSE(decode({0x01, 0x02}).ok());
  CHECK_FALSE(decode({}).ok());
}

TEST_CASE("no mutation of a reply's bytes makes a reader throw or hang") {
  std::mt19937 random(1);
  const std::vector<Bytes> replies{body(trial_reply()), body(compile_reply()), body({{"ready", true}, {"bytes", 5}}),
                                   body({{"results", {wire::to_message(timed_trial())}}, {"fatal", false}, {"complete", true}}),
                                   body(wire::to_message(wire::Stage{.name = "timing", .within = 1.0, .expected = 0.1, .finalist = 1}))};
  int decoded = 0;
  for (int i = 0; i < 50000; ++i) {
    Bytes bytes = replies[random() % replies.size()];
    for (unsigned changes = 1 + random() % 4; changes > 0 && !bytes.empty(); --changes) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        case 1:
          bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::uint8_t>(random()));
          break;
        default:
          bytes[at] = static_cast<std::uint8_t>(random());
          break;
      }
    }
    if (const Result<wire::Message> message = decode(bytes)) {
      ++decoded;
      read_as_anything(*message);
    }
  }
  CHECK(decoded > 1000);  // else the readers were not tried
}

TEST_CASE("no mutation of a reply's fields makes a reader throw or hang") {
  std::mt19937 random(2);
  int refused = 0;
  for (int i = 0; i < 50000; ++i) {
    wire::Message message = i % 2 == 0 ? trial_reply() : compile_reply();
    mutate(message, random);
    read_as_anything(message);
    refused += !(i % 2 == 0 ? wire::read_trial(message).ok() : wire::read_compile(message).ok());
  }
  CHECK(refused > 10000);
}

}  // namespace hone
