#include "engine/tune/wire.hpp"

#include <limits>

#include "engine/tune/fields.hpp"

namespace hone::wire {

namespace {

constexpr std::size_t kDeepest = 16;  // levels; a message has five

/// Walks over CBOR without recursion: the parser recurses, and deep nesting would overflow its stack. Only what encode() writes passes.
bool is_shallow(const std::uint8_t* bytes, std::size_t size) {
  std::vector<std::uint64_t> open{1};  // entries that are still to come, of each level
  std::size_t at = 0;
  while (!open.empty()) {
    if (open.back() == 0) {
      open.pop_back();
      continue;
    }
    --open.back();
    if (at >= size) {
      return false;
    }
    const unsigned kind = bytes[at] >> 5U, info = bytes[at] & 31U;
    const std::size_t extra = info < 24 ? 0 : info <= 27 ? std::size_t{1} << (info - 24) : size;
    if (extra > size - at - 1) {
      return false;
    }
    std::uint64_t argument = info;
    for (std::size_t i = 0; i < extra; ++i) {
      argument = (i == 0 ? 0 : argument << 8U) | bytes[at + 1 + i];
    }
    at += 1 + extra;
    if (kind == 2 || kind == 3) {
      if (argument > size - at) {
        return false;
      }
      at += argument;
    } else if (kind == 4 || kind == 5) {
      if (argument > size || open.size() == kDeepest) {
        return false;
      }
      open.push_back(kind == 5 ? 2 * argument : argument);
    } else if (kind == 6) {
      return false;  // tags: no message has one
    }
  }
  return at == size;
}

}  // namespace

std::vector<std::uint8_t> encode(const Message& message) {
  std::vector<std::uint8_t> bytes(kHeaderBytes);
  Message::to_cbor(message, bytes);
  const std::size_t size = bytes.size() - kHeaderBytes;
  for (std::size_t i = 0; i < kHeaderBytes; ++i) {
    bytes[i] = static_cast<std::uint8_t>(size >> (8 * i));
  }
  return bytes;
}

std::size_t body_size(const std::uint8_t (&header)[kHeaderBytes]) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < kHeaderBytes; ++i) {
    size |= static_cast<std::size_t>(header[i]) << (8 * i);
  }
  return size;
}

Result<Message> decode(const std::uint8_t* bytes, std::size_t size) {
  const auto garbled = [] { return Error{ErrorCode::kDevice, "not a message"}; };
  if (!is_shallow(bytes, size)) {
    return garbled();
  }
  Message message = Message::from_cbor(bytes, bytes + size, true, false);
  return message.is_discarded() ? Result<Message>(garbled()) : Result<Message>(std::move(message));
}

Message to_message(const DeviceInfo& info) {
  return {{"id", info.id},
          {"plugin", info.plugin},
          {"product", info.product},
          {"uuid", info.uuid},
          {"architecture", info.architecture},
          {"mig", info.mig_profile},
          {"properties", info.properties},
          {"environment", info.environment},
          {"overlaps", info.compile_overlaps}};
}

Result<DeviceInfo> read_device(const Message& message) {
  Fields fields(message);
  DeviceInfo info{.id = fields.text("id"),
                  .plugin = fields.text("plugin"),
                  .product = fields.text("product"),
                  .uuid = fields.text("uuid"),
                  .architecture = fields.text("architecture"),
                  .mig_profile = fields.text("mig"),
                  .properties = {},
                  .environment = {},
                  .compile_overlaps = fields.boolean("overlaps")};
  for (const auto& [property, value] : fields.object("properties").items()) {
    if (!value.is_number_integer()) {
      fields.refuse("properties", "holds something that is not an integer");
      break;
    }
    info.properties.emplace(property, value.get<std::int64_t>());
  }
  for (const auto& [key, value] : fields.object("environment").items()) {
    if (!value.is_string()) {
      fields.refuse("environment", "holds something that is not text");
      break;
    }
    info.environment.emplace(key, value.get<std::string>());
  }
  return fields.error() ? Result<DeviceInfo>(*fields.error()) : Result<DeviceInfo>(std::move(info));
}

Message to_message(const Problem& problem) { return {{"dtype", name(problem.dtype)}, {"shape", text(problem.shape)}}; }

Result<Problem> read_problem(const Message& message) {
  Fields fields(message);
  const std::string dtype = fields.text("dtype"), shape = fields.text("shape");
  if (fields.error()) {
    return *fields.error();
  }
  Problem problem;
  HONE_ASSIGN(problem.dtype, parse_dtypes(dtype));
  HONE_ASSIGN(problem.shape, parse_shape(shape));
  return problem;
}

namespace {

Message to_message(const Resources& resources) {
  return {{"registers", resources.registers},
          {"spill", resources.spill_bytes},
          {"stack", resources.stack_bytes},
          {"shared", resources.shared_bytes},
          {"occupancy", resources.occupancy}};
}

Result<Resources> read_resources(const Message& message) {
  Fields fields(message);
  const Resources resources{.registers = fields.integer("registers"),
                            .spill_bytes = fields.integer("spill"),
                            .stack_bytes = fields.integer("stack"),
                            .shared_bytes = fields.integer("shared"),
                            .occupancy = fields.number("occupancy")};
  return fields.error() ? Result<Resources>(*fields.error()) : Result<Resources>(resources);
}

Message to_message(const Readings& readings) {
  return {{"sm_clock", readings.sm_clock_mhz}, {"memory_clock", readings.memory_clock_mhz}, {"temperature", readings.temperature_c},
          {"power", readings.power_w},         {"throttle", readings.throttle_reasons},     {"discarded", readings.discarded_samples}};
}

Result<Readings> read_readings(const Message& message) {
  Fields fields(message);
  const Readings readings{.sm_clock_mhz = fields.number("sm_clock"),
                          .memory_clock_mhz = fields.number("memory_clock"),
                          .temperature_c = fields.number("temperature", -300.0),
                          .power_w = fields.number("power"),
                          .throttle_reasons = fields.natural("throttle"),
                          .discarded_samples = static_cast<int>(fields.integer("discarded", 0, std::numeric_limits<int>::max()))};
  return fields.error() ? Result<Readings>(*fields.error()) : Result<Readings>(readings);
}

Message to_message(const Measurement& measurement) {
  return {{"samples", measurement.samples_us}, {"median", measurement.median_us},    {"low", measurement.ci95_low_us},
          {"high", measurement.ci95_high_us},  {"raced_out", measurement.raced_out}, {"by_graph", measurement.by_graph}};
}

Result<Measurement> read_measurement(const Message& message) {
  Fields fields(message);
  Measurement measurement{.samples_us = fields.numbers("samples"),
                          .median_us = fields.number("median"),
                          .ci95_low_us = fields.number("low"),
                          .ci95_high_us = fields.number("high"),
                          .raced_out = fields.boolean("raced_out"),
                          .by_graph = fields.boolean("by_graph")};
  return fields.error() ? Result<Measurement>(*fields.error()) : Result<Measurement>(std::move(measurement));
}

}  // namespace

Message to_message(const Compiled& compiled) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(compiled.artifact->bytes.data());
  return {{"symbols", compiled.symbols},
          {"resources", to_message(compiled.resources)},
          {"digest", compiled.artifact->digest},
          {"bytes", Message::binary({bytes, bytes + compiled.artifact->bytes.size()})}};
}

Result<Compiled> read_compiled(const Message& message) {
  Fields fields(message);
  auto artifact = std::make_shared<Artifact>();
  artifact->digest = fields.text("digest");
  if (const auto* bytes = fields.binary("bytes")) {
    const auto* first = reinterpret_cast<const std::byte*>(bytes->data());
    artifact->bytes.assign(first, first + bytes->size());
  }
  std::vector<std::string> symbols = fields.texts("symbols");
  const Message& resources = fields.object("resources");
  if (fields.error()) {
    return *fields.error();
  }
  Compiled compiled{std::move(artifact), std::move(symbols), {}};
  HONE_ASSIGN(compiled.resources, read_resources(resources));
  return compiled;
}

Message to_message(const Error& error) { return {{"code", static_cast<int>(error.code)}, {"message", error.message}}; }

Result<void> read_error(const Message& message, Error& error) {
  Fields fields(message);
  error.code = static_cast<ErrorCode>(fields.integer("code", 0, static_cast<std::int64_t>(ErrorCode::kCancelled)));
  error.message = fields.text("message");
  return fields.error() ? Result<void>(*fields.error()) : Result<void>();
}

Message to_message(const MeasureSettings& settings) {
  return {{"warmup", settings.warmup_runs},       {"race_samples", settings.race_samples}, {"race_margin", settings.race_margin},
          {"minimum", settings.minimum_samples},  {"maximum", settings.maximum_samples},   {"ci", settings.target_relative_ci},
          {"seconds", settings.maximum_seconds},  {"flush", settings.flush_cache},         {"graph_below", settings.graph_below_us},
          {"max_error", settings.max_error},      {"given_inputs", settings.given.inputs}, {"given_answers", settings.given.answers},
          {"given_digest", settings.given.digest}};
}

Result<MeasureSettings> read_settings(const Message& message) {
  Fields fields(message);
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  const MeasureSettings settings{.warmup_runs = static_cast<int>(fields.integer("warmup", 0, kMost)),
                                 .race_samples = static_cast<int>(fields.integer("race_samples", 0, kMost)),
                                 .race_margin = fields.number("race_margin"),
                                 .minimum_samples = static_cast<int>(fields.integer("minimum", 0, kMost)),
                                 .maximum_samples = static_cast<int>(fields.integer("maximum", 0, kMost)),
                                 .target_relative_ci = fields.number("ci"),
                                 .maximum_seconds = fields.number("seconds"),
                                 .flush_cache = fields.boolean("flush"),
                                 .graph_below_us = fields.magnitude("graph_below"),
                                 .max_error = fields.magnitude("max_error"),
                                 .given = {.inputs = fields.texts_by_name("given_inputs"),
                                           .answers = fields.texts_by_name("given_answers"),
                                           .digest = fields.text("given_digest")}};
  return fields.error() ? Result<MeasureSettings>(*fields.error()) : Result<MeasureSettings>(settings);
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

Result<void> fill_from(const Message& message, Trial& trial) {
  Fields fields(message);
  const std::string outcome = fields.text("outcome");
  trial.detail = fields.text("detail");
  trial.seconds.validate = fields.number("validate");
  trial.seconds.time = fields.number("time");
  trial.seconds.overhead = fields.number("overhead");
  trial.input_seed = fields.natural("input_seed");
  trial.max_error = fields.magnitude("max_error");
  const Message &resources = fields.object("resources"), &measurement = fields.object("measurement"), &readings = fields.object("readings");
  if (fields.error()) {
    return *fields.error();
  }
  HONE_ASSIGN(trial.outcome, parse_outcome(outcome));
  HONE_ASSIGN(trial.resources, read_resources(resources));
  HONE_ASSIGN(trial.measurement, read_measurement(measurement));
  HONE_ASSIGN(trial.readings, read_readings(readings));
  return {};
}

}  // namespace hone::wire
