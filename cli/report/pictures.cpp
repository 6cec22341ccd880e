#include "cli/report/pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/kernel/configuration_text.hpp"

namespace hone::cli::page {
namespace {

using report::SessionStudy;

constexpr double kWidth = 860.0;
constexpr std::size_t kMostTied = 5;

const Measurement& measured(const SessionStudy& study, std::size_t trial) { return study.trials[trial].measurement; }

std::string count_label(double value) { return fmt::format("{:.0f}", value); }
std::string plain_label(double value) { return fmt::format("{:g}", value); }
std::string percent_label(double value) { return fmt::format("{:.0f} %", 100.0 * value); }
std::string factor_label(double value) { return fmt::format("{:g}×", value); }

/// A label of a time axis: fewer digits than time_text() has.
std::string time_label(double microseconds) {
  return microseconds < 1e3   ? fmt::format("{:g} µs", microseconds)
         : microseconds < 1e6 ? fmt::format("{:g} ms", microseconds / 1e3)
                              : fmt::format("{:g} s", microseconds / 1e6);
}

/// What a trial reached of the session's objective; its time where it lacks that.
Figure reached(const SessionStudy& study, std::size_t trial) {
  const Measurement& one = measured(study, trial);
  return study.objective.of(one).value_or(Figure{one.median_us, one.ci95_low_us, one.ci95_high_us});
}

std::string reached_label(const SessionStudy& study, double value) {
  return study.objective.needs_energy() ? objective_text(study.objective, value) : time_text(value);
}

std::string energy_axis(double value) { return objective_text({Objective::Kind::kEnergy}, value); }
std::string edp_axis(double value) { return objective_text({Objective::Kind::kEdp}, value); }

/// Cut so that it fits into about so many pixels.
std::string shortened(const std::string& text, double pixels) {
  const auto most = static_cast<std::size_t>(pixels / 6.4);
  std::size_t kept = most > 1 ? most - 1 : 0;
  while (kept > 0 && kept < text.size() && (static_cast<unsigned char>(text[kept]) & 0xC0U) == 0x80U) {
    --kept;  // whole characters
  }
  return text.size() <= most ? text : text.substr(0, kept) + "…";
}

// ---- the search ----

/// Times in the picture of a search: from just below the best to what is far behind.
Scale search_times(const SessionStudy& study, double top, double bottom) {
  constexpr double kMostFactor = 30.0;
  double best = 0.0, worst = 0.0;
  for (const Trial& trial : study.trials) {
    if (has_time(trial.outcome) && trial.measurement.median_us > 0.0) {
      const double time = trial.measurement.median_us;
      best = best == 0.0 ? time : std::min(best, time);
      worst = std::max(worst, time);
    }
  }
  return {.low = best / 1.06, .high = std::clamp(worst, best * 1.3, best * kMostFactor), .from = bottom, .to = top, .logarithmic = true};
}

void draw_trial(Svg& svg, const SessionStudy& study, std::size_t i, double x, const Scale& y, double failure_y, bool all_titled) {
  const Trial& trial = study.trials[i];
  const bool titled = all_titled || study.winner == i || study.standard == i;
  const std::string time = has_time(trial.outcome) ? ", " + time_text(trial.measurement.median_us) : "";
  const std::string title = titled ? fmt::format("trial {}: {}{}, {}", i + 1, name(trial.outcome), time, config_text(study, trial)) : "";
  if (!has_time(trial.outcome)) {
    svg.cross(x, failure_y, 3.0, "p-bad", title);
  } else if (trial.outcome == Outcome::kTooSlow) {
    svg.triangle(x, y(trial.measurement.median_us), 3.0, "p-slow", title);
  } else if (study.winner == i) {
    svg.circle(x, y(trial.measurement.median_us), 6.0, "p-win", title);
  } else {
    svg.circle(x, y(trial.measurement.median_us), trial.measurement.raced_out ? 2.5 : 3.0,
               trial.measurement.raced_out ? "p-raced" : "p-right", title);
  }
}

void draw_legend(Svg& svg, double y, bool random) {
  double x = 62.0;
  const auto entry = [&](std::string_view text) {
    svg.text(x + 10.0, y + 4.0, text);
    x += 30.0 + 6.6 * static_cast<double>(text.size());
  };
  svg.circle(x, y, 3.0, "p-right");
  entry("right");
  svg.circle(x, y, 2.5, "p-raced");
  entry("lost a race");
  svg.triangle(x, y, 3.0, "p-slow");
  entry("too slow");
  svg.cross(x, y, 3.0, "p-bad");
  entry("failed");
  svg.circle(x, y, 6.0, "p-win");
  entry("winner");
  svg.line(x - 6.0, y, x + 6.0, y, "best");
  entry("best so far");
  svg.line(x - 6.0, y, x + 6.0, y, "standard");
  entry("default");
  if (random) {
    svg.line(x - 8.0, y, x + 6.0, y, "random");
    entry("random search, calculated");
  }
}

void draw_random(Svg& svg, const report::RandomSearch& random, const Scale& x, const Scale& y) {
  std::vector<std::pair<double, double>> points;
  const std::size_t step = std::max<std::size_t>(1, random.expected_us.size() / 300);
  for (std::size_t draw = 0; draw < random.expected_us.size(); draw += step) {
    if (random.expected_us[draw] <= y.high) {
      points.emplace_back(x(static_cast<double>(draw + 1)), y(random.expected_us[draw]));
    }
  }
  svg.polyline(points, "random");
}

}  // namespace

std::string config_text(const SessionStudy& study, const Trial& trial) { return text(study.parameters, trial.configuration); }

std::string title_of(const SessionStudy& study) {
  return fmt::format("{} {} {} (session {})", study.session.kernel, study.session.dtypes, text(study.session.problem.shape),
                     study.session.id);
}

std::vector<std::size_t> finalists_of(const SessionStudy& study) {
  std::vector<std::size_t> all;
  if (study.standard) {
    all.push_back(*study.standard);
  }
  if (study.winner && study.winner != study.standard) {
    all.push_back(*study.winner);
  }
  for (const std::size_t tied : study.tied) {
    if (tied != study.standard && all.size() < kMostTied + 2) {
      all.push_back(tied);
    }
  }
  return all;
}

std::string finalist_name(const SessionStudy& study, std::size_t trial) {
  const bool standard = study.standard == trial, winner = study.winner == trial;
  if (standard || winner) {
    return standard && winner ? "default = winner" : standard ? "default" : "winner";
  }
  return fmt::format("tied {}", std::ranges::find(study.tied, trial) - study.tied.begin() + 1);
}

std::optional<Svg> answer_picture(const SessionStudy& study) {
  const std::vector<std::size_t> finalists = finalists_of(study);
  if (!study.winner || finalists.empty()) {
    return std::nullopt;
  }
  double most = 0.0;
  for (const std::size_t i : finalists) {
    most = std::max(most, reached(study, i).high);
  }
  constexpr double kBar = 26.0, kRow = 38.0, kLeft = 120.0;
  const double bottom = 8.0 + kRow * static_cast<double>(finalists.size());
  std::string label = study.objective.is_time() ? "Time of the default and of the winner:"
                                                : fmt::format("The default and the winner, {}:", described(study.objective));
  Svg svg(kWidth, bottom + 26.0, [&] {
    for (const std::size_t i : finalists) {
      label += fmt::format(" {} {};", finalist_name(study, i), reached_label(study, reached(study, i).value));
    }
    return label;
  }());
  const Scale x{.low = 0.0, .high = most * 1.02, .from = kLeft, .to = kWidth - 120.0};
  svg.x_axis(x, 4.0, bottom, 6,
             study.objective.kind == Objective::Kind::kEnergy ? energy_axis
             : study.objective.needs_energy()                 ? edp_axis
                                                              : time_label);
  for (std::size_t row = 0; row < finalists.size(); ++row) {
    const std::size_t i = finalists[row];
    const Figure one = reached(study, i);
    const double y = 10.0 + kRow * static_cast<double>(row), middle = y + kBar / 2.0;
    const std::string_view look = study.winner == i ? "bar" : study.standard == i ? "bar-standard" : "bar-soft";
    svg.rect(kLeft, y, x(one.value) - kLeft, kBar, look, config_text(study, study.trials[i]));
    svg.line(x(one.low), middle, x(one.high), middle, "whisker");
    svg.line(x(one.low), middle - 5.0, x(one.low), middle + 5.0, "whisker");
    svg.line(x(one.high), middle - 5.0, x(one.high), middle + 5.0, "whisker");
    svg.text(kLeft - 10.0, middle + 4.0, finalist_name(study, i), Anchor::kEnd, study.winner == i ? "strong" : "name");
    svg.text(x(one.high) + 10.0, middle + 4.0, reached_label(study, one.value), Anchor::kStart, study.winner == i ? "strong" : "name");
  }
  return svg;
}

std::optional<Svg> outcome_picture(const SessionStudy& study) {
  if (study.trials.empty()) {
    return std::nullopt;
  }
  struct Part {
    std::string name;
    std::string_view look;
    std::size_t count;
  };
  std::array<Part, 4> parts{{{"right", "f-right", 0}, {"lost a race", "f-raced", 0}, {"too slow", "f-slow", 0}, {"failed", "f-bad", 0}}};
  for (const report::StageStudy& stage : study.stages) {
    std::ranges::find(parts, stage.what, &Part::name)->count = stage.trials;
  }
  std::string label = "Trials by outcome:";
  for (const Part& part : parts) {
    label += part.count > 0 ? fmt::format(" {} {};", part.count, part.name) : "";
  }
  Svg svg(kWidth, 52.0, label);
  const auto all = static_cast<double>(study.trials.size());
  double x = 0.0;
  double legend = 0.0;
  for (const Part& part : parts) {
    if (part.count == 0) {
      continue;
    }
    const double width = kWidth * static_cast<double>(part.count) / all;
    svg.rect(x, 0.0, std::max(1.0, width - 1.5), 22.0, part.look, fmt::format("{} {}", part.count, part.name));
    const std::string text = fmt::format("{} {}", part.count, part.name);
    svg.rect(legend, 33.0, 11.0, 11.0, part.look).text(legend + 17.0, 43.0, text, Anchor::kStart, "name");
    legend += 45.0 + 6.4 * static_cast<double>(text.size());
    x += width;
  }
  return svg;
}

std::size_t thinning(const SessionStudy& study, const Detail& detail) {
  return std::max<std::size_t>(1, (study.trials.size() + detail.points - 1) / detail.points);
}

std::optional<Svg> search_picture(const SessionStudy& study, SearchAxis axis, const Detail& detail) {
  const bool over_seconds = axis == SearchAxis::kSeconds;
  const auto place = [&](std::size_t i) {
    return over_seconds ? study.trials[i].elapsed_seconds.value_or(0.0) : static_cast<double>(i + 1);
  };
  const bool known = std::ranges::all_of(study.trials, [](const Trial& trial) { return trial.elapsed_seconds.has_value(); });
  if (study.improvements.empty() || (over_seconds && !known)) {
    return std::nullopt;
  }
  constexpr double kHeight = 360.0, kTop = 34.0, kBottom = 286.0, kFailures = 304.0, kAxis = 320.0, kLeft = 62.0;
  const report::Improvement& last = study.improvements.back();
  Svg svg(kWidth, kHeight,
          fmt::format("Every trial over {}: the best so far falls from {} to {}, last improved at trial {} of {}.",
                      over_seconds ? "seconds" : "trials", time_text(study.improvements.front().time_us), time_text(last.time_us),
                      last.trials, study.trials.size()));
  double end = 1.0;
  for (std::size_t i = 0; i < study.trials.size(); ++i) {
    end = std::max(end, place(i));
  }
  const Scale x{.low = 0.0, .high = end, .from = kLeft, .to = kWidth - 14.0};
  const Scale y = search_times(study, kTop, kBottom);
  svg.x_axis(x, kTop, kAxis, 8, over_seconds ? plain_label : count_label).y_axis(y, kLeft, kWidth - 14.0, 6, time_label);
  svg.rect(kLeft, kFailures - 9.0, kWidth - 14.0 - kLeft, 18.0, "band").text(kLeft - 6.0, kFailures + 4.0, "failed", Anchor::kEnd);
  svg.text(kWidth - 14.0, kHeight - 6.0, over_seconds ? "seconds into the session" : "trials", Anchor::kEnd);
  if (study.standard) {
    svg.line(kLeft, y(measured(study, *study.standard).median_us), kWidth - 14.0, y(measured(study, *study.standard).median_us),
             "standard");
  }
  const std::size_t every = thinning(study, detail);
  const bool titled = !over_seconds && study.trials.size() <= detail.titles;
  for (std::size_t i = 0; i < study.trials.size(); ++i) {
    const bool marked = study.winner == i || study.standard == i;
    if (i % every == 0 && !marked) {
      draw_trial(svg, study, i, x(place(i)), y, kFailures, titled);
    }
  }
  if (study.random && !over_seconds) {
    draw_random(svg, *study.random, x, y);
  }
  std::vector<std::pair<double, double>> best;
  for (const report::Improvement& improvement : study.improvements) {
    best.emplace_back(x(place(improvement.trials - 1)), y(improvement.time_us));
  }
  best.emplace_back(x(end), best.back().second);
  svg.steps(best, "best");
  for (const std::optional<std::size_t>& marked : {study.standard, study.winner}) {
    if (marked) {
      draw_trial(svg, study, *marked, x(place(*marked)), y, kFailures, titled);
    }
  }
  draw_legend(svg, 12.0, study.random.has_value() && !over_seconds);
  return svg;
}

std::vector<const report::ParameterStudy*> drawn_parameters(const SessionStudy& study) {
  std::vector<const report::ParameterStudy*> drawn;
  for (const report::ParameterStudy& parameter : study.effects.parameters) {
    const auto tried = std::ranges::count_if(
        parameter.values, [](const report::ValueStudy& value) { return value.right + value.too_slow + value.failed > 0; });
    if (tried > 1) {
      drawn.push_back(&parameter);
    }
  }
  return drawn;
}

std::optional<Svg> importance_picture(const SessionStudy& study) {
  const report::Effects& effects = study.effects;
  if (!effects.explains() && !effects.explains_top()) {
    return std::nullopt;
  }
  struct Row {
    std::string name;
    double alone_at_top, joint_at_top, alone, joint;
  };
  constexpr std::size_t kMostParameters = 14, kMostPairs = 6;
  const double top = effects.explains_top() ? 1.0 : 0.0, all = effects.explains() ? 1.0 : 0.0;
  std::vector<Row> rows;
  for (std::size_t i = 0; i < std::min(effects.parameters.size(), kMostParameters); ++i) {
    const report::ParameterStudy& one = effects.parameters[i];
    rows.push_back({study.parameters[one.index].name, top * one.share_at_top, top * one.joint_at_top, all * one.share, all * one.joint});
  }
  for (std::size_t i = 0; i < std::min(effects.pairs.size(), kMostPairs); ++i) {
    const report::PairStudy& pair = effects.pairs[i];
    rows.push_back({study.parameters[pair.first].name + " with " + study.parameters[pair.second].name, 0.0, top * pair.share_at_top, 0.0,
                    all * pair.share});
  }
  std::string label = "Importance in the fastest quarter, alone and with one other parameter:";
  double most = 0.05;
  for (const Row& row : rows) {
    label += fmt::format(" {} {} and {};", row.name, percent_text(row.alone_at_top), percent_text(row.joint_at_top));
    most = std::max({most, row.alone_at_top + row.joint_at_top, row.alone + row.joint});
  }
  constexpr double kLeft = 210.0, kRow = 31.0;
  const bool both = effects.explains() && effects.explains_top();
  const double top_line = both ? 48.0 : 30.0, bottom = top_line + kRow * static_cast<double>(rows.size());
  Svg svg(kWidth, bottom + 24.0, label);
  const Scale x{.low = 0.0, .high = most, .from = kLeft, .to = kWidth - 64.0};
  const auto legend = [&](double y, std::string_view alone, std::string_view joint, std::string_view text) {
    svg.rect(kLeft, y, 11.0, 11.0, alone).text(kLeft + 17.0, y + 10.0, text, Anchor::kStart, "name");
    svg.rect(kLeft + 210.0, y, 11.0, 11.0, joint).text(kLeft + 227.0, y + 10.0, "with one other", Anchor::kStart, "name");
  };
  if (effects.explains_top()) {
    legend(4.0, "bar", "bar-soft", "in the fastest quarter, alone");
  }
  if (effects.explains()) {
    legend(both ? 22.0 : 4.0, both ? "bar-standard" : "bar", both ? "bar-faint" : "bar-soft", "over all times, alone");
  }
  svg.x_axis(x, top_line - 6.0, bottom, 5, percent_label);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const double y = top_line + kRow * static_cast<double>(i);
    svg.text(kLeft - 8.0, y + (both ? 15.0 : 16.0), shortened(row.name, kLeft - 12.0), Anchor::kEnd, "name");
    const auto bars = [&](double alone, double joint, double below, double height, std::string_view first, std::string_view second) {
      if (alone > 0.0) {
        svg.rect(kLeft, y + below, x(alone) - kLeft, height, first);
      }
      if (joint > 0.0) {
        svg.rect(x(alone), y + below, x(alone + joint) - x(alone), height, second);
      }
    };
    if (both) {
      bars(row.alone_at_top, row.joint_at_top, 1.0, 13.0, "bar", "bar-soft");
      bars(row.alone, row.joint, 15.5, 7.0, "bar-standard", "bar-faint");
    } else {
      bars(row.alone_at_top + row.alone, row.joint_at_top + row.joint, 3.0, 18.0, "bar", "bar-soft");
    }
    const double shown = effects.explains_top() ? row.alone_at_top + row.joint_at_top : row.alone + row.joint;
    svg.text(x(shown) + 6.0, y + (both ? 12.0 : 16.0), percent_text(shown));
  }
  return svg;
}

std::optional<Svg> values_picture(const SessionStudy& study, const report::ParameterStudy& parameter) {
  if (!study.winner || study.fastest_us <= 0.0) {
    return std::nullopt;
  }
  constexpr double kPanel = 270.0, kHeight = 190.0, kTop = 12.0, kBottom = 150.0, kLeft = 44.0, kRight = 258.0, kMostFactor = 12.0;
  const double best = study.fastest_known_us;
  const std::string& name = study.parameters[parameter.index].name;
  std::string label = name + ", fastest with each value relative to the fastest of all:";
  double worst = 1.1, lowest = 1.0;
  for (const report::ValueStudy& value : parameter.values) {
    lowest = std::min(lowest, value.effect.value_or(1.0));
  }
  for (const report::ValueStudy& value : parameter.values) {
    label += value.best_us ? fmt::format(" {}: {};", value.text, factor_text(*value.best_us / best)) : "";
    worst = std::max({worst, value.best_us.value_or(0.0) / best, value.effect.value_or(0.0) / lowest});
  }
  Svg svg(kPanel, kHeight, label);
  const Scale y{.low = 0.97, .high = std::min(worst * 1.05, kMostFactor), .from = kBottom, .to = kTop, .logarithmic = true};
  svg.y_axis(y, kLeft, kRight, 4, factor_label);
  const double step = (kRight - kLeft) / static_cast<double>(parameter.values.size());
  const auto every = static_cast<std::size_t>(std::ceil(static_cast<double>(parameter.values.size()) / 8.0));
  std::vector<std::pair<double, double>> means;
  for (std::size_t v = 0; v < parameter.values.size(); ++v) {
    const report::ValueStudy& value = parameter.values[v];
    const double x = kLeft + step * (static_cast<double>(v) + 0.5);
    const bool wins = study.trials[*study.winner].configuration.values.at(parameter.index) == study.parameters[parameter.index].values[v];
    if (v % every == 0) {
      svg.text(x, kBottom + 16.0, shortened(value.text, std::max(step * static_cast<double>(every), 24.0)), Anchor::kMiddle,
               wins ? "strong" : "");
    }
    if (value.right + value.too_slow > 0 && value.effect) {
      means.emplace_back(x, y(*value.effect / lowest));
    }
  }
  svg.polyline(means, "trend");
  for (const auto& [x, place] : means) {
    svg.rect(x - 2.5, place - 2.5, 5.0, 5.0, "p-mean");
  }
  for (std::size_t v = 0; v < parameter.values.size(); ++v) {
    const report::ValueStudy& value = parameter.values[v];
    const double x = kLeft + step * (static_cast<double>(v) + 0.5);
    const bool wins = study.trials[*study.winner].configuration.values.at(parameter.index) == study.parameters[parameter.index].values[v];
    if (value.best_us) {
      const std::string title =
          fmt::format("{}={}: {}, {}", name, value.text, time_text(*value.best_us), factor_text(*value.best_us / best));
      svg.circle(x, y(*value.best_us / best), wins ? 6.0 : 4.5, wins ? "p-win" : "f-right", title);
    } else if (value.failed + value.too_slow > 0) {
      svg.cross(x, kTop + 6.0, 3.5, value.failed > 0 ? "p-bad" : "p-slow", fmt::format("{}={}: never right", name, value.text));
    }
  }
  svg.text((kLeft + kRight) / 2.0, kHeight - 5.0, name, Anchor::kMiddle, "strong");
  return svg;
}

}  // namespace hone::cli::page
