#include "engine/tune/wire.hpp"

#include <doctest/doctest.h>

namespace hone {

TEST_CASE("a message survives the wire") {
  const wire::Message message{{"op", "trial"}, {"bytes", wire::Message::binary({1, 2, 255})}};
  const auto bytes = wire::encode(message);
  std::uint8_t header[wire::kHeaderBytes] = {bytes[0], bytes[1], bytes[2], bytes[3]};
  REQUIRE(wire::body_size(header) == bytes.size() - wire::kHeaderBytes);
  CHECK(wire::decode(bytes.data() + wire::kHeaderBytes, bytes.size() - wire::kHeaderBytes) == message);
}

TEST_CASE("a trial survives the wire") {
  Trial sent;
  sent.outcome = Outcome::kWrongResult;
  sent.detail = "y[3]";
  sent.measurement = {.samples_us = {1.0, 2.5}, .median_us = 1.75, .ci95_low_us = 1.0, .ci95_high_us = 2.5, .raced_out = true, .by_graph = true};
  sent.resources.registers = 42;
  sent.readings.throttle_reasons = 4;
  sent.seconds.time = 0.25;
  sent.input_seed = 0xffffffffffffffffULL;
  Trial received;
  wire::fill_from(wire::to_message(sent), received);
  CHECK(received.outcome == sent.outcome);
  CHECK(received.detail == sent.detail);
  CHECK(received.measurement.samples_us == sent.measurement.samples_us);
  CHECK(received.measurement.raced_out);
  CHECK(received.measurement.by_graph);
  CHECK(received.resources.registers == 42);
  CHECK(received.readings.throttle_reasons == 4);
  CHECK(received.seconds.time == 0.25);
  CHECK(received.input_seed == sent.input_seed);
}

TEST_CASE("a device survives the wire") {
  DeviceInfo sent{.id = "cuda:0", .plugin = "cuda", .product = "P", .uuid = "U", .architecture = "sm_90a", .mig_profile = "", .properties = {{"memory", 1}},
                  .environment = {{"driver", "580"}}, .compile_overlaps = false};
  const DeviceInfo received = wire::device_from(wire::to_message(sent));
  CHECK(received.id == sent.id);
  CHECK(received.architecture == sent.architecture);
  CHECK(received.properties == sent.properties);
  CHECK(received.environment == sent.environment);
  CHECK_FALSE(received.compile_overlaps);
}

}  // namespace hone
