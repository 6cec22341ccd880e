#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/present.hpp"
#include "cli/session_report.hpp"
#include "cli/verbs.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/replay/recorded_space.hpp"
#include "engine/tune/session.hpp"

namespace hone::cli {
namespace {

Result<Output> list(Store& store) {
  HONE_ASSIGN(const std::vector<SessionInfo> all, store.sessions());
  Output output{.json = {{"sessions", Json::array()}}, .text = ""};
  std::vector<std::vector<std::string>> rows{
      {"id", "state", "kernel", "dtype", "shape", "device", "strategy", "seed", "trials", "best", "seconds", "begun", "fixed"}};
  for (const SessionInfo& session : all) {
    output.json["sessions"].push_back(json(session));
    rows.push_back({std::to_string(session.id), std::string(state_name(session)), session.kernel, session.dtypes,
                    text(session.problem.shape), session.device_id, session.strategy, std::to_string(session.seed),
                    std::to_string(session.trials), session.best_us ? duration(*session.best_us) : "-",
                    fmt::format("{:.1f}", session.elapsed_seconds), session.created_at, restriction_text(session)});
  }
  output.text = all.empty() ? "the store holds no session\n" : table(rows);
  return output;
}

/// The sessions with these ids. Errors: an id that is not there; sessions of different problems or devices.
Result<std::vector<SessionInfo>> pick(Store& store, const std::vector<std::int64_t>& ids) {
  HONE_ASSIGN(const std::vector<SessionInfo> all, store.sessions());
  std::vector<SessionInfo> picked;
  for (const std::int64_t id : ids) {
    const auto found = std::ranges::find(all, id, &SessionInfo::id);
    if (found == all.end()) {
      return Error{ErrorCode::kNotFound, fmt::format("the store has no session {}; hone sessions lists them", id)};
    }
    const SessionInfo& first = picked.empty() ? *found : picked.front();
    if (found->source_hash != first.source_hash || found->problem != first.problem || found->product != first.product) {
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("sessions {} and {} are of different kernels, problems or devices; write each to its own file", first.id, id)};
    }
    picked.push_back(*found);
  }
  return picked;
}

/// The kernel that a session is of, as it was then.
Result<Subject> find_recorded_subject(const cxxopts::ParseResult& arguments, const SessionInfo& session) {
  Subject subject;
  if (arguments.count("kernel") > 0) {
    HONE_ASSIGN(subject, find_subject(arguments));
  } else {
    const Result<const KernelSpec*> builtin = find_builtin_kernel(session.kernel);
    if (!builtin) {
      return Error{ErrorCode::kNotFound, fmt::format("session {0} is of {1}, which is not built in; a recorded space needs all values of "
                                                     "its parameters: hone sessions {0} --record FILE --kernel {1}.cu",
                                                     session.id, session.kernel)};
    }
    subject.spec = **builtin;
  }
  if (subject.spec.name != session.kernel) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("session {} is of {}, not of {}", session.id, session.kernel, subject.spec.name)};
  }
  if (subject.spec.source_hash != session.source_hash) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("session {0} is of another version of {1} than {2}: give the file that was tuned: hone sessions {0} --kernel FILE",
                    session.id, session.kernel, arguments.count("kernel") > 0 ? "that file" : "the built-in one")};
  }
  return subject;
}

/// Whether it was measured for its own sake, rather than left behind something faster.
bool to_the_end(const Trial& trial) { return !trial.measurement.raced_out && trial.outcome != Outcome::kTooSlow; }

/// Trials of the sessions, each configuration once: the first that was measured to the end, else the first.
Result<std::vector<Trial>> merged_trials(Store& store, const std::vector<SessionInfo>& sessions, const std::vector<Parameter>& parameters) {
  std::vector<Trial> merged;
  std::map<std::string, std::size_t> at;  // by configuration: a position is of a session's own space
  for (const SessionInfo& session : sessions) {
    HONE_ASSIGN(std::vector<Trial> trials, store.trials(session.id, parameters));
    for (Trial& trial : trials) {
      const auto [known, is_new] = at.emplace(text(parameters, trial.configuration), merged.size());
      if (is_new) {
        merged.push_back(std::move(trial));
      } else if (!to_the_end(merged[known->second]) && to_the_end(trial)) {
        merged[known->second] = std::move(trial);
      }
    }
  }
  return merged;
}

Result<Output> record(const cxxopts::ParseResult& arguments, Store& store) {
  HONE_ASSIGN(const std::vector<SessionInfo> sessions, pick(store, arguments["session"].as<std::vector<std::int64_t>>()));
  const SessionInfo& first = sessions.front();
  HONE_ASSIGN(const Subject subject, find_recorded_subject(arguments, first));
  HONE_ASSIGN(const std::vector<Trial> trials, merged_trials(store, sessions, subject.spec.parameters));
  const std::string file = arguments["record"].as<std::string>();
  HONE_TRY(check_target(file));
  HONE_TRY(write_recorded_space(file,
                                {.kernel = first.kernel,
                                 .source_hash = first.source_hash,
                                 .device_name = first.product,
                                 .problem = first.problem,
                                 .parameters = subject.spec.parameters},
                                trials));
  const auto right = std::ranges::count(trials, Outcome::kOk, &Trial::outcome);
  return Output{{{"file", file}, {"trials", trials.size()}, {"ok", right}},
                fmt::format("{}: {} configurations, {} of them correct\n", file, trials.size(), right)};
}

Result<Output> describe(const cxxopts::ParseResult& arguments, Store& store) {
  const auto ids = arguments["session"].as<std::vector<std::int64_t>>();
  if (ids.size() != 1) {
    return Error{ErrorCode::kInvalidArgument, "hone sessions describes one session at a time; --record FILE.json.gz takes several"};
  }
  HONE_ASSIGN(const std::vector<SessionInfo> sessions, pick(store, ids));
  const SessionInfo& session = sessions.front();
  const Result<const KernelSpec*> builtin = find_builtin_kernel(session.kernel);
  std::vector<Parameter> parameters;
  if (arguments.count("kernel") > 0) {
    HONE_ASSIGN(const Subject subject, find_recorded_subject(arguments, session));
    parameters = subject.spec.parameters;
  } else if (builtin && (*builtin)->source_hash == session.source_hash) {
    parameters = (*builtin)->parameters;
  } else {
    HONE_ASSIGN(parameters, store.parameters_of(session.id));  // a kernel of one's own, or of another version
  }
  HONE_ASSIGN(const std::vector<Trial> trials, store.trials(session.id, parameters));
  HONE_ASSIGN(const std::vector<Control> controls, store.controls(session.id));
  return report(session, parameters, trials, controls, arguments["top"].as<std::size_t>());
}

}  // namespace

int sessions(int argc, char** argv) {
  cxxopts::Options options(
      "hone sessions",
      "Lists the sessions in the store. The same command resumes an interrupted one.\nWith an id: reports the results of that session "
      "(--json: every trial).\nWith ids and --record: writes their trials as a recorded space, which hone compare and hone tune replay.");
  add_store_option(options);
  options.add_options()("session", "session id, e.g. 3; with --record also 3,5, all of one problem on one device",
                        cxxopts::value<std::vector<std::int64_t>>(),
                        "ID")("top", "number of best configurations to show", cxxopts::value<std::size_t>()->default_value("10"), "N")(
      "record", "the file to write: .json, or .json.gz to compress it", cxxopts::value<std::string>(), "FILE")(
      "kernel", "with --record: the file of a kernel that is not built in", cxxopts::value<std::string>(), "FILE");
  options.parse_positional({"session"});
  options.positional_help("[ID]");
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    HONE_ASSIGN(const auto store, open_to_read(store_path(arguments)));
    if (arguments.count("session") == 0) {
      return arguments.count("record") == 0 ? list(*store)
                                            : Error{ErrorCode::kInvalidArgument, "which sessions? hone sessions ID --record FILE.json.gz"};
    }
    return arguments.count("record") == 0 ? describe(arguments, *store) : record(arguments, *store);
  });
}

}  // namespace hone::cli
