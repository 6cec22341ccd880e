#include "cli/report/data.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "cli/present.hpp"
#include "cli/report/page.hpp"
#include "cli/report/pictures.hpp"
#include "cli/session_report.hpp"

namespace hone::cli::page {
namespace {

using report::SessionStudy;

Json measured_json(const SessionStudy& study, const std::optional<std::size_t>& trial) {
  if (!trial) {
    return nullptr;
  }
  const Trial& one = study.trials[*trial];
  Json object{{"trial", *trial + 1},
              {"config", cli::json(study.parameters, one.configuration)},
              {"time_us", one.measurement.median_us},
              {"ci95_us", {one.measurement.ci95_low_us, one.measurement.ci95_high_us}},
              {"samples", one.measurement.samples_us.size()},
              {"resources", cli::json(one.resources)}};
  add_reached(object, study.objective, one.measurement);
  return object;
}

Json known(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json search_json(const SessionStudy& study) {
  Json improvements = Json::array();
  for (const report::Improvement& one : study.improvements) {
    improvements.push_back({{"trials", one.trials}, {"seconds", known(one.seconds)}, {"time_us", one.time_us}});
  }
  Json object{{"improvements", std::move(improvements)}, {"trials_to_1_percent", study.trials_to_one_percent}, {"random", nullptr}};
  if (study.random) {
    Json expected = Json::array();
    for (const double time : study.random->expected_us) {
      expected.push_back(std::isfinite(time) ? Json(time) : Json(nullptr));
    }
    object["random"] = {{"configurations", study.random->configurations},
                        {"whole_space", study.random->whole_space},
                        {"best_us", study.random->best_us},
                        {"trials_to_1_percent", study.random->draws_to_winner > 0 ? Json(study.random->draws_to_winner) : Json(nullptr)},
                        {"expected_us", std::move(expected)}};
  }
  return object;
}

Json importance_json(const SessionStudy& study) {
  const report::Effects& effects = study.effects;
  const auto name = [&](std::size_t parameter) { return study.parameters[parameter].name; };
  Json parameters = Json::array(), pairs = Json::array(), reach = Json::array();
  for (const report::ParameterStudy& one : effects.parameters) {
    Json values = Json::array();
    for (const report::ValueStudy& value : one.values) {
      values.push_back({{"value", value.text},
                        {"best_us", known(value.best_us)},
                        {"effect", known(value.effect)},
                        {"right_trials", value.right},
                        {"too_slow_trials", value.too_slow},
                        {"failed_trials", value.failed}});
    }
    parameters.push_back({{"name", name(one.index)},
                          {"alone", one.share},
                          {"alone_at_top", one.share_at_top},
                          {"joint", one.joint},
                          {"joint_at_top", one.joint_at_top},
                          {"reached", std::move(values)}});
  }
  for (const report::PairStudy& pair : effects.pairs) {
    pairs.push_back({{"names", {name(pair.first), name(pair.second)}}, {"joint", pair.share}, {"joint_at_top", pair.share_at_top}});
  }
  for (const report::Reach& one : effects.reach) {
    Json names = Json::array();
    for (std::size_t i = 0; i < one.free; ++i) {
      names.push_back(name(effects.parameters[i].index));
    }
    reach.push_back({{"free", std::move(names)}, {"best_us", known(one.best_us)}, {"right_trials", one.right}});
  }
  return {{"observations", effects.observations},
          {"whole_space", study.effects_of_whole_space},
          {"rest", effects.rest},
          {"rest_at_top", effects.rest_at_top},
          {"explained", effects.explained},
          {"explained_at_top", effects.explained_at_top},
          {"parameters", std::move(parameters)},
          {"pairs", std::move(pairs)},
          {"reach", std::move(reach)}};
}

Json expectations_json(const SessionStudy& study) {
  Json list = Json::array();
  for (const report::ExpectationStudy& one : study.expectations) {
    list.push_back({{"text", one.expectation.text},
                    {"line", one.expectation.line},
                    {"comment", one.expectation.comment},
                    {"verdict", report::name(one.verdict)},
                    {"broken_by_best", one.broken_by_winner},
                    {"meeting", one.meeting},
                    {"breaking", one.breaking},
                    {"best_meeting_us", known(one.best_meeting_us)},
                    {"best_breaking_us", known(one.best_breaking_us)}});
  }
  return list;
}

Json failures_json(const SessionStudy& study) {
  Json list = Json::array();
  for (const report::FailureKind& kind : study.failures) {
    Json messages = Json::array();
    for (const report::Message& message : kind.messages) {
      messages.push_back({{"text", message.text}, {"trials", message.count}});
    }
    list.push_back({{"outcome", name(kind.outcome)},
                    {"trials", kind.count},
                    {"messages", std::move(messages)},
                    {"further_messages", kind.further},
                    {"example", kind.example},
                    {"common", kind.common}});
  }
  return list;
}

Json stages_json(const SessionStudy& study) {
  Json list = Json::array();
  for (const report::StageStudy& stage : study.stages) {
    list.push_back({{"group", stage.what},
                    {"trials", stage.trials},
                    {"compile", stage.seconds.compile},
                    {"validate", stage.seconds.validate},
                    {"time", stage.seconds.time},
                    {"overhead", stage.seconds.overhead}});
  }
  return list;
}

Json device_json(const report::DeviceStudy& device) {
  return {{"readings", device.readings},
          {"sm_clock_range_mhz", {device.lowest_mhz, device.highest_mhz}},
          {"highest_temperature_c", device.hottest_c},
          {"highest_power_w", device.highest_w},
          {"throttled", report::throttle_words(device.throttle_reasons)},
          {"throttled_trials", device.throttled_trials},
          {"discarded_samples", device.discarded_samples}};
}

/// A field of a line of CSV.
std::string field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  }
  return quoted + "\"";
}

std::vector<std::string> parameter_names(std::span<const SessionStudy> studies) {
  std::vector<std::string> names;
  for (const SessionStudy& study : studies) {
    for (const Parameter& parameter : study.parameters) {
      if (std::ranges::find(names, parameter.name) == names.end()) {
        names.push_back(parameter.name);
      }
    }
  }
  return names;
}

std::string csv_row(const SessionStudy& study, std::size_t i, const std::vector<std::string>& names) {
  const Trial& trial = study.trials[i];
  const bool timed = has_time(trial.outcome);
  const auto number = [](double value) { return fmt::format("{:.6g}", value); };
  std::vector<std::string> fields{std::to_string(study.session.id),
                                  field(study.session.kernel),
                                  field(study.session.dtypes),
                                  field(text(study.session.problem.shape)),
                                  field(study.session.product),
                                  std::to_string(i + 1),
                                  trial.elapsed_seconds ? number(*trial.elapsed_seconds) : ""};
  for (const std::string& name : names) {
    const auto at = std::ranges::find(study.parameters, name, &Parameter::name);
    fields.push_back(at == study.parameters.end()
                         ? ""
                         : field(text(*at, trial.configuration.values.at(static_cast<std::size_t>(at - study.parameters.begin())))));
  }
  fields.insert(fields.end(),
                {std::string(name(trial.outcome)), timed ? number(trial.measurement.median_us) : "",
                 timed ? number(trial.measurement.ci95_low_us) : "", timed ? number(trial.measurement.ci95_high_us) : "",
                 std::to_string(trial.measurement.samples_us.size()), trial.measurement.raced_out ? "1" : "0",
                 trial.final_round ? "1" : "0", number(trial.seconds.compile), number(trial.seconds.validate), number(trial.seconds.time),
                 number(trial.seconds.overhead), std::to_string(trial.resources.registers), std::to_string(trial.resources.spill_bytes),
                 std::to_string(trial.resources.shared_bytes), number(trial.resources.occupancy), number(trial.readings.sm_clock_mhz),
                 trial.measurement.energy_j ? number(trial.measurement.energy_j->value) : "", field(trial.detail)});
  return fmt::format("{}\r\n", fmt::join(fields, ","));
}

/// For terminals of any locale.
std::string ascii(std::string text) {
  for (const auto& [what, with] : {std::pair<std::string_view, std::string_view>{"µ", "u"}, {"×", "x"}, {"±", "+-"}, {"…", "..."}}) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
      text.replace(at, what.size(), with);
    }
  }
  return text;
}

}  // namespace

Json json(const SessionStudy& study) {
  Json object = cli::json(study.session);
  object["default"] = measured_json(study, study.standard);
  object["best"] = measured_json(study, study.winner);
  object["tied"] = Json::array();
  for (const std::size_t tied : study.tied) {
    object["tied"].push_back(measured_json(study, tied));
  }
  object["final_round"] = study.final_round;
  object["speedup"] = study.speedup;
  object["speedup_range"] = {study.speedup_low, study.speedup_high};
  object["gflops"] = study.winner_gflops.value_or(0.0);
  object["gbytes_per_second"] = study.winner_gbytes_per_second.value_or(0.0);
  object["limits"] = Json::array();
  for (const report::LimitStudy& limit : study.limits) {
    object["limits"].push_back({{"trial", limit.trial + 1}, {"limit", cli::json(limit.place)}, {"resident", cli::json(limit.occupancy)}});
  }
  object["front"] = Json::array();
  for (const std::size_t i : study.front) {
    object["front"].push_back(measured_json(study, i));
  }
  object["search"] = search_json(study);
  object["importance"] = importance_json(study);
  object["expectations"] = expectations_json(study);
  object["failure_kinds"] = failures_json(study);
  object["spent"] = stages_json(study);
  object["device_readings"] = device_json(study.device);
  object["typical_noise"] = known(study.typical_noise);
  return object;
}

std::string csv(std::span<const SessionStudy> studies) {
  const std::vector<std::string> names = parameter_names(studies);
  std::string text = "session,kernel,dtype,shape,product,trial,seconds";
  for (const std::string& name : names) {
    text += "," + field("c." + name);
  }
  text +=
      ",outcome,time_us,ci95_low_us,ci95_high_us,samples,raced_out,final_round,compile_seconds,validate_seconds,time_seconds,"
      "overhead_seconds,registers,spill_bytes,shared_bytes,occupancy,sm_clock_mhz,energy_j,detail\r\n";
  for (const SessionStudy& study : studies) {
    for (std::size_t i = 0; i < study.trials.size(); ++i) {
      text += csv_row(study, i, names);
    }
  }
  return text;
}

std::string summary_text(const SessionStudy& study) {
  std::string lines = fmt::format("{} on {}\n", title_of(study), study.session.product);
  const bool clear = study.winner && study.standard && study.winner != study.standard && study.speedup_low > 1.0;
  lines += fmt::format("answer   {}{}\n", clear ? factor_text(study.speedup) + " " : "", answer_text(study));
  if (study.winner) {
    lines += fmt::format("winner   {}\n", config_text(study, study.trials[*study.winner]));
    lines += study.tied.empty() ? "" : fmt::format("tied     {} more cannot be told from it\n", study.tied.size());
  }
  if (const bool top = study.effects.explains_top(); top || study.effects.explains()) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, study.effects.parameters.size()); ++i) {
      const report::ParameterStudy& one = study.effects.parameters[i];
      parts.push_back(fmt::format("{} {}", study.parameters[one.index].name,
                                  percent_text(top ? one.share_at_top + one.joint_at_top : one.share + one.joint)));
    }
    lines += fmt::format("matters  {} of the differences {}, alone or with one other\n", fmt::join(parts, ", "),
                         top ? "in the fastest quarter" : "in time");
  }
  for (const report::FailureKind& kind : study.failures) {
    lines += fmt::format("failed   {} {}: {}\n", kind.count, name(kind.outcome), kind.messages.empty() ? "" : kind.messages.front().text);
  }
  return ascii(std::move(lines));
}

}  // namespace hone::cli::page
