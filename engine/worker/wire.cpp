#include "engine/worker/wire.hpp"

#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>

#include "engine/worker/fields.hpp"

namespace hone::wire {

namespace {

constexpr std::size_t kDeepest = 16;  // levels; a message has five
constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

/// Each struct's fields are listed once, in visit(); these write them into a message and read them back from one.
struct Writer {
  Message& message;
  template <class T>
  void operator()(const char* key, const T& value) {
    message[key] = value;
  }
  void operator()(const char* key, double value, double /*least*/) { message[key] = value; }
};

struct Reader {
  Fields& fields;
  void operator()(const char* key, bool& value) { value = fields.boolean(key); }
  void operator()(const char* key, int& value) { value = static_cast<int>(fields.integer(key, 0, std::numeric_limits<int>::max())); }
  void operator()(const char* key, std::int64_t& value) { value = fields.integer(key); }
  void operator()(const char* key, std::uint64_t& value) { value = fields.natural(key); }
  /// `least`: what a finite number must reach; infinity where infinity itself is a value.
  void operator()(const char* key, double& value, double least = 0.0) {
    value = least == kInfinity ? fields.magnitude(key) : fields.number(key, least);
  }
  void operator()(const char* key, std::string& value) { value = fields.text(key); }
  void operator()(const char* key, std::vector<double>& value) { value = fields.numbers(key); }
  void operator()(const char* key, std::map<std::string, std::string>& value) { value = fields.texts_by_name(key); }
};

template <class Subject, class T>
concept Either = std::same_as<std::remove_const_t<Subject>, T>;  // what is read, or what is written

void visit(Either<Resources> auto& of, auto&& field) {
  field("registers", of.registers);
  field("spill", of.spill_bytes);
  field("stack", of.stack_bytes);
  field("shared", of.shared_bytes);
  field("occupancy", of.occupancy);
}

void visit(Either<Readings> auto& of, auto&& field) {
  constexpr double kColdest = -300.0;
  field("sm_clock", of.sm_clock_mhz);
  field("memory_clock", of.memory_clock_mhz);
  field("temperature", of.temperature_c, kColdest);
  field("power", of.power_w);
  field("throttle", of.throttle_reasons);
  field("discarded", of.discarded_samples);
}

void visit(Either<Measurement> auto& of, auto&& field) {
  field("samples", of.samples_us);
  field("median", of.median_us);
  field("low", of.ci95_low_us);
  field("high", of.ci95_high_us);
  field("raced_out", of.raced_out);
  field("by_graph", of.by_graph);
}

void visit(Either<MeasureSettings> auto& of, auto&& field) {
  field("warmup", of.warmup_runs);
  field("race_samples", of.race_samples);
  field("race_margin", of.race_margin);
  field("minimum", of.minimum_samples);
  field("maximum", of.maximum_samples);
  field("ci", of.target_relative_ci);
  field("seconds", of.maximum_seconds);
  field("flush", of.flush_cache);
  field("graph_below", of.graph_below_us, kInfinity);
  field("max_error", of.max_error, kInfinity);
  field("energy_window", of.energy_window_seconds);
  field("given_inputs", of.given.inputs);
  field("given_answers", of.given.answers);
  field("given_digest", of.given.digest);
}

void visit(Either<Incumbent> auto& of, auto&& field) {
  field("time", of.time_us, kInfinity);
  field("value", of.value, kInfinity);
  field("allowance", of.time_allowance, kInfinity);
}

void visit(Either<Figure> auto& of, auto&& field) {
  field("value", of.value);
  field("low", of.low);
  field("high", of.high);
}

/// What of a trial is a value by itself.
void visit(Either<Trial> auto& of, auto&& field) {
  field("detail", of.detail);
  field("validate", of.seconds.validate);
  field("time", of.seconds.time);
  field("overhead", of.seconds.overhead);
  field("input_seed", of.input_seed);
  field("max_error", of.max_error, kInfinity);
}

template <class T>
Message written(const T& value) {
  Message message = Message::object();
  visit(value, Writer{message});
  return message;
}

template <class T>
Result<T> read(const Message& message) {
  Fields fields(message);
  T value;
  visit(value, Reader{fields});
  return fields.error() ? Result<T>(*fields.error()) : Result<T>(std::move(value));
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
          {"share", info.share},
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
  if (fields.has("share")) {
    info.share = fields.text("share");
  }
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

Message to_message(const Compiled& compiled) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(compiled.artifact->bytes.data());
  return {{"symbols", compiled.symbols},
          {"resources", written(compiled.resources)},
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
  HONE_ASSIGN(compiled.resources, read<Resources>(resources));
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
  Message message = written(settings);
  message["objective"] = name(settings.objective);
  return message;
}

Message to_message(const Incumbent& incumbent) { return written(incumbent); }
Result<Incumbent> read_incumbent(const Message& message) { return read<Incumbent>(message); }

Result<MeasureSettings> read_settings(const Message& message) {
  HONE_ASSIGN(MeasureSettings settings, read<MeasureSettings>(message));
  Fields fields(message);
  const std::string objective = fields.text("objective");
  if (fields.error()) {
    return *fields.error();
  }
  HONE_ASSIGN(settings.objective, parse_objective(objective));
  return settings;
}

Message to_message(const Trial& trial) {
  Message message = written(trial);
  message["outcome"] = name(trial.outcome);
  message["resources"] = written(trial.resources);
  message["measurement"] = written(trial.measurement);
  if (trial.measurement.energy_j) {
    message["energy"] = written(*trial.measurement.energy_j);
  }
  message["readings"] = written(trial.readings);
  return message;
}

Result<void> fill_from(const Message& message, Trial& trial) {
  Fields fields(message);
  const std::string outcome = fields.text("outcome");
  visit(trial, Reader{fields});
  const Message &resources = fields.object("resources"), &measurement = fields.object("measurement"), &readings = fields.object("readings");
  if (fields.error()) {
    return *fields.error();
  }
  HONE_ASSIGN(trial.outcome, parse_outcome(outcome));
  HONE_ASSIGN(trial.resources, read<Resources>(resources));
  HONE_ASSIGN(trial.measurement, read<Measurement>(measurement));
  if (message.contains("energy")) {
    HONE_ASSIGN(trial.measurement.energy_j, read<Figure>(message.at("energy")));
  }
  HONE_ASSIGN(trial.readings, read<Readings>(readings));
  return {};
}

Message to_message(const Counters& counters) {
  return {{"values", counters.values}, {"launches", counters.launches}, {"source", counters.source}};
}

/// What Hone does not know is left out: a plugin's counters may have any names.
Result<Counters> read_counters(const Message& message) {
  Fields fields(message);
  Counters counters;
  Reader{fields}("launches", counters.launches);
  counters.source = fields.text("source");
  Fields values(fields.object("values"));
  for (const CounterKind& kind : counter_kinds()) {
    if (const std::string key(kind.name); values.has(key.c_str())) {
      counters.values[key] = values.number(key.c_str());
    }
  }
  return fields.error()   ? Result<Counters>(*fields.error())
         : values.error() ? Result<Counters>(*values.error())
                          : Result<Counters>(std::move(counters));
}

}  // namespace hone::wire
