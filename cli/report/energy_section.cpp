// The section of a report on time against energy, and its picture.
#include <fmt/format.h>

#include <algorithm>

#include "cli/report/markup.hpp"
#include "cli/report/sections.hpp"

namespace hone::cli::page {
namespace {

using report::SessionStudy;

constexpr double kMicro = 1e6;

double joules_of(const Trial& trial) { return trial.measurement.energy_j->value; }
std::string energy_text(double joules) { return objective_text({Objective::Kind::kEnergy}, kMicro * joules); }
std::string energy_label(double joules) {
  return joules < 1e-3  ? fmt::format("{:g} µJ", 1e6 * joules)
         : joules < 1.0 ? fmt::format("{:g} mJ", 1e3 * joules)
                        : fmt::format("{:g} J", joules);
}
std::string axis_time(double microseconds) {
  return microseconds < 1e3 ? fmt::format("{:g} µs", microseconds) : fmt::format("{:g} ms", microseconds / 1e3);
}

bool is_drawn(const Trial& trial) {
  return trial.outcome == Outcome::kOk && trial.measurement.energy_j && trial.measurement.median_us > 0.0;
}

double watts_of(const Trial& trial) { return kMicro * joules_of(trial) / trial.measurement.median_us; }

}  // namespace

std::optional<Svg> energy_picture(const SessionStudy& study) {
  if (study.front.empty()) {
    return std::nullopt;
  }
  constexpr double kWide = 860.0, kHigh = 360.0, kLeft = 76.0, kTop = 12.0, kBottom = 306.0, kFar = 6.0;
  const Trial &fastest = study.trials[study.front.front()], &frugal = study.trials[study.front.back()];
  // What is many times worse in either would press the front together; it is put to the edge.
  Scale x{.low = fastest.measurement.median_us / 1.05,
          .high = 1.2 * fastest.measurement.median_us,
          .from = kLeft,
          .to = kWide - 20.0,
          .logarithmic = true};
  Scale y{.low = joules_of(frugal) / 1.05, .high = 1.2 * joules_of(frugal), .from = kBottom, .to = kTop, .logarithmic = true};
  for (const Trial& trial : study.trials) {
    if (is_drawn(trial)) {
      x.high = std::clamp(1.05 * trial.measurement.median_us, x.high, kFar * fastest.measurement.median_us);
      y.high = std::clamp(1.05 * joules_of(trial), y.high, kFar * joules_of(frugal));
    }
  }
  Svg svg(kWide, kHigh,
          fmt::format("Time against energy of a run. The front has {} configuration{}: from {} and {} to {} and {}.", study.front.size(),
                      study.front.size() == 1 ? "" : "s", time_text(fastest.measurement.median_us), energy_text(joules_of(fastest)),
                      time_text(frugal.measurement.median_us), energy_text(joules_of(frugal))));
  svg.x_axis(x, kTop, kBottom, 6, axis_time).y_axis(y, kLeft, kWide - 20.0, 6, energy_label);
  for (std::size_t i = 0; i < study.trials.size(); ++i) {
    const Trial& trial = study.trials[i];
    if (is_drawn(trial) && study.winner != i) {
      svg.circle(x(trial.measurement.median_us), y(joules_of(trial)), trial.measurement.raced_out ? 2.5 : 3.0,
                 trial.measurement.raced_out ? "p-raced" : "p-right",
                 fmt::format("trial {}: {}, {}, {}", i + 1, time_text(trial.measurement.median_us), energy_text(joules_of(trial)),
                             config_text(study, trial)));
    }
  }
  std::vector<std::pair<double, double>> points;
  for (const std::size_t i : study.front) {
    points.emplace_back(x(study.trials[i].measurement.median_us), y(joules_of(study.trials[i])));
  }
  svg.steps(points, "best");
  if (study.winner && is_drawn(study.trials[*study.winner])) {
    const Trial& winner = study.trials[*study.winner];
    svg.circle(x(winner.measurement.median_us), y(joules_of(winner)), 6.0, "p-win", "winner: " + config_text(study, winner));
  }
  svg.text(kLeft, kHigh - 8.0, "time of a run across, energy of a run up; line: the front; large point: the winner");
  return svg;
}

std::string energy_section(const SessionStudy& study) {
  const auto picture = energy_picture(study);
  if (!picture) {
    return "";
  }
  Table table{.caption = "The front: no configuration that was measured is better in both",
              .header = {"trial", "configuration", "time", "energy of a run", "interval", "power"},
              .rows = {},
              .words = {1}};
  for (const std::size_t i : study.front) {
    const Trial& trial = study.trials[i];
    if (study.winner == i) {
      table.strong.push_back(table.rows.size());
    }
    table.rows.push_back(
        {std::to_string(i + 1), config_text(study, trial), time_text(trial.measurement.median_us), energy_text(joules_of(trial)),
         fmt::format("{} to {}", energy_text(trial.measurement.energy_j->low), energy_text(trial.measurement.energy_j->high)),
         fmt::format("{:.0f} W", watts_of(trial))});
  }
  const std::string words =
      study.front.size() == 1
          ? "The fastest configuration also takes the least energy, so nothing has to be traded."
          : "From the fastest configuration to the one that takes the least energy, what must be paid in time for less energy. Times are "
            "of "
            "single cold calls, energies of runs that follow one another, so the power, one by the other, is approximate.";
  return paragraph(words) + figure(*picture, "Points of lost races have a single window of energy.") + html(table);
}

}  // namespace hone::cli::page
