#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "engine/replay/recorded_json.hpp"
#include "engine/replay/recorded_space.hpp"

namespace hone {
namespace {

using recorded::Json;

constexpr double kMicrosecondsPerMillisecond = 1e3, kMillisecondsPerSecond = 1e3;

Json value_json(const Parameter& parameter, const Value& value) {
  const auto at = std::ranges::find(parameter.values, value);
  if (!parameter.labels.empty() && at != parameter.values.end()) {
    return parameter.labels.at(static_cast<std::size_t>(at - parameter.values.begin()));
  }
  switch (value.kind()) {
    case Value::Kind::kBoolean:
      return value.boolean();
    case Value::Kind::kReal:
      return value.real();
    case Value::Kind::kInteger:
      break;
  }
  return value.integer();
}

Json header_json(const RecordedSubject& subject) {
  Json header{{"device_name", subject.device_name},   {"kernel_name", subject.kernel},      {"problem_size", text(subject.problem.shape)},
              {"dtype", name(subject.problem.dtype)}, {"source_hash", subject.source_hash}, {"objective", "time"}};
  Json names = Json::array(), values = Json::object(), defaults = Json::object();
  for (const Parameter& parameter : subject.parameters) {
    names.push_back(parameter.name);
    Json& list = values[parameter.name] = Json::array();
    for (const Value& value : parameter.values) {
      list.push_back(value_json(parameter, value));
    }
    defaults[parameter.name] = value_json(parameter, parameter.default_value);
  }
  header["tune_params_keys"] = std::move(names);
  header["tune_params"] = std::move(values);
  header["defaults"] = std::move(defaults);
  return header;
}

Json trial_json(const std::vector<Parameter>& parameters, const Trial& trial) {
  Json entry = Json::object();
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    entry[parameters[p].name] = value_json(parameters[p], trial.configuration.values.at(p));
  }
  // Who reads a word in place of the time takes it for a failure, and keeps what was never validated from winning there, too.
  entry["time"] =
      trial.outcome == Outcome::kOk ? Json(trial.measurement.median_us / kMicrosecondsPerMillisecond) : Json(name(trial.outcome));
  if (has_time(trial.outcome)) {
    Json& times = entry["times"] = Json::array();
    for (const double sample : trial.measurement.samples_us) {
      times.push_back(trial.factor * sample / kMicrosecondsPerMillisecond);
    }
  }
  if (trial.outcome == Outcome::kOk && trial.measurement.energy_j) {
    const Figure& energy = *trial.measurement.energy_j;
    entry["energy"] = energy.value;
    entry["energy_ci95"] = {energy.low, energy.high};
  }
  entry["compile_time"] = trial.seconds.compile * kMillisecondsPerSecond;
  entry["verification_time"] = trial.seconds.validate * kMillisecondsPerSecond;
  entry["benchmark_time"] = trial.seconds.time * kMillisecondsPerSecond;
  entry["framework_time"] = trial.seconds.overhead * kMillisecondsPerSecond;
  entry["registers"] = trial.resources.registers;
  entry["spill_bytes"] = trial.resources.spill_bytes;
  entry["stack_bytes"] = trial.resources.stack_bytes;
  entry["shared_bytes"] = trial.resources.shared_bytes;
  entry["occupancy"] = trial.resources.occupancy;
  return entry;
}

/// Kernel Tuner's key of an entry: the values, joined by commas, spelled as Python does.
std::string key_of(const std::vector<Parameter>& parameters, const Configuration& configuration) {
  std::string key;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const Json value = value_json(parameters[p], configuration.values.at(p));
    const std::string word = value.is_string()    ? value.get<std::string>()
                             : value.is_boolean() ? (value.get<bool>() ? "True" : "False")
                                                  : value.dump();
    key += (p == 0 ? "" : ",") + word;
  }
  return key;
}

/// A name of a device or a message of a plugin may not be UTF-8.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// One entry a line, as Kernel Tuner writes it: differences stay readable.
std::string file_text(const RecordedSubject& subject, const std::vector<Trial>& trials) {
  std::string all = text_of(header_json(subject));
  all.pop_back();
  all += ",\n\"cache\": {";
  const char* separator = "\n";
  for (const Trial& trial : trials) {
    all += fmt::format("{}{}: {}", separator, text_of(Json(key_of(subject.parameters, trial.configuration))),
                       text_of(trial_json(subject.parameters, trial)));
    separator = ",\n";
  }
  return all + "\n}\n}\n";
}

struct CloseGz {
  void operator()(gzFile file) const { gzclose(file); }
};

}  // namespace

Result<void> write_recorded_space(const std::filesystem::path& file, const RecordedSubject& subject, const std::vector<Trial>& trials) {
  if (trials.empty()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("recorded space '{}': there are no trials to write", file.string())};
  }
  const std::string all = file_text(subject, trials);
  // Whole or not at all; what is no regular file is written as it is.
  std::error_code failed;
  const bool replaces = !std::filesystem::exists(file, failed) || std::filesystem::is_regular_file(file, failed);
  const std::filesystem::path draft = replaces ? std::filesystem::path(file.string() + ".part") : file;
  // "T": as it is, without compression.
  std::unique_ptr<std::remove_pointer_t<gzFile>, CloseGz> stream(gzopen(draft.c_str(), file.extension() == ".gz" ? "wb9" : "wbT"));
  bool written = stream && gzwrite(stream.get(), all.data(), static_cast<unsigned>(all.size())) == static_cast<int>(all.size());
  written = stream && gzclose(stream.release()) == Z_OK && written;
  if (written && replaces) {
    std::filesystem::rename(draft, file, failed);
    written = !failed;
  }
  if (!written) {
    if (replaces) {
      std::filesystem::remove(draft, failed);
    }
    return Error{ErrorCode::kIo, fmt::format("recorded space '{}' cannot be written", file.string())};
  }
  return {};
}

}  // namespace hone
