#include "engine/replay/recorded_formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

namespace hone::recorded {
namespace {

constexpr double kMicrosecondsPerMillisecond = 1e3, kMillisecondsPerSecond = 1e3;

Error broken(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

/// What became of a configuration, from the word of Kernel Tuner ("CompilationFailedConfig") or of T4 ("compile").
Outcome outcome_of(std::string word) {
  if (const Result<Outcome> own = parse_outcome(word)) {
    return *own;
  }
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::array<std::pair<std::string_view, Outcome>, 7> kWords{{
      {"compil", Outcome::kCompileError},
      {"timeout", Outcome::kTimeout},
      {"illegal", Outcome::kIllegalAccess},
      {"correct", Outcome::kWrongResult},
      {"verif", Outcome::kWrongResult},
      {"constraint", Outcome::kStaticReject},
      {"invalidconfig", Outcome::kStaticReject},
  }};
  const auto known = std::ranges::find_if(kWords, [&](const auto& entry) { return word.find(entry.first) != std::string::npos; });
  return known == kWords.end() ? Outcome::kLaunchFailure : known->second;
}

double number(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->get<double>() : 0.0;
}

std::int64_t whole(const Json& object, const char* key) { return Value(number(object, key)).integer(); }

/// In the unit that it is scaled to: a number that is finite in another may not be so in this one.
bool is_time(double scaled) { return std::isfinite(scaled) && scaled > 0.0; }

/// The times of a list, scaled.
std::vector<double> samples(const Json& object, const char* key, double scale) {
  std::vector<double> read;
  if (const auto list = object.find(key); list != object.end() && list->is_array()) {
    for (const Json& sample : *list) {
      const double scaled = sample.is_number() ? sample.get<double>() * scale : 0.0;
      if (is_time(scaled)) {
        read.push_back(scaled);
      }
    }
  }
  return read;
}

void set_time(RecordedTrial& trial, const Json& time, std::vector<double> repeats, double scale) {
  if (!time.is_number() || !is_time(time.get<double>() * scale)) {
    trial.detail = time.is_string() ? time.get<std::string>() : "no time in the record";
    trial.outcome = outcome_of(trial.detail);
    if (trial.outcome == Outcome::kTooSlow && !repeats.empty()) {
      trial.time_us = repeats.front();
      trial.samples_us = std::move(repeats);
    }
    return;
  }
  trial.time_us = time.get<double>() * scale;
  trial.samples_us = repeats.empty() ? std::vector{trial.time_us} : std::move(repeats);
}

/// Joules, by Hone's name or by that of Kernel Tuner's observer of NVML.
void set_energy(RecordedTrial& trial, const Json& entry) {
  for (const char* const key : {"energy", "nvml_energy"}) {
    const double joules = number(entry, key);
    if (trial.outcome != Outcome::kOk || !is_time(joules)) {
      continue;
    }
    trial.energy_j = Figure{joules, joules, joules};
    const auto interval = entry.find("energy_ci95");
    if (interval != entry.end() && interval->is_array() && interval->size() == 2 && (*interval)[0].is_number() &&
        (*interval)[1].is_number()) {
      trial.energy_j->low = std::min(joules, (*interval)[0].get<double>());
      trial.energy_j->high = std::max(joules, (*interval)[1].get<double>());
    }
    return;
  }
}

Result<std::vector<Json>> values_of(const Json& object, const std::vector<std::string>& names) {
  std::vector<Json> values;
  for (const std::string& name : names) {
    const auto at = object.find(name);
    if (at == object.end()) {
      return broken(fmt::format("a record has no value of parameter '{}'", name));
    }
    values.push_back(*at);
  }
  return values;
}

/// Whether a record says something else under this name: a parameter of that name stands only in the record's key.
bool is_said_of_trials(const std::string& name) {
  constexpr std::array<std::string_view, 14> kSaid{"time",           "times",     "compile_time", "verification_time", "benchmark_time",
                                                   "framework_time", "registers", "occupancy",    "spill_bytes",       "stack_bytes",
                                                   "shared_bytes",   "energy",    "energy_ci95",  "nvml_energy"};
  return std::ranges::find(kSaid, name) != kSaid.end();
}

/// From the record's key: "32,row,False".
Result<std::vector<Json>> key_values(const std::string& key, const Recording& recording) {
  std::vector<Json> values;
  std::size_t begin = 0;
  for (std::size_t p = 0; p < recording.names.size() && begin <= key.size(); ++p) {
    const std::size_t end = std::min(key.find(',', begin), key.size());
    const std::string word = key.substr(begin, end - begin);
    const auto& listed = recording.values[p];
    const auto value = std::ranges::find_if(listed, [&](const Json& one) {
      return word == (one.is_string() ? one.get<std::string>() : one.dump()) ||
             (one.is_boolean() && word == (one.get<bool>() ? "True" : "False"));
    });
    if (value == listed.end()) {
      return broken(fmt::format("record '{}' has no value of parameter '{}', and '{}' in its key is not among the listed values", key,
                                recording.names[p], word));
    }
    values.push_back(*value);
    begin = end + 1;
  }
  if (values.size() != recording.names.size() || begin <= key.size()) {
    return broken(fmt::format("record '{}' lacks values of parameters, and its key does not hold {} of them", key, recording.names.size()));
  }
  return values;
}

/// As values_of, or from the record's key where the record itself does not repeat them.
Result<std::vector<Json>> cached_values(const std::string& key, const Json& entry, const Recording& recording) {
  const bool repeated = std::ranges::all_of(recording.names, [&](const std::string& name) { return entry.contains(name); });
  if (repeated && std::ranges::none_of(recording.names, is_said_of_trials)) {
    return values_of(entry, recording.names);
  }
  Result<std::vector<Json>> values = key_values(key, recording);
  return !values && repeated ? values_of(entry, recording.names) : std::move(values);
}

/// What a file was recorded for.
struct FileObjective {
  std::string name = "time";
  bool more_is_better = false;
};

Result<FileObjective> file_objective(const Json& root) {
  FileObjective objective;
  if (const auto given = root.find("objective"); given != root.end() && given->is_string() && !given->get<std::string>().empty()) {
    objective.name = given->get<std::string>();
  }
  if (const auto given = root.find("objective_higher_is_better"); given != root.end() && given->is_boolean()) {
    objective.more_is_better = given->get<bool>();
    return objective;
  }
  constexpr std::array<std::string_view, 5> kLess{"time", "energy", "cost", "loss", "power"};
  const bool less = std::ranges::any_of(kLess, [&](std::string_view word) { return objective.name.find(word) != std::string::npos; });
  objective.more_is_better = !less && objective.name.find('/') != std::string::npos;  // GFLOP/s, GB/s, GFLOPS/W
  if (!less && !objective.more_is_better) {
    return broken(
        fmt::format("it was recorded for the objective '{}' but does not say whether higher is better: add "
                    "\"objective_higher_is_better\"",
                    objective.name));
  }
  return objective;
}

RecordedTrial cached_trial(const Json& entry, const FileObjective& objective) {
  RecordedTrial trial;
  const auto error = entry.find("__error__");
  const auto time = error != entry.end() && error->is_string() ? error : entry.find("time");
  const auto value = entry.find(objective.name);
  if (objective.name == "time" || time == entry.end() || time->is_string()) {
    set_time(trial, time == entry.end() ? Json() : *time, samples(entry, "times", kMicrosecondsPerMillisecond),
             kMicrosecondsPerMillisecond);
    set_energy(trial, entry);
  } else if (value == entry.end() || !value->is_number()) {
    set_time(trial, fmt::format("no {} in the record", objective.name), {}, 1.0);
  } else {
    set_time(trial, objective.more_is_better ? 1.0 / value->get<double>() : value->get<double>(), {}, 1.0);
  }
  trial.seconds = {.compile = number(entry, "compile_time") / kMillisecondsPerSecond,
                   .validate = number(entry, "verification_time") / kMillisecondsPerSecond,
                   .time = number(entry, "benchmark_time") / kMillisecondsPerSecond,
                   .overhead = number(entry, "framework_time") / kMillisecondsPerSecond};
  trial.resources = {.registers = whole(entry, "registers"),
                     .spill_bytes = whole(entry, "spill_bytes"),
                     .stack_bytes = whole(entry, "stack_bytes"),
                     .shared_bytes = whole(entry, "shared_bytes"),
                     .occupancy = number(entry, "occupancy")};
  return trial;
}

Result<Recording> read_kernel_tuner(const Json& root) {
  Recording recording;
  if (const auto device = root.find("device_name"); device != root.end() && device->is_string()) {
    recording.device_name = device->get<std::string>();
  }
  if (const auto kernel = root.find("kernel_name"); kernel != root.end() && kernel->is_string()) {
    recording.kernel_name = kernel->get<std::string>();
  }
  for (const Json& name : root["tune_params_keys"]) {
    recording.names.push_back(name.get<std::string>());
    const auto values = root["tune_params"].find(recording.names.back());
    if (values == root["tune_params"].end()) {
      return broken(fmt::format("tune_params does not list the values of '{}'", recording.names.back()));
    }
    recording.values.emplace_back(values->begin(), values->end());
  }
  if (const auto defaults = root.find("defaults"); defaults != root.end()) {
    HONE_ASSIGN(recording.defaults, values_of(*defaults, recording.names));
  }
  HONE_ASSIGN(const FileObjective objective, file_objective(root));
  for (const auto& [key, entry] : root["cache"].items()) {
    HONE_ASSIGN(auto values, cached_values(key, entry, recording));
    recording.records.push_back({std::move(values), cached_trial(entry, objective)});
  }
  return recording;
}

/// Microseconds in the file's unit, which T4 spells "miliseconds".
double t4_scale(const Json& root) {
  const std::string unit = root.value("/metadata/timeunit"_json_pointer, std::string("milliseconds"));
  constexpr std::array<std::pair<std::string_view, double>, 5> kUnits{{{"mil", 1e3}, {"ms", 1e3}, {"mic", 1.0}, {"us", 1.0}, {"n", 1e-3}}};
  const auto known = std::ranges::find_if(kUnits, [&](const auto& entry) { return unit.starts_with(entry.first); });
  return known == kUnits.end() ? 1e6 : known->second;
}

RecordedTrial t4_trial(const Json& result, double scale) {
  RecordedTrial trial;
  const Json none;
  const auto at = result.find("times");
  const Json& times = at == result.end() ? none : *at;
  const Json time = result.value("/measurements/0/value"_json_pointer, none);
  std::vector<double> repeats = times.is_object() ? samples(times, "runtimes", scale) : std::vector<double>{};
  const double seconds = scale / 1e6;
  if (times.is_object()) {
    trial.seconds = {.compile = number(times, "compilation") * seconds,
                     .validate = number(times, "validation") * seconds,
                     .time = std::accumulate(repeats.begin(), repeats.end(), 0.0) / 1e6,
                     .overhead = number(times, "framework") * seconds};
  }
  const std::string validity = result.value("invalidity", "correct");
  if (validity != "correct") {
    trial.outcome = outcome_of(validity);
    trial.detail = time.is_string() ? time.get<std::string>() : validity;
    return trial;
  }
  set_time(trial, time, std::move(repeats), scale);
  return trial;
}

Result<Recording> read_t4(const Json& root) {
  Recording recording;
  const double scale = t4_scale(root);
  for (const Json& result : root["results"]) {
    const auto configuration = result.find("configuration");
    if (configuration == result.end() || !configuration->is_object() || configuration->empty()) {
      return broken("a result has no configuration");
    }
    if (const std::string objective = result.value("/objectives/0"_json_pointer, std::string("time"));
        objective.find("time") == std::string::npos) {
      return broken(fmt::format("it was recorded for the objective '{}': only T4 files with times can be read", objective));
    }
    if (recording.names.empty()) {
      for (const auto& [name, value] : configuration->items()) {
        recording.names.push_back(name);
      }
    }
    HONE_ASSIGN(auto values, values_of(*configuration, recording.names));
    recording.records.push_back({std::move(values), t4_trial(result, scale)});
  }
  return recording;
}

}  // namespace

Result<Recording> read_recording(const Json& root) {
  try {
    if (root.contains("tune_params_keys") && root.contains("tune_params") && root.contains("cache")) {
      return read_kernel_tuner(root);
    }
    if (root.contains("results")) {
      return read_t4(root);
    }
  } catch (const Json::exception& wrong) {
    return broken(fmt::format("it violates the format: {}", wrong.what()));
  }
  return broken("neither a Kernel Tuner cache (tune_params_keys, tune_params, cache) nor a T4 file (results)");
}

}  // namespace hone::recorded
