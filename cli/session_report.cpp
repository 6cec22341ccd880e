#include "cli/session_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "cli/device_report.hpp"
#include "cli/present.hpp"
#include "engine/report/failures.hpp"
#include "engine/tune/session.hpp"

namespace hone::cli {
namespace {

/// What a trial reached of the objective; infinity where it lacks that.
double value_of(const Objective& objective, const Trial& trial) {
  const std::optional<Figure> reached = objective.of(trial.measurement);
  return reached ? reached->value : std::numeric_limits<double>::infinity();
}

/// The right ones, the best first. One that lost its race after few samples is behind another in any case.
std::vector<const Trial*> ranked(const Objective& objective, const std::vector<Trial>& trials) {
  std::vector<const Trial*> right;
  for (const Trial& trial : trials) {
    if (trial.outcome == Outcome::kOk) {
      right.push_back(&trial);
    }
  }
  std::ranges::stable_sort(right, {}, [&](const Trial* trial) {
    return std::tuple(trial->measurement.raced_out, value_of(objective, *trial), trial->measurement.median_us);
  });
  return right;
}

Json trial_json(const std::vector<Parameter>& parameters, const Objective& objective, const Trial& trial) {
  Json object{{"config", json(parameters, trial.configuration)},
              {"outcome", name(trial.outcome)},
              {"detail", trial.detail},
              {"time_us", nullptr},
              {"ci95_us", nullptr},
              {"samples", trial.measurement.samples_us.size()},
              {"raced_out", trial.measurement.raced_out},
              {"by_graph", trial.measurement.by_graph},
              {"final_round", trial.final_round},
              {"device", trial.device},
              {"factor", trial.factor},
              {"max_error", trial.max_error},
              {"resources", json(trial.resources)},
              {"stages",
               {{"compile", trial.seconds.compile},
                {"validate", trial.seconds.validate},
                {"time", trial.seconds.time},
                {"overhead", trial.seconds.overhead}}}};
  if (!trial.measurement.samples_us.empty()) {
    object["time_us"] = trial.measurement.median_us;
  }
  if (trial.outcome == Outcome::kOk) {
    object["ci95_us"] = {trial.measurement.ci95_low_us, trial.measurement.ci95_high_us};
    add_reached(object, objective, trial.measurement);
  }
  return object;
}

/// Where its time is from: the final round decides, and who lost a race has few samples.
std::string round_name(const Trial& trial) { return trial.final_round ? "final" : trial.measurement.raced_out ? "raced" : "search"; }

std::string best_text(const std::vector<Parameter>& parameters, const Objective& objective, const std::vector<const Trial*>& right,
                      std::size_t top) {
  std::vector<std::vector<std::string>> rows{
      {objective.is_time() ? "  time" : "  " + described(objective), "of best", "round", "registers", "spills", "configuration"}};
  for (const Trial* trial : right) {
    if (rows.size() > top) {
      break;
    }
    rows.push_back({"  " + reached_text(objective, trial->measurement),
                    fmt::format("{:.2f}x", value_of(objective, *trial) / value_of(objective, *right.front())), round_name(*trial),
                    std::to_string(trial->resources.registers), std::to_string(trial->resources.spill_bytes),
                    text(parameters, trial->configuration)});
  }
  return fmt::format("\nbest {} of {} correct ones\n", rows.size() - 1, right.size()) + table(rows);
}

/// How close to the best the best configuration with each value comes: values that are far off can go, parameters that tell nothing as
/// well.
std::string values_text(const std::vector<Parameter>& parameters, const Objective& objective, const std::vector<const Trial*>& right) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    std::vector<std::string> row{"  " + parameters[i].name};
    for (const Value& value : parameters[i].values) {
      const auto best = std::ranges::find(right, value, [i](const Trial* trial) { return trial->configuration.values.at(i); });
      row.push_back(fmt::format(
          "{}: {}", text(parameters[i], value),
          best == right.end() ? "-" : fmt::format("{:.2f}x", value_of(objective, **best) / value_of(objective, *right.front()))));
    }
    rows.push_back(std::move(row));
  }
  return "\nthe best with each value, as a fraction of the overall best (-: not measured)\n" + table(rows);
}

std::string failures_text(const std::vector<Parameter>& parameters, const std::vector<Trial>& trials) {
  std::map<Outcome, std::pair<std::size_t, const Trial*>> failures;
  for (const Trial& trial : trials) {
    if (is_failure(trial.outcome)) {
      auto& [count, first] = failures.try_emplace(trial.outcome, 0, &trial).first->second;
      ++count;
    }
  }
  std::string lines = failures.empty() ? "" : "\nfailures, with the first of each kind\n";
  for (const auto& [outcome, failure] : failures) {
    lines += fmt::format("  {} {}: {}\n    {}\n", failure.first, name(outcome), text(parameters, failure.second->configuration),
                         report::headline(failure.second->detail));
  }
  return lines;
}

std::string too_slow_text(const std::vector<Trial>& trials) {
  const auto count = std::ranges::count(trials, Outcome::kTooSlow, &Trial::outcome);
  return count == 0 ? "" : fmt::format("\n{} dropped after one cold run that was far behind the fastest\n", count);
}

}  // namespace

std::string_view state_name(const SessionInfo& session) {
  if (session.state == SessionState::kDone) {
    return "done";
  }
  return session.owner_alive ? "running" : "interrupted";
}

Json json(const SessionInfo& session) {
  return {{"session", session.id},
          {"state", state_name(session)},
          {"kernel", session.kernel},
          {"dtype", session.dtypes},
          {"shape", json(session.problem.shape)},
          {"device", session.device_id},
          {"product", session.product},
          {"strategy", session.strategy},
          {"seed", session.seed},
          {"budget", session.budget},
          {"fix", restriction_text(session)},
          {"likely", name(likely_of(session))},
          {"objective", session.purpose.objective},
          {"trials", session.trials},
          {"best_us", session.best_us ? Json(*session.best_us) : Json(nullptr)},
          {"seconds", session.elapsed_seconds},
          {"created_at", session.created_at},
          {"updated_at", session.updated_at}};
}

Output report(const SessionInfo& session, const std::vector<Parameter>& parameters, const std::vector<Trial>& trials,
              const std::vector<Control>& controls, std::size_t top) {
  const Objective objective = objective_of(session.purpose);
  Output output{.json = json(session), .text = ""};
  const std::vector<DeviceShare> devices = device_shares(split_device_ids(session.device_id), trials, controls);
  output.json["devices"] = json(devices);
  output.json["results"] = Json::array();
  for (const Trial& trial : trials) {
    output.json["results"].push_back(trial_json(parameters, objective, trial));
  }
  const std::string fixed = restriction_text(session);
  output.text = fmt::format("session {}: {} {} {} on {} ({})\n{}: {} trials in {:.1f} s by {}, seed {}, budget {}{}{}{}\n", session.id,
                            session.kernel, session.dtypes, text(session.problem.shape), session.device_id, session.product,
                            state_name(session), session.trials, session.elapsed_seconds, session.strategy, session.seed, session.budget,
                            fixed.empty() ? "" : fmt::format(", with {}", fixed),
                            likely_of(session) == Likely::kFirst ? "" : fmt::format(", --likely {}", name(likely_of(session))),
                            objective.is_time() ? "" : fmt::format(", --objective {}", session.purpose.objective));
  output.text += devices_text(devices);
  if (const std::vector<const Trial*> right = ranked(objective, trials); !right.empty()) {
    output.text += best_text(parameters, objective, right, top) + values_text(parameters, objective, right);
  }
  output.text += too_slow_text(trials) + failures_text(parameters, trials);
  return output;
}

}  // namespace hone::cli
