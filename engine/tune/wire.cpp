#include "engine/tune/wire.hpp"

namespace hone::wire {

std::vector<std::uint8_t> encode(const Message& message) {
  std::vector<std::uint8_t> bytes(kHeaderBytes);
  Message::to_cbor(message, bytes);
  const std::size_t size = bytes.size() - kHeaderBytes;
  for (std::size_t i = 0; i < kHeaderBytes; ++i) {
    bytes[i] = static_cast<std::uint8_t>(size >> (8 * i));
  }
  return bytes;
}

Message decode(const std::uint8_t* bytes, std::size_t size) { return Message::from_cbor(bytes, bytes + size); }

std::size_t body_size(const std::uint8_t (&header)[kHeaderBytes]) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < kHeaderBytes; ++i) {
    size |= static_cast<std::size_t>(header[i]) << (8 * i);
  }
  return size;
}

Message to_message(const DeviceInfo& info) {
  return {{"id", info.id},   {"plugin", info.plugin}, {"product", info.product}, {"uuid", info.uuid}, {"architecture", info.architecture},
          {"mig", info.mig_profile}, {"properties", info.properties}, {"environment", info.environment}, {"overlaps", info.compile_overlaps}};
}

DeviceInfo device_from(const Message& message) {
  DeviceInfo info{.id = message.at("id"), .plugin = message.at("plugin"), .product = message.at("product"), .uuid = message.at("uuid"),
                  .architecture = message.at("architecture"), .mig_profile = message.at("mig"), .properties = {}, .environment = {},
                  .compile_overlaps = message.at("overlaps")};
  for (const auto& [property, value] : message.at("properties").items()) {
    info.properties.emplace(property, value.get<std::int64_t>());
  }
  for (const auto& [key, value] : message.at("environment").items()) {
    info.environment.emplace(key, value.get<std::string>());
  }
  return info;
}

Message to_message(const Problem& problem) { return {{"dtype", name(problem.dtype)}, {"shape", text(problem.shape)}}; }

Problem problem_from(const Message& message) {
  return {parse_dtype(message.at("dtype").get<std::string>()).value(), parse_shape(message.at("shape").get<std::string>()).value()};
}

namespace {

Message to_message(const Resources& resources) {
  return {{"registers", resources.registers}, {"spill", resources.spill_bytes}, {"stack", resources.stack_bytes},
          {"shared", resources.shared_bytes}, {"occupancy", resources.occupancy}};
}

Resources resources_from(const Message& message) {
  return {.registers = message.at("registers"), .spill_bytes = message.at("spill"), .stack_bytes = message.at("stack"),
          .shared_bytes = message.at("shared"), .occupancy = message.at("occupancy")};
}

Message to_message(const Readings& readings) {
  return {{"sm_clock", readings.sm_clock_mhz}, {"memory_clock", readings.memory_clock_mhz}, {"temperature", readings.temperature_c},
          {"power", readings.power_w},         {"throttle", readings.throttle_reasons},     {"discarded", readings.discarded_samples}};
}

Readings readings_from(const Message& message) {
  return {.sm_clock_mhz = message.at("sm_clock"), .memory_clock_mhz = message.at("memory_clock"), .temperature_c = message.at("temperature"),
          .power_w = message.at("power"), .throttle_reasons = message.at("throttle"), .discarded_samples = message.at("discarded")};
}

}  // namespace

Message to_message(const Compiled& compiled) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(compiled.artifact->bytes.data());
  return {{"symbols", compiled.symbols},
          {"resources", to_message(compiled.resources)},
          {"digest", compiled.artifact->digest},
          {"bytes", Message::binary({bytes, bytes + compiled.artifact->bytes.size()})}};
}

Compiled compiled_from(const Message& message) {
  auto artifact = std::make_shared<Artifact>();
  artifact->digest = message.at("digest");
  const auto& bytes = message.at("bytes").get_binary();
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  artifact->bytes.assign(first, first + bytes.size());
  return {std::move(artifact), message.at("symbols"), resources_from(message.at("resources"))};
}

Message to_message(const Error& error) { return {{"code", static_cast<int>(error.code)}, {"message", error.message}}; }

Error error_from(const Message& message) { return {static_cast<ErrorCode>(message.at("code").get<int>()), message.at("message")}; }

Message to_message(const MeasureSettings& settings) {
  return {{"warmup", settings.warmup_runs},        {"race_samples", settings.race_samples},   {"race_margin", settings.race_margin},
          {"minimum", settings.minimum_samples},   {"maximum", settings.maximum_samples},     {"ci", settings.target_relative_ci},
          {"seconds", settings.maximum_seconds},   {"flush", settings.flush_cache},
          {"graph_below", settings.graph_below_us}};
}

MeasureSettings settings_from(const Message& message) {
  return {.warmup_runs = message.at("warmup"),
          .race_samples = message.at("race_samples"),
          .race_margin = message.at("race_margin"),
          .minimum_samples = message.at("minimum"),
          .maximum_samples = message.at("maximum"),
          .target_relative_ci = message.at("ci"),
          .maximum_seconds = message.at("seconds"),
          .flush_cache = message.at("flush"),
          .graph_below_us = message.at("graph_below")};
}

Message to_message(const Measurement& measurement) {
  return {{"samples", measurement.samples_us},
          {"median", measurement.median_us},
          {"low", measurement.ci95_low_us},
          {"high", measurement.ci95_high_us},
          {"raced_out", measurement.raced_out},
          {"by_graph", measurement.by_graph}};
}

Measurement measurement_from(const Message& message) {
  return {.samples_us = message.at("samples"),
          .median_us = message.at("median"),
          .ci95_low_us = message.at("low"),
          .ci95_high_us = message.at("high"),
          .raced_out = message.at("raced_out"),
          .by_graph = message.at("by_graph")};
}

Message to_message(const Trial& trial) {
  return {{"outcome", name(trial.outcome)},
          {"detail", trial.detail},
          {"resources", to_message(trial.resources)},
          {"measurement", to_message(trial.measurement)},
          {"readings", to_message(trial.readings)},
          {"validate", trial.seconds.validate},
          {"time", trial.seconds.time},
          {"overhead", trial.seconds.overhead},
          {"input_seed", trial.input_seed},
          {"max_error", trial.max_error}};
}

void fill_from(const Message& message, Trial& trial) {
  trial.outcome = parse_outcome(message.at("outcome").get<std::string>()).value();
  trial.detail = message.at("detail");
  trial.resources = resources_from(message.at("resources"));
  trial.measurement = measurement_from(message.at("measurement"));
  trial.readings = readings_from(message.at("readings"));
  trial.seconds.validate = message.at("validate");
  trial.seconds.time = message.at("time");
  trial.seconds.overhead = message.at("overhead");
  trial.input_seed = message.at("input_seed");
  trial.max_error = message.at("max_error");
}

}  // namespace hone::wire
