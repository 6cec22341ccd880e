#include "cache/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/base/digest.hpp"
#include "engine/base/json_depth.hpp"
#include "engine/device/device_key.hpp"

namespace hone::cache {
namespace {

constexpr std::size_t kSampleBytes = sizeof(double);
constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::int64_t kMostGiB = std::numeric_limits<std::int64_t>::max() / kGiB;  // in a damaged store there may be any number

std::string dump(const nlohmann::ordered_json& json) {
  // Environment values come from drivers and may not be UTF-8.
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// What is no JSON, or is nested deeper than the stack of dump() would bear, is read as nothing.
nlohmann::ordered_json parse(std::string_view text) {
  return json_depth(text) <= kDeepestJson ? nlohmann::ordered_json::parse(text, nullptr, false) : nlohmann::ordered_json();
}

std::vector<std::byte> samples_to_bytes(const std::vector<double>& samples) {
  std::vector<std::byte> bytes;
  bytes.reserve(samples.size() * kSampleBytes);
  for (const double sample : samples) {
    const auto bits = std::bit_cast<std::uint64_t>(sample);
    for (std::size_t i = 0; i < kSampleBytes; ++i) {
      bytes.push_back(static_cast<std::byte>(bits >> (8 * i)));
    }
  }
  return bytes;
}

}  // namespace

std::string utc_now() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                     utc.tm_sec, milliseconds);
}

std::string json_text(const std::vector<std::string>& list) { return dump(list); }

std::string json_text(const TextMap& map) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : map) {
    json[name] = value;
  }
  return dump(json);
}

std::vector<std::string> read_json_list(std::string_view text) {
  const nlohmann::ordered_json json = parse(text);
  std::vector<std::string> list;
  for (const auto& item : json.is_array() ? json : nlohmann::ordered_json::array()) {
    list.push_back(item.is_string() ? item.get<std::string>() : item.dump());
  }
  return list;
}

TextMap read_json_map(std::string_view text) {
  const nlohmann::ordered_json json = parse(text);
  TextMap map;
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) {
      map.emplace(name, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  return map;
}

DeviceKey device_key(const DeviceInfo& info) {
  nlohmann::ordered_json properties = nlohmann::ordered_json::object();
  for (const auto& [name, value] : keyed_properties(info)) {
    properties[name] = value;
  }
  DeviceKey key{.digest = {}, .properties = dump(properties)};
  nlohmann::ordered_json parts = nlohmann::ordered_json::array({info.product, info.architecture, info.mig_profile, key.properties});
  if (!info.share.empty()) {
    parts.push_back(info.share);  // where there is none, the digest is that of stores from before there were shares
  }
  key.digest = digest(dump(parts));
  return key;
}

std::map<std::string, std::int64_t, std::less<>> read_device_properties(std::string_view text) {
  const nlohmann::ordered_json json = parse(text);
  std::map<std::string, std::int64_t, std::less<>> properties;
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) {
      const std::int64_t number = value.is_number_integer() ? value.get<std::int64_t>() : 0;
      properties.emplace(name, name == "memory" ? std::clamp(number, -kMostGiB, kMostGiB) * kGiB : number);
    }
  }
  return properties;
}

void bind_purpose(Statement& statement, const Purpose& purpose) {
  statement.text(purpose.input_profile).text(purpose.objective).text(purpose.accuracy_bound).text(purpose.timing_profile);
}

Purpose read_purpose(Statement& statement) {
  Purpose purpose;
  purpose.input_profile = statement.read_text();
  purpose.objective = statement.read_text();
  purpose.accuracy_bound = statement.read_text();
  purpose.timing_profile = statement.read_text();
  return purpose;
}

void bind_key(Statement& statement, const RecordKey& key) {
  statement.text(key.kernel).text(key.source_hash).text(dtypes_text(key)).text(key.layout).integer(key.alignment);
  statement.text(device_key(key.device).digest);
  bind_purpose(statement, key.purpose);
}

std::string stated_records() {
  return fmt::format(
      "asked AS (SELECT * FROM record WHERE {} AND (CAST(?11 AS TEXT) IS NULL OR shape = ?11) AND generation <= ?12), "
      "stated AS (SELECT *, COALESCE((SELECT s.state FROM record_state s WHERE s.record = asked.id AND s.generation <= ?12 "
      "ORDER BY s.generation DESC LIMIT 1), 'candidate') AS state FROM asked)",
      kKeyCondition);
}

Result<void> check_key(const RecordKey& key) {
  const Purpose& purpose = key.purpose;
  if (purpose.input_profile.empty() || purpose.objective.empty() || purpose.accuracy_bound.empty() || purpose.timing_profile.empty()) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("a record of {} needs an input profile, an objective, an accuracy bound (\"none\" for none) and a timing profile; "
                    "one of them is empty",
                    key.kernel)};
  }
  return {};
}

std::vector<double> samples_from_bytes(const std::vector<std::byte>& bytes) {
  std::vector<double> samples(bytes.size() / kSampleBytes);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < kSampleBytes; ++i) {
      bits |= static_cast<std::uint64_t>(bytes[s * kSampleBytes + i]) << (8 * i);
    }
    samples[s] = std::bit_cast<double>(bits);
  }
  return samples;
}

void bind_measurement(Statement& statement, const Measurement& measurement) {
  statement.blob(samples_to_bytes(measurement.samples_us)).real(measurement.median_us);
  statement.real(measurement.ci95_low_us).real(measurement.ci95_high_us).integer(measurement.raced_out ? 1 : 0);
  statement.integer(measurement.by_graph ? 1 : 0);
}

Measurement read_measurement(Statement& statement) {
  Measurement measurement;
  measurement.samples_us = samples_from_bytes(statement.read_blob());
  measurement.median_us = statement.read_real();
  measurement.ci95_low_us = statement.read_real();
  measurement.ci95_high_us = statement.read_real();
  measurement.raced_out = statement.read_integer() != 0;
  measurement.by_graph = statement.read_integer() != 0;
  return measurement;
}

void bind_energy(Statement& statement, const Measurement& measurement) {
  if (measurement.energy_j) {
    statement.real(measurement.energy_j->value).real(measurement.energy_j->low).real(measurement.energy_j->high);
  } else {
    statement.null().null().null();
  }
}

void read_energy(Statement& statement, Measurement& measurement) {
  const bool measured = !statement.next_is_null();
  Figure energy;
  energy.value = statement.read_real();
  energy.low = statement.read_real();
  energy.high = statement.read_real();
  measurement.energy_j = measured ? std::optional(energy) : std::nullopt;
}

void bind_readings(Statement& statement, const Readings& readings) {
  statement.real(readings.sm_clock_mhz).real(readings.memory_clock_mhz).real(readings.temperature_c).real(readings.power_w);
  statement.integer(static_cast<std::int64_t>(readings.throttle_reasons)).integer(readings.discarded_samples);
}

Readings read_readings(Statement& statement) {
  Readings readings;
  readings.sm_clock_mhz = statement.read_real();
  readings.memory_clock_mhz = statement.read_real();
  readings.temperature_c = statement.read_real();
  readings.power_w = statement.read_real();
  readings.throttle_reasons = static_cast<std::uint64_t>(statement.read_integer());
  readings.discarded_samples = static_cast<int>(statement.read_integer());
  return readings;
}

void bind_resources(Statement& statement, const Resources& resources) {
  statement.integer(resources.registers).integer(resources.spill_bytes).integer(resources.stack_bytes);
  statement.integer(resources.shared_bytes).real(resources.occupancy);
}

Resources read_resources(Statement& statement) {
  Resources resources;
  resources.registers = statement.read_integer();
  resources.spill_bytes = statement.read_integer();
  resources.stack_bytes = statement.read_integer();
  resources.shared_bytes = statement.read_integer();
  resources.occupancy = statement.read_real();
  return resources;
}

void bind_seconds(Statement& statement, const StageSeconds& seconds) {
  statement.real(seconds.compile).real(seconds.validate).real(seconds.time).real(seconds.overhead);
}

StageSeconds read_seconds(Statement& statement) {
  StageSeconds seconds;
  seconds.compile = statement.read_real();
  seconds.validate = statement.read_real();
  seconds.time = statement.read_real();
  seconds.overhead = statement.read_real();
  return seconds;
}

Result<Problem> read_problem(Statement& statement, std::string& dtypes) {
  Problem problem;
  dtypes = statement.read_text();
  if (const Result<DTypes> known = parse_dtypes(dtypes)) {
    problem.dtype = *known;
  }
  HONE_ASSIGN(problem.shape, parse_shape(statement.read_text()));
  return problem;
}

Result<Count> parse_count(std::string_view text) {
  constexpr Count kMost = ~Count{0};
  Count count = 0;
  for (const char c : text) {
    const auto digit = static_cast<unsigned>(c - '0');
    if (digit > 9 || count > (kMost - digit) / 10) {
      return Error{ErrorCode::kStore, fmt::format("the store holds '{}' where a number belongs", text)};
    }
    count = count * 10 + digit;
  }
  return count;
}

}  // namespace hone::cache
