#include <fmt/format.h>

#include <algorithm>

#include "cli/operations.hpp"
#include "cli/options.hpp"
#include "cli/present.hpp"
#include "cli/registry.hpp"
#include "cli/selection.hpp"
#include "cli/verbs.hpp"
#include "engine/store/lookup.hpp"
#include "engine/tune/session.hpp"
#include "hone/engine.hpp"

namespace hone::cli {
namespace {

/// What the search that made a record was kept to; empty if it was free.
Result<std::string> fixed_in(const Record& record, Store& store) {
  HONE_ASSIGN(const std::vector<SessionInfo> sessions, store.sessions());
  const auto session = std::ranges::find(sessions, record.session, &SessionInfo::id);
  return session == sessions.end() ? std::string() : restriction_text(*session);
}

/// What was chosen, without the reasons.
Json choice_json(const Subject& subject, const Target& target, const Choice& choice) {
  return {{"kernel", subject.spec.name},
          {"device", target.device.info.id},
          {"product", target.device.info.product},
          {"dtype", name(target.problem.dtype)},
          {"shape", json(target.problem.shape)},
          {"source", name(choice.source)},
          {"config", json(subject.spec.parameters, choice.configuration)}};
}

Json record_json(const Subject& subject, const Target& target, const Choice& choice, const std::string& fixed, const Objective& objective) {
  const Record& record = *choice.record;
  Json stale = Json::array();
  for (const Staleness& change : staleness(record, target.device.info)) {
    stale.push_back({{"what", change.what}, {"then", change.then}, {"now", change.now}});
  }
  Json best = choice_json(subject, target, choice);
  best.update({{"tuned_shape", json(record.problem.shape)},
               {"time_us", record.measurement.median_us},
               {"ci95_us", {record.measurement.ci95_low_us, record.measurement.ci95_high_us}},
               {"default_us", record.default_us},
               {"session", record.session},
               {"fix", fixed},
               {"trials", record.trials},
               {"created_at", record.created_at},
               {"record", record.id},
               {"state", name(record.state)},
               {"generation", record.generation},
               {"code", name(record.code)},
               {"stale", stale}});
  best["objective"] = name(objective);
  add_reached(best, objective, record.measurement);
  return best;
}

std::string_view code_text(const Record& record) {
  switch (record.code) {
    case CodeState::kForeign:
      return "its compiled code comes from elsewhere: programs run the default until you trust the store (hone trust)\n";
    case CodeState::kBroken:
      return "its compiled code does not match this configuration: the record was modified; tune the problem again\n";
    case CodeState::kNone:
    case CodeState::kTrusted:
      break;
  }
  return "";
}

std::string record_text(const Subject& subject, const Target& target, const Choice& choice, const std::string& fixed,
                        const Objective& objective) {
  const Record& record = *choice.record;
  std::string lines =
      fmt::format("{}\n{}", text(subject.spec.parameters, record.configuration), reached_text(objective, record.measurement));
  if (record.default_us > 0.0 && objective.is_time()) {
    lines += fmt::format(" ({:.2f}x the default's {})", record.default_us / record.measurement.median_us, duration(record.default_us));
  }
  lines += fmt::format(", session {}, {}{}\n", record.session, record.created_at,
                       record.state == RecordState::kCandidate ? "" : fmt::format(", {}", name(record.state)));
  lines += fixed.empty() ? "" : fmt::format("only configurations with {} were searched\n", fixed);
  if (choice.source == Source::kNearest) {
    lines += fmt::format("this shape is not tuned; showing the record of the nearest shape, {}\n", text(record.problem.shape));
  }
  lines += code_text(record);
  for (const Staleness& change : staleness(record, target.device.info)) {
    lines += fmt::format("stale: {} was {}, is {}\n", change.what, change.then, change.now);
  }
  return lines;
}

Json predicted_json(const Subject& subject, const Target& target, const Choice& choice) {
  Json best = choice_json(subject, target, choice);
  best["prediction"] = json(*choice.prediction);
  return best;
}

}  // namespace

int best(int argc, char** argv) {
  cxxopts::Options options(
      "hone best", "Prints the winner for a problem: its record, what a portfolio predicts, or the record of the nearest tuned shape.");
  add_problem_options(options);
  add_with_option(options);
  add_accuracy_option(options);
  add_objective_option(options);
  add_given_options(options);
  add_store_option(options);
  add_plugin_option(options);
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    HONE_TRY(load_plugins(arguments));
    HONE_ASSIGN(const Subject subject, find_serving_subject(arguments));
    HONE_ASSIGN(const Target target, find_target(arguments, subject));
    HONE_ASSIGN(const auto store, open_existing_store(arguments));
    HONE_ASSIGN(const Given given, find_given(arguments, subject.spec));
    HONE_ASSIGN(const Purpose purpose, find_purpose(arguments, given));
    HONE_ASSIGN(const Choice choice, subject.choice ? Result<Choice>(*subject.choice)
                                                    : choose(subject.spec, target.problem, target.device.info, store.get(),
                                                             {.purpose = purpose, .launch = false}));
    const std::string kernel = subject.choice ? subject.spec.name + "\n" : "";
    if (choice.prediction) {
      return Output{predicted_json(subject, target, choice),
                    kernel + text(subject.spec.parameters, choice.configuration) + "\n" + prediction_text(*choice.prediction)};
    }
    if (store == nullptr) {
      return open_to_read(store_path(arguments)).error();
    }
    if (!choice.record) {
      return no_record(arguments, subject, target, choice.elsewhere, store.get());
    }
    HONE_ASSIGN(const std::string fixed, fixed_in(*choice.record, *store));
    const Objective objective = objective_of(purpose);
    return Output{record_json(subject, target, choice, fixed, objective), kernel + record_text(subject, target, choice, fixed, objective)};
  });
}

}  // namespace hone::cli
