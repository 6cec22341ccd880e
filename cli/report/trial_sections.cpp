// Sections of a report over all trials: the search, parameters, seconds, noise.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "cli/report/markup.hpp"
#include "cli/report/pictures.hpp"
#include "cli/report/sections.hpp"

namespace hone::cli::page {
namespace {

using report::SessionStudy;

double best_of(const SessionStudy& study) { return study.fastest_known_us; }

std::string trials_text(std::size_t count) { return fmt::format("{} trial{}", count, count == 1 ? "" : "s"); }

/// Of many improvements the last ones matter most.
Table improvements_table(const SessionStudy& study) {
  constexpr std::size_t kMost = 12;
  Table table{
      .caption = "When the best so far improved", .header = {"after trials", "seconds", "best so far", "of the final best"}, .rows = {}};
  const std::size_t left_out = study.improvements.size() - std::min(study.improvements.size(), kMost);
  for (std::size_t i = 0; i < study.improvements.size(); ++i) {
    if (i > 0 && i <= left_out) {
      continue;  // the first, and the last ones
    }
    const report::Improvement& one = study.improvements[i];
    table.rows.push_back({std::to_string(one.trials), one.seconds ? fmt::format("{:.2f}", *one.seconds) : "unknown", time_text(one.time_us),
                          factor_text(one.time_us / study.improvements.back().time_us)});
  }
  return table;
}

std::string random_words(const SessionStudy& study) {
  const report::RandomSearch& random = *study.random;
  std::string text =
      fmt::format("The session was within 1 % of its best after {}. Random search over the {} configurations {} is expected to be there ",
                  trials_text(study.trials_to_one_percent), random.configurations,
                  random.whole_space ? "of the whole space" : "that this session tried");
  text += random.draws_to_winner > 0 ? fmt::format("after {}.", trials_text(random.draws_to_winner))
                                     : fmt::format("only after more than the {} of this session.", trials_text(study.trials.size()));
  if (random.whole_space) {
    const double factor = study.fastest_us / random.best_us;
    text += factor > 1.0005 ? fmt::format(" The best of the whole space takes {}: the session's is {:.1f} % slower.",
                                          time_text(random.best_us), 100.0 * (factor - 1.0))
                            : " The session found the best of the whole space.";
  } else {
    text +=
        " These were chosen by the strategy and are usually better than most of the space: random search over all of it would be slower.";
  }
  return text;
}

std::string thinned_words(const SessionStudy& study, const Detail& detail) {
  const std::size_t every = thinning(study, detail);
  return every > 1 ? fmt::format(" One point in {} is drawn.", every) : "";
}

std::string_view trust_of(double explained) {
  return explained >= 0.7 ? "they can be relied on" : explained >= 0.4 ? "take them as a rough order" : "they are hardly more than a guess";
}

/// How the forest's figures are to be taken.
std::string trust_words(const report::Effects& effects) {
  const auto part = [](double explained, std::string_view where) {
    return fmt::format("{:.0f} % of the variance {} ({})", 100.0 * std::max(0.0, explained), where, trust_of(explained));
  };
  return fmt::format("Of configurations that it has not seen, the model predicts {} and {}.{}", part(effects.explained, "over all times"),
                     part(effects.explained_at_top, "in the fastest quarter"),
                     effects.explains() && effects.explains_top() ? "" : " What it does not explain is left out.");
}

/// The parameters from one place in the order of importance to another.
std::string names_between(const SessionStudy& study, std::size_t from, std::size_t to) {
  std::vector<std::string> names;
  for (std::size_t i = from; i < to; ++i) {
    names.push_back(study.parameters[study.effects.parameters[i].index].name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Table importance_table(const SessionStudy& study) {
  const report::Effects& effects = study.effects;
  Table table{.caption = "Shares of the variance of log time",
              .header = {"parameter", "in the fastest quarter, alone", "with one other", "over all times, alone", "with one other"},
              .rows = {}};
  const auto share = [](bool known, double value) { return known ? percent_text(value) : std::string("unknown"); };
  for (const report::ParameterStudy& one : effects.parameters) {
    table.rows.push_back({study.parameters[one.index].name, share(effects.explains_top(), one.share_at_top),
                          share(effects.explains_top(), one.joint_at_top), share(effects.explains(), one.share),
                          share(effects.explains(), one.joint)});
  }
  return table;
}

Table pairs_table(const SessionStudy& study) {
  const report::Effects& effects = study.effects;
  constexpr std::size_t kMostPairs = 12;
  Table table{.caption = "What two parameters do together beyond what each does alone",
              .header = {"pair", "in the fastest quarter", "over all times"},
              .rows = {}};
  const auto add = [&](std::string name, double at_top, double all) {
    table.rows.push_back(
        {std::move(name), effects.explains_top() ? percent_text(at_top) : "unknown", effects.explains() ? percent_text(all) : "unknown"});
  };
  for (std::size_t i = 0; i < std::min(effects.pairs.size(), kMostPairs); ++i) {
    const report::PairStudy& pair = effects.pairs[i];
    add(fmt::format("{} with {}", study.parameters[pair.first].name, study.parameters[pair.second].name), pair.share_at_top, pair.share);
  }
  add("three and more together", effects.rest_at_top, effects.rest);
  return table;
}

/// What it costs to tune the first few parameters alone.
std::string reach_html(const SessionStudy& study) {
  const std::vector<report::Reach>& reach = study.effects.reach;
  if (reach.empty() || study.fastest_us <= 0.0) {
    return "";
  }
  constexpr double kGain = 0.995;
  Table table{.caption = "What tuning some parameters reaches while the others keep the default's values",
              .header = {"free parameters", "fastest", "of the best", "right configurations"},
              .rows = {}};
  std::size_t told = 0;  // parameters in the rows so far
  for (std::size_t i = 0; i < reach.size(); ++i) {
    const bool gains = reach[i].best_us && (!reach[told].best_us || *reach[i].best_us < kGain * *reach[told].best_us);
    if (i > 0 && i + 1 < reach.size() && !gains) {
      continue;  // these parameters alone brought nothing
    }
    const std::string names = i == 0 ? "none: the default" : fmt::format("{}{}", told > 0 ? "and " : "", names_between(study, told, i));
    table.rows.push_back({names, reach[i].best_us ? time_text(*reach[i].best_us) : "not measured",
                          reach[i].best_us ? factor_text(*reach[i].best_us / best_of(study)) : "", std::to_string(reach[i].right)});
    told = i;
  }
  return paragraph(fmt::format(
             "In the order of {}, each row adds parameters to those above it. Where a row is close to 1.00×, what the rows "
             "below it add hardly matters here. {}",
             study.effects.explains() || study.effects.explains_top() ? "importance" : "the kernel file",
             study.effects_of_whole_space ? "All configurations of the recorded space count."
                                          : "Only configurations that were measured count: where they are few, tune again with --fix.")) +
         html(table);
}

Table values_table(const SessionStudy& study) {
  Table table{.caption = "Each value of each parameter",
              .header = {"parameter", "value", "fastest with it", "of the best", "mean, of all times", "right", "too slow", "failed"},
              .rows = {},
              .words = {1}};
  for (const report::ParameterStudy* const parameter : drawn_parameters(study)) {
    for (std::size_t v = 0; v < parameter->values.size(); ++v) {
      const report::ValueStudy& value = parameter->values[v];
      if (study.trials[*study.winner].configuration.values.at(parameter->index) == study.parameters[parameter->index].values[v]) {
        table.strong.push_back(table.rows.size());
      }
      table.rows.push_back({study.parameters[parameter->index].name, value.text, value.best_us ? time_text(*value.best_us) : "not measured",
                            value.best_us ? factor_text(*value.best_us / best_of(study)) : "",
                            value.effect ? factor_text(*value.effect) : "unknown", std::to_string(value.right),
                            std::to_string(value.too_slow), std::to_string(value.failed)});
    }
  }
  return table;
}

Table stages_table(const SessionStudy& study) {
  Table table{.caption = "Seconds of the trials",
              .header = {"trials that were", "how many", "compile", "validate", "time", "other", "all"},
              .rows = {}};
  const auto seconds = [](double value) { return fmt::format("{:.2f}", value); };
  StageSeconds sum;
  std::size_t trials = 0;
  for (const report::StageStudy& stage : study.stages) {
    const StageSeconds& one = stage.seconds;
    table.rows.push_back({stage.what, std::to_string(stage.trials), seconds(one.compile), seconds(one.validate), seconds(one.time),
                          seconds(one.overhead), seconds(one.total())});
    sum = {sum.compile + one.compile, sum.validate + one.validate, sum.time + one.time, sum.overhead + one.overhead};
    trials += stage.trials;
  }
  table.strong = {table.rows.size()};
  table.rows.push_back({"together", std::to_string(trials), seconds(sum.compile), seconds(sum.validate), seconds(sum.time),
                        seconds(sum.overhead), seconds(sum.total())});
  return table;
}

std::string device_words(const SessionStudy& study) {
  const report::DeviceStudy& device = study.device;
  if (device.readings == 0) {
    return "The device says nothing about its clock, temperature or power.";
  }
  const std::vector<std::string> reasons = report::throttle_words(device.throttle_reasons);
  std::string text =
      fmt::format("The clock was between {:.0f} and {:.0f} MHz, the temperature at most {:.0f} °C, the power at most {:.0f} W. ",
                  device.lowest_mhz, device.highest_mhz, device.hottest_c, device.highest_w);
  text += reasons.empty() ? "No trial was throttled."
                          : fmt::format("{} throttled ({}); {} samples were thrown away for it.", trials_text(device.throttled_trials),
                                        fmt::join(reasons, ", "), device.discarded_samples);
  return text;
}

}  // namespace

std::string search_section(const SessionStudy& study, const Detail& detail) {
  const double seconds = study.session.elapsed_seconds;
  std::string words = fmt::format("{} in {}", trials_text(study.trials.size()), seconds_text(seconds));
  words += seconds > 0.0 ? fmt::format(", {:.1f} a second.", static_cast<double>(study.trials.size()) / seconds) : ".";
  if (!study.improvements.empty()) {
    words += fmt::format(" The last improvement came at trial {}.", study.improvements.back().trials);
  }
  std::string body = paragraph(words);
  if (const auto svg = outcome_picture(study)) {
    body += figure(*svg,
                   "Lost a race: right, but dropped after a few samples because it was clearly slower. Too slow: left behind after one "
                   "cold run, its results not looked at.");
  }
  if (const auto svg = search_picture(study, SearchAxis::kTrials, detail)) {
    body += figure(*svg, "Each trial by its outcome, the fastest at the bottom; times far behind are drawn at the upper edge." +
                             thinned_words(study, detail));
  }
  body += study.random ? paragraph(random_words(study)) : "";
  if (const auto svg = search_picture(study, SearchAxis::kSeconds, detail)) {
    body += figure(*svg, "The same over the seconds of the session.");
  }
  return study.improvements.empty() ? body : body + details("When the best improved, as a table", html(improvements_table(study)));
}

std::string importance_section(const SessionStudy& study) {
  const auto svg = importance_picture(study);
  if (!svg) {
    const std::string why = study.effects.observations < report::kFewestForShares
                                ? fmt::format("Only {} with a time: fewer than {} say nothing about what matters.",
                                              trials_text(study.effects.observations), report::kFewestForShares)
                                : "The model predicts nothing of trials that it has not seen: more trials are needed to say what matters.";
    return paragraph(why) + reach_html(study);
  }
  return paragraph(fmt::format(
             "How much of the differences in time each parameter causes alone, and together with one other, by a model of {}. "
             "In the fastest quarter all slower times count as equal, so this is what separates good configurations from "
             "the best. {}",
             study.effects_of_whole_space ? "all configurations of the recorded space" : "the trials", trust_words(study.effects))) +
         figure(*svg,
                "Functional ANOVA on a random forest, over all combinations of the values that were measured, legal or not. What two "
                "parameters do together counts for both, so the bars can add up to more than 100 %.") +
         details("Importance as tables", html(importance_table(study)) + html(pairs_table(study))) + reach_html(study);
}

std::string values_section(const SessionStudy& study) {
  if (study.fastest_us <= 0.0 || drawn_parameters(study).empty()) {
    return "";
  }
  std::string panels;
  for (const report::ParameterStudy* const parameter : drawn_parameters(study)) {
    panels += figure(*values_picture(study, *parameter), "");
  }
  return paragraph(
             std::string(study.effects_of_whole_space ? "Of all configurations of the recorded space. " : "") +
             "Circles: the fastest configuration with the value, as a multiple of the fastest of all (green: the winner's value). Squares "
             "with a line: the mean over all configurations with the value, as a multiple of the lowest mean, as the model has it. A "
             "cross: nothing with the value was right. Values whose circle is far above 1× can go from the kernel file; a parameter "
             "whose circles are all at 1× hardly matters.") +
         "<div class=\"panels\">" + panels + "</div>\n" + details("All values as a table", html(values_table(study)));
}

std::string seconds_section(const SessionStudy& study) {
  const auto svg = stages_picture(study);
  if (!svg) {
    return "";
  }
  return paragraph(
             "What the trials cost, by what came of them. Compile seconds are those of one core; compilers work beside the device, so the "
             "sum can exceed the session's own seconds.") +
         figure(*svg, "") + details("Seconds as a table", html(stages_table(study)));
}

std::string noise_section(const SessionStudy& study, const Detail& detail) {
  std::string body = !study.typical_noise ? paragraph("No time was measured to the end.")
                                          : paragraph(fmt::format("Typical uncertainty of a time: ±{}, half the width of the 95 % "
                                                                  "confidence interval of its median.",
                                                                  percent_text(*study.typical_noise)));
  if (const auto svg = samples_picture(study)) {
    body += figure(*svg,
                   "Every sample is a point by its distance from its own median (the height means nothing); the grey band is the 95 % "
                   "confidence interval of the median.");
  }
  body += paragraph(device_words(study));
  if (const auto svg = clock_picture(study, detail)) {
    body += figure(*svg, "The device's clock after each trial.");
  }
  return body;
}

}  // namespace hone::cli::page
