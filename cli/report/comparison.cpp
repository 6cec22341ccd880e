// Sessions of a report beside each other.
#include <fmt/format.h>

#include <algorithm>

#include "cli/report/markup.hpp"
#include "cli/report/pictures.hpp"
#include "cli/report/sections.hpp"

namespace hone::cli::page {
namespace {

using report::SessionStudy;

std::string name_of(const SessionStudy& study) { return fmt::format("session {}", study.session.id); }

Table sessions_table(std::span<const SessionStudy> studies) {
  Table table{.caption = "The sessions of this report",
              .header = {"session", "device", "default", "winner", "speedup", "trials", "seconds"},
              .rows = {},
              .words = {1}};
  for (const SessionStudy& study : studies) {
    const auto time = [&](const std::optional<std::size_t>& i) {
      return i ? time_text(study.trials[*i].measurement.median_us) : std::string("none");
    };
    table.rows.push_back({title_of(study), study.session.product, time(study.standard), time(study.winner),
                          study.speedup > 0.0 ? factor_text(study.speedup) : "unknown", std::to_string(study.trials.size()),
                          fmt::format("{:.1f}", study.session.elapsed_seconds)});
  }
  return table;
}

/// The value of a parameter in the winner; empty where there is none.
std::string winning_value(const SessionStudy& study, const std::string& parameter) {
  const auto at = std::ranges::find(study.parameters, parameter, &Parameter::name);
  if (!study.winner || at == study.parameters.end()) {
    return "";
  }
  return text(*at, study.trials[*study.winner].configuration.values.at(static_cast<std::size_t>(at - study.parameters.begin())));
}

/// Of one kernel: the parameters in which the winners differ.
std::string winners_html(const std::vector<const SessionStudy*>& studies) {
  Table table{.caption = fmt::format("{}: where the winners differ", studies.front()->session.kernel), .header = {"parameter"}, .rows = {}};
  std::vector<std::string> same;
  for (const SessionStudy* const study : studies) {
    table.header.push_back(name_of(*study));
  }
  for (const Parameter& parameter : studies.front()->parameters) {
    std::vector<std::string> row{parameter.name};
    for (const SessionStudy* const study : studies) {
      row.push_back(winning_value(*study, parameter.name));
    }
    const bool differs = std::ranges::any_of(row.begin() + 1, row.end(), [&](const std::string& value) { return value != row[1]; });
    if (differs) {
      table.rows.push_back(std::move(row));
    } else {
      same.push_back(parameter.name + "=" + row[1]);
    }
  }
  std::string shared;
  for (const std::string& one : same) {
    shared += (shared.empty() ? "" : ", ") + one;
  }
  return (table.rows.empty() ? "" : html(table)) + (same.empty() ? "" : paragraph("All winners have " + shared + "."));
}

/// What the winner of `from` takes in `in`, as a multiple of that session's best.
std::string cost_of(const SessionStudy& from, const SessionStudy& in) {
  if (!from.winner || !in.winner) {
    return "";
  }
  const std::string wanted = config_text(from, from.trials[*from.winner]);
  for (const Trial& trial : in.trials) {
    if (config_text(in, trial) == wanted) {
      return trial.outcome == Outcome::kOk ? factor_text(trial.measurement.median_us / in.trials[*in.winner].measurement.median_us)
                                           : std::string(name(trial.outcome));
    }
  }
  return "not tried";
}

Table costs_table(const std::vector<const SessionStudy*>& studies) {
  Table table{.caption = fmt::format("{}: what one session's winner takes in another, of the best there", studies.front()->session.kernel),
              .header = {"the winner of"},
              .rows = {}};
  for (const SessionStudy* const in : studies) {
    table.header.push_back("in " + name_of(*in));
  }
  for (const SessionStudy* const from : studies) {
    std::vector<std::string>& row = table.rows.emplace_back(std::vector<std::string>{name_of(*from)});
    for (const SessionStudy* const in : studies) {
      row.push_back(cost_of(*from, *in));
    }
  }
  return table;
}

}  // namespace

std::string side_by_side(std::span<const SessionStudy> studies) {
  const std::optional<Svg> svg = sessions_picture(studies);
  std::string body = svg ? figure(*svg, "How much faster than the default each session's winner is, with the interval.") : "";
  body += html(sessions_table(studies));
  std::vector<std::string> kernels;
  for (const SessionStudy& study : studies) {
    if (std::ranges::find(kernels, study.session.kernel) != kernels.end()) {
      continue;
    }
    kernels.push_back(study.session.kernel);
    std::vector<const SessionStudy*> same;
    for (const SessionStudy& other : studies) {
      if (other.session.kernel == study.session.kernel && other.winner) {
        same.push_back(&other);
      }
    }
    if (same.size() > 1) {
      body += winners_html(same) + html(costs_table(same));
    }
  }
  return body;
}

}  // namespace hone::cli::page
