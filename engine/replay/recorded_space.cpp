#include "engine/replay/recorded_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/base/digest.hpp"
#include "engine/replay/recorded_formats.hpp"

namespace hone {
namespace {

using recorded::Json;
using recorded::Recording;
using Rows = std::vector<std::vector<std::uint16_t>>;

/// The values that occur, numbers in their order: a file that lists none.
std::vector<Json> occurring_values(const Recording& recording, std::size_t parameter) {
  std::vector<Json> values;
  for (const auto& record : recording.records) {
    if (std::ranges::find(values, record.values[parameter]) == values.end()) {
      values.push_back(record.values[parameter]);
    }
  }
  if (std::ranges::all_of(values, [](const Json& value) { return value.is_number(); })) {
    std::ranges::sort(values);
  }
  return values;
}

std::string label(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

Parameter parameter_of(const std::string& name, const std::vector<Json>& values) {
  Parameter parameter;
  parameter.name = name;
  const auto all = [&](auto is) { return std::ranges::all_of(values, is); };
  if (all([](const Json& value) { return value.is_number_integer(); })) {
    std::ranges::transform(values, std::back_inserter(parameter.values),
                           [](const Json& value) { return Value(value.get<std::int64_t>()); });
  } else if (all([](const Json& value) { return value.is_boolean(); })) {
    parameter.kind = ParameterKind::kBoolean;
    parameter.cpp_type = "bool";
    std::ranges::transform(values, std::back_inserter(parameter.values), [](const Json& value) { return Value(value.get<bool>()); });
  } else if (all([](const Json& value) { return value.is_number(); })) {
    parameter.kind = ParameterKind::kReal;
    parameter.cpp_type = "double";
    std::ranges::transform(values, std::back_inserter(parameter.values), [](const Json& value) { return Value(value.get<double>()); });
  } else {
    parameter.kind = ParameterKind::kEnumeration;
    for (const Json& value : values) {
      parameter.values.emplace_back(static_cast<std::int64_t>(parameter.values.size()));
      parameter.labels.push_back(label(value));
    }
  }
  // Most records name no default. The middle of a list is a fairer place to start than its end.
  parameter.default_value = parameter.values.empty() ? Value() : parameter.values[parameter.values.size() / 2];
  return parameter;
}

/// Those of a recording that names its defaults are set to them.
void set_default(Parameter& parameter, const Recording& recording, std::size_t p) {
  const auto at = p < recording.defaults.size() ? std::ranges::find(recording.values[p], recording.defaults[p]) : recording.values[p].end();
  if (at != recording.values[p].end()) {
    parameter.default_value = parameter.values[static_cast<std::size_t>(at - recording.values[p].begin())];
  }
}

Result<Rows> rows_of(const Recording& recording) {
  Rows rows;
  for (const auto& record : recording.records) {
    auto& row = rows.emplace_back();
    for (std::size_t p = 0; p < recording.names.size(); ++p) {
      const auto& values = recording.values[p];
      const auto at = std::ranges::find(values, record.values[p]);
      if (at == values.end()) {
        return Error{ErrorCode::kInvalidArgument, fmt::format("a record has {} = {}, which is not among the listed values",
                                                              recording.names[p], label(record.values[p]))};
      }
      row.push_back(static_cast<std::uint16_t>(at - values.begin()));
    }
  }
  return rows;
}

std::string name_of(const std::filesystem::path& file) {
  std::string name = file.filename().string();
  for (const std::string_view ending : {".gz", ".json"}) {
    if (name.ends_with(ending)) {
      name.erase(name.size() - ending.size());
    }
  }
  return name;
}

double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::ranges::nth_element(samples, middle);
  if (samples.size() % 2 == 1) {
    return *middle;
  }
  return (*middle + *std::max_element(samples.begin(), middle)) / 2.0;
}

Configuration configuration_of(const std::vector<Parameter>& parameters, const std::vector<std::uint16_t>& row) {
  Configuration configuration;
  for (std::size_t p = 0; p < row.size(); ++p) {
    configuration.values.push_back(parameters[p].values[row[p]]);
  }
  return configuration;
}

}  // namespace

struct RecordedSpace::Impl {
  std::shared_ptr<const SearchSpace> space;
  std::string name, kernel_name, device_name, digest;
  std::vector<RecordedTrial> trials;  ///< by position
  double best_us = std::numeric_limits<double>::infinity(), best_time_us = std::numeric_limits<double>::infinity();
};

namespace {

Error in_file(const std::filesystem::path& file, const Error& error) {
  return {error.code, fmt::format("recorded space '{}': {}", file.string(), error.message)};
}

Result<Recording> recording_of(const std::string& text, const std::filesystem::path& file) {
  HONE_ASSIGN(const Json root, recorded::parse_recorded(text, file));
  auto recording = recorded::read_recording(root);
  if (!recording) {
    return in_file(file, recording.error());
  }
  if (recording->values.empty()) {
    for (std::size_t p = 0; p < recording->names.size(); ++p) {
      recording->values.push_back(occurring_values(*recording, p));
    }
  }
  return recording;
}

}  // namespace

Result<RecordedSpace> RecordedSpace::load(const std::filesystem::path& file) {
  HONE_ASSIGN(const std::string text, recorded::read_text(file));
  return parse(text, file);
}

Result<RecordedSpace> RecordedSpace::parse(const std::string& text, const std::filesystem::path& file) {
  HONE_ASSIGN(Recording recording, recording_of(text, file));
  std::vector<Parameter> parameters;
  for (std::size_t p = 0; p < recording.names.size(); ++p) {
    parameters.push_back(parameter_of(recording.names[p], recording.values[p]));
    set_default(parameters.back(), recording, p);
  }
  const auto rows = rows_of(recording);
  if (!rows) {
    return in_file(file, rows.error());
  }
  auto space = SearchSpace::from_rows(std::move(parameters), *rows);
  if (!space) {
    return in_file(file, space.error());
  }
  auto impl = std::make_unique<Impl>(Impl{.space = std::make_shared<const SearchSpace>(std::move(*space)),
                                          .name = name_of(file),
                                          .kernel_name = recording.kernel_name,
                                          .device_name = recording.device_name.empty() ? "unknown device" : recording.device_name,
                                          .digest = hone::digest(text),
                                          .trials = {}});
  if (impl->kernel_name.empty()) {
    impl->kernel_name = impl->name.substr(0, impl->name.find('.'));
  }
  impl->trials.resize(static_cast<std::size_t>(impl->space->size()));
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const auto position = impl->space->index(configuration_of(impl->space->parameters(), (*rows)[i]));
    RecordedTrial& trial = impl->trials[static_cast<std::size_t>(position.value())];
    trial = std::move(recording.records[i].trial);
    if (trial.outcome == Outcome::kOk) {
      impl->best_us = std::min(impl->best_us, median(trial.samples_us));
      impl->best_time_us = std::min(impl->best_time_us, trial.time_us);
    }
  }
  return RecordedSpace(std::move(impl));
}

RecordedSpace::RecordedSpace(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RecordedSpace::RecordedSpace(RecordedSpace&&) noexcept = default;
RecordedSpace& RecordedSpace::operator=(RecordedSpace&&) noexcept = default;
RecordedSpace::~RecordedSpace() = default;

const std::shared_ptr<const SearchSpace>& RecordedSpace::shared_space() const { return impl_->space; }
const std::string& RecordedSpace::name() const { return impl_->name; }
const std::string& RecordedSpace::kernel_name() const { return impl_->kernel_name; }
void RecordedSpace::rename(std::string name) { impl_->name = std::move(name); }
const std::string& RecordedSpace::device_name() const { return impl_->device_name; }
const std::string& RecordedSpace::digest() const { return impl_->digest; }
double RecordedSpace::best_us() const { return impl_->best_us; }
double RecordedSpace::best_time_us() const { return impl_->best_time_us; }

Result<void> RecordedSpace::check_objective(const Objective& objective) const {
  const auto has_it = [&objective](const RecordedTrial& trial) {
    Measurement measurement;
    measurement.samples_us = trial.samples_us;
    measurement.energy_j = trial.energy_j;
    return trial.outcome == Outcome::kOk && objective.of(measurement).has_value();
  };
  if (std::ranges::any_of(impl_->trials, has_it)) {
    return {};
  }
  return Error{ErrorCode::kInvalidArgument,
               objective.needs_energy()
                   ? fmt::format("recorded space '{}' holds no energies (\"energy\" of an entry, in J), as --objective {} needs", name(),
                                 hone::name(objective))
                   : fmt::format("recorded space '{}' has too few samples of each configuration for --objective {}: {} are needed", name(),
                                 hone::name(objective), objective.least_samples())};
}

const RecordedTrial* RecordedSpace::find(Count position) const {
  return position < impl_->trials.size() ? &impl_->trials[static_cast<std::size_t>(position)] : nullptr;
}

}  // namespace hone
