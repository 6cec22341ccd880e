#include "cli/report/sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/report/markup.hpp"
#include "cli/report/page.hpp"
#include "cli/report/pictures.hpp"
#include "cli/session_report.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/tune/session.hpp"

namespace hone::cli::page {
namespace {

using report::SessionStudy;

const Trial& winner_of(const SessionStudy& study) { return study.trials[*study.winner]; }
const Trial& standard_of(const SessionStudy& study) { return study.trials[*study.standard]; }

std::string interval_text(const Measurement& one) {
  return fmt::format("{} to {}", time_text(one.ci95_low_us), time_text(one.ci95_high_us));
}

/// What a trial reached of the session's objective: its time, or "4.56 mJ in 84.21 µs".
std::string reached_words(const SessionStudy& study, const Trial& trial) {
  const std::string time = time_text(trial.measurement.median_us);
  const std::optional<Figure> reached = study.objective.of(trial.measurement);
  return study.objective.is_time() || !reached ? time : fmt::format("{} in {}", objective_text(study.objective, reached->value), time);
}

std::string optional_time(const std::optional<double>& time) { return time ? time_text(*time) : "not measured"; }

/// "3 trials", "1 trial"
std::string counted(std::size_t count, std::string_view what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); }

bool is_clear(const SessionStudy& study) { return study.speedup_low > 1.0; }
bool default_won(const SessionStudy& study) { return study.winner && study.winner == study.standard; }

Table finalists_table(const SessionStudy& study) {
  Table table{.caption = "Default, winner and what cannot be told from it, with the 95 % confidence interval of the median",
              .header = {"which", "configuration", "time", "interval", "samples"},
              .rows = {},
              .words = {1}};
  for (const std::size_t i : finalists_of(study)) {
    const Measurement& one = study.trials[i].measurement;
    if (study.winner == i) {
      table.strong.push_back(table.rows.size());
    }
    table.rows.push_back({finalist_name(study, i), config_text(study, study.trials[i]), time_text(one.median_us), interval_text(one),
                          std::to_string(one.samples_us.size())});
    if (!study.objective.is_time()) {
      const std::optional<Figure> reached = study.objective.of(one);
      const auto shown = [&](double value) { return objective_text(study.objective, value); };
      table.rows.back().insert(table.rows.back().end(),
                               {reached ? shown(reached->value) : "not measured",
                                reached ? fmt::format("{} to {}", shown(reached->low), shown(reached->high)) : ""});
    }
  }
  if (!study.objective.is_time()) {
    table.header.insert(table.header.end(), {described(study.objective), "its interval"});
  }
  return table;
}

std::string hero(const SessionStudy& study) {
  const bool clear = study.standard && is_clear(study) && !default_won(study);
  const std::string figure = !study.winner         ? "none"
                             : study.speedup > 0.0 ? factor_text(study.speedup)
                                                   : reached_words(study, winner_of(study));
  return fmt::format("<div class=\"hero\"><span class=\"figure{}\">{}</span><span class=\"words\">{}</span></div>\n", clear ? "" : " even",
                     escaped(figure), escaped(answer_text(study)));
}

std::string rate_words(const SessionStudy& study) {
  const auto shown = [](double giga, std::string_view unit) {
    return giga < 1e3 ? fmt::format("{:.4g} G{}", giga, unit) : fmt::format("{:.4g} T{}", giga / 1e3, unit);
  };
  std::string text = study.winner_gflops ? shown(*study.winner_gflops, "FLOP/s") : "";
  if (study.winner_gbytes_per_second) {
    text += (text.empty() ? "" : ", ") + shown(*study.winner_gbytes_per_second, "B/s");
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> answer_facts(const SessionStudy& study) {
  std::vector<std::pair<std::string, std::string>> pairs;
  if (!study.winner) {
    return pairs;
  }
  pairs.emplace_back("winner", config_text(study, winner_of(study)));
  pairs.emplace_back("its time", fmt::format("{} (95 % confidence: {}, {})", time_text(winner_of(study).measurement.median_us),
                                             interval_text(winner_of(study).measurement),
                                             counted(winner_of(study).measurement.samples_us.size(), "sample")));
  if (const std::optional<Figure> reached = study.objective.of(winner_of(study).measurement); reached && !study.objective.is_time()) {
    pairs.emplace_back("minimized",
                       fmt::format("{}: {} (95 % confidence: {} to {}). The pictures of the search show times", described(study.objective),
                                   objective_text(study.objective, reached->value), objective_text(study.objective, reached->low),
                                   objective_text(study.objective, reached->high)));
  }
  if (study.standard && !default_won(study)) {
    pairs.emplace_back(
        study.objective.is_time() ? "speedup" : "gain",
        fmt::format("between {} and {}, from the ends of both intervals", factor_text(study.speedup_low), factor_text(study.speedup_high)));
  }
  pairs.emplace_back("as good as it", study.tied.empty() ? "nothing else that was measured beside it"
                                                         : fmt::format("{} whose intervals overlap: choose among them as you like",
                                                                       counted(study.tied.size(), "other")));
  constexpr double kNoisy = 0.05;
  const Measurement& measured = winner_of(study).measurement;
  if (const double half = (measured.ci95_high_us - measured.ci95_low_us) / 2.0 / measured.median_us; half > kNoisy) {
    pairs.emplace_back("noisy", fmt::format("the interval reaches ±{}: measure again on a quiet machine, or with a longer --timing-seconds",
                                            percent_text(half)));
  }
  if (const std::string rates = rate_words(study); !rates.empty()) {
    pairs.emplace_back("rate", rates + ", by the work that the kernel file states");
  }
  if (study.faster_in_search > 0) {
    pairs.emplace_back(
        "beware",
        fmt::format("{} faster in the search, the fastest {}, and not measured beside the winner: the machine's speed "
                    "changed, or was noisy. Tune again when it is quiet",
                    study.faster_in_search == 1 ? "one configuration was" : fmt::format("{} configurations were", study.faster_in_search),
                    time_text(study.fastest_us)));
  }
  if (!study.final_round) {
    pairs.emplace_back("not final", "the times are those of the search: no final round has measured winner and default side by side");
  }
  return pairs;
}

std::vector<std::string> resource_row(std::string name, const Trial& trial) {
  const Resources& used = trial.resources;
  return {std::move(name), std::to_string(used.registers), std::to_string(used.spill_bytes), std::to_string(used.shared_bytes),
          used.occupancy > 0.0 ? percent_text(used.occupancy) : "unknown"};
}

std::string share_words(const report::Effects& effects, const report::ParameterStudy& parameter) {
  if (effects.explains_top()) {
    return percent_text(parameter.share_at_top + parameter.joint_at_top);
  }
  return effects.explains() ? percent_text(parameter.share + parameter.joint) : "unknown";
}

std::string resources_html(const SessionStudy& study) {
  if (winner_of(study).resources.registers == 0 && standard_of(study).resources.registers == 0) {
    return "";  // the device's compiler does not tell
  }
  return html({.caption = "What the compiler gave them",
               .header = {"which", "registers a thread", "spilled bytes a thread", "shared bytes a block", "occupancy"},
               .rows = {resource_row("default", standard_of(study)), resource_row("winner", winner_of(study))}});
}

}  // namespace

std::string answer_text(const SessionStudy& study) {
  if (!study.winner) {
    return study.trials.empty() ? "Nothing has been tried yet." : "No configuration was right: see the failures.";
  }
  const std::string time = reached_words(study, winner_of(study));
  if (!study.standard) {
    return fmt::format("The best takes {}. The default was not measured, or was not right.", time);
  }
  const std::string before = reached_words(study, standard_of(study));
  if (default_won(study)) {
    return fmt::format("The default is the best of what was tried: {}.", time);
  }
  if (study.speedup_high < 1.0) {
    return fmt::format("{}, and the default takes {}: the record of an earlier session stayed.", time, before);
  }
  if (!is_clear(study)) {
    return fmt::format("{} instead of {}: the intervals overlap, so this may be no gain at all.", time, before);
  }
  return fmt::format("{} than the default: {} instead of {}.", study.objective.needs_energy() ? "less" : "faster", time, before);
}

std::string answer_section(const SessionStudy& study) {
  std::string body = hero(study);
  if (const auto svg = answer_picture(study)) {
    body += figure(*svg,
                   study.objective.is_time()
                       ? std::string("Bars end at the median; the line at the end is the 95 % confidence interval.")
                       : fmt::format("Bars show the {}; the line at the end is its 95 % confidence interval.", described(study.objective)));
  }
  if (study.winner) {
    body += facts(answer_facts(study)) + details("These figures as a table", html(finalists_table(study)));
  }
  return "<div class=\"card\">" + body + "</div>\n";
}

std::string changes_section(const SessionStudy& study) {
  if (!study.winner || !study.standard || default_won(study)) {
    return "";
  }
  Table table{.caption = "Parameters that the winner has otherwise than the default",
              .header = {"parameter", "default", "winner", "its share of the differences", "best with the default's value"},
              .rows = {},
              .words = {1, 2}};
  const double best = study.fastest_known_us;
  std::size_t same = 0;
  for (const report::ParameterStudy& parameter : study.effects.parameters) {
    const Value &before = standard_of(study).configuration.values.at(parameter.index),
                &after = winner_of(study).configuration.values.at(parameter.index);
    if (before == after) {
      ++same;
      continue;
    }
    const Parameter& one = study.parameters[parameter.index];
    const std::string old = text(one, before);
    const auto kept = std::ranges::find(parameter.values, old, &report::ValueStudy::text);
    table.rows.push_back(
        {one.name, old, text(one, after), share_words(study.effects, parameter),
         kept->best_us ? fmt::format("{} ({})", factor_text(*kept->best_us / best), time_text(*kept->best_us)) : "not measured"});
  }
  return paragraph(
             fmt::format("The winner changes {} of {} parameters. The last column is the fastest that still has the default's value of the "
                         "one parameter: close to 1.00× means that this change alone was not needed.",
                         table.rows.size(), table.rows.size() + same)) +
         html(table) + resources_html(study);
}

std::string expectations_section(const SessionStudy& study) {
  if (study.expectations.empty()) {
    return "";
  }
  using report::Verdict;
  Table tested{.caption = "Expectations that the trials tested, and what they say",
               .header = {"expectation", "why", "verdict", "best that meets it", "best that breaks it", "trials that break it"},
               .rows = {},
               .words = {1, 2}};
  // Of a kernel with many, most are right, and those that are not are what the reader came for.
  constexpr std::size_t kFew = 6;
  Table right = tested;
  right.caption = "Expectations that the trials bear out";
  Table untested{.caption = "Expectations that nothing was tried against", .header = {"expectation", "why"}, .rows = {}, .words = {1}};
  for (const Verdict verdict : {Verdict::kWrong, Verdict::kNoDifference, Verdict::kRight, Verdict::kUntested}) {
    for (const report::ExpectationStudy& one : study.expectations) {
      if (one.verdict != verdict) {
        continue;
      }
      const std::string text = fmt::format("line {}: {}", one.expectation.line, one.expectation.text);
      if (verdict == Verdict::kUntested) {
        untested.rows.push_back({text, one.expectation.comment});
        continue;
      }
      Table& table = verdict == Verdict::kRight ? right : tested;
      if (one.broken_by_winner) {
        table.strong.push_back(table.rows.size());
      }
      table.rows.push_back({text, one.expectation.comment,
                            std::string(name(verdict)) + (one.broken_by_winner ? ": the winner breaks it" : ""),
                            optional_time(one.best_meeting_us), optional_time(one.best_breaking_us), std::to_string(one.breaking)});
    }
  }
  std::string body = paragraph(
      "Expectations (likely in the kernel file) order a search and forbid nothing. Wrong: something that breaks it is "
      "faster by more than 1 % than anything that meets it. Right: what breaks it is slower.");
  tested.caption = right.rows.empty() ? tested.caption : "Expectations that are wrong or make no difference";
  body += tested.rows.empty() ? "" : html(tested);
  if (!right.rows.empty()) {
    body += right.rows.size() <= kFew ? html(right)
                                      : details(counted(right.rows.size(), "expectation") + " that the trials bear out", html(right));
  }
  const std::string summary = counted(untested.rows.size(), "expectation") + " that the trials do not test";
  return untested.rows.empty() ? body : body + details(summary, html(untested));
}

std::string failures_section(const SessionStudy& study) {
  if (study.trials.empty()) {
    return "";
  }
  if (study.failures.empty()) {
    return paragraph("Every configuration that was tried compiled, ran and was right, as far as it was looked at.");
  }
  std::string body;
  for (const report::FailureKind& kind : study.failures) {
    std::string card = fmt::format("<p><strong>{}</strong> {}</p>\n", counted(kind.count, "trial"), escaped(name(kind.outcome)));
    if (!kind.common.empty()) {
      card += paragraph(fmt::format("All of them have {}, which fewer than half of the other trials have.", fmt::join(kind.common, ", ")));
    }
    Table table{.caption = "Messages; those that differ in numbers alone count as one", .header = {"message", "trials"}, .rows = {}};
    for (const report::Message& message : kind.messages) {
      table.rows.push_back({message.text.empty() ? "(no message)" : message.text, std::to_string(message.count)});
    }
    card += html(table);
    if (kind.further > 0) {
      card += paragraph(fmt::format("{} more are in the JSON.", counted(kind.further, "message")));
    }
    body += "<div class=\"card\">" + card + facts({{"the first", kind.example}}) + "</div>\n";
  }
  return body;
}

std::string use_section(const SessionStudy& study) {
  const SessionInfo& session = study.session;
  const std::string fixed = restriction_text(session);
  const bool replayed = study.session.device_id.starts_with("replay");
  std::string body;
  if (!replayed) {
    const std::string problem =
        fmt::format("{} --shape {} --dtype {} --device {}{}", session.kernel, text(session.problem.shape), session.dtypes,
                    session.device_id, study.objective.is_time() ? "" : " --objective " + session.purpose.objective);
    if (study.winner) {
      body += paragraph(
          "The store serves what it holds for this problem (--store FILE, where it is not the usual one); a kernel of your own is given by "
          "its file in place of its name:");
      body += command(fmt::format("hone best {}", problem));
      body += paragraph("Measure the winner of this session again, on any configuration in the same way:");
      body += command(fmt::format("hone run {} --config \"{}\"", problem, config_text(study, winner_of(study))));
    }
  }
  body += facts({{"session", fmt::format("{}, {}", session.id, state_name(session))},
                 {"begun", session.created_at},
                 {"kernel", fmt::format("{}, source {}", session.kernel, session.source_hash)},
                 {"device", fmt::format("{} ({})", session.device_id, session.product)},
                 {"strategy", session.strategy + (session.strategy_parameters.empty() ? "" : ": " + session.strategy_parameters)},
                 {"seed", std::to_string(session.seed)},
                 {"budget", session.budget},
                 {"restricted to", fixed.empty() ? "nothing: the whole space" : fixed},
                 {"purpose", fmt::format("{}, inputs {}, accuracy bound {}, {}", session.purpose.objective, session.purpose.input_profile,
                                         session.purpose.accuracy_bound, session.purpose.timing_profile)}});
  return body;
}

}  // namespace hone::cli::page
