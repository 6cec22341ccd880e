#include "tests/hostile/session.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "tests/hostile/process.hpp"

namespace hone::hostile {
namespace {

constexpr double kAsGood = 1.05;  // the winner's time by that of the fastest honest one

class Scratch {
 public:
  Scratch() {
    std::string path = (std::filesystem::temp_directory_path() / "hone-hostile-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) {
      throw std::runtime_error("no temporary directory " + path);
    }
    path_ = path;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t bar = std::min(text.size(), text.find('|'));
    parts.emplace_back(text.substr(0, bar));
    text.remove_prefix(std::min(text.size(), bar + 1));
  }
  return parts;
}

bool contains(const std::vector<std::string>& list, const std::string& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

/// A configuration as its session saw it.
struct Seen {
  std::string outcome, detail;
  double time_us = 0.0;
  bool is_finalist = false;
};

struct Session {
  Finished tune;
  std::map<std::string, Seen> trials;  ///< by the value of `trick`
  std::string winner;
};

nlohmann::json parse(const std::string& text) { return nlohmann::json::parse(text, nullptr, false); }

std::string trick_of(const nlohmann::json& config) {
  return config.is_object() && config.contains("trick") ? config["trick"].dump() : std::string();
}

std::vector<std::string> honest_of(const Case& one) {
  return one.must == Must::kAccept ? std::vector<std::string>{"0"} : std::vector<std::string>{"0", "1"};
}

/// With several compile processes the fast honest one could be compiled, tried and in the lead before a wrong one, which would be no
/// potential winner then. One that may take minutes to compile, or that takes processes down, shall have others beside it.
bool is_compiled_in_order(const Case& one) {
  return one.must == Must::kFail && one.group != "crash" && !contains(split(one.outcomes), "compile_timeout");
}

std::vector<std::string> command(const Case& one, const Options& options, const std::string& store) {
  const std::vector<std::string> tricks = split(one.tricks);
  const std::size_t trials = tricks.size() + honest_of(one).size();
  const std::string fix = "trick=0|" + std::string(one.tricks) + (one.must == Must::kAccept ? "" : "|1");
  std::vector<std::string> words{options.hone, "tune", options.kernels + "/" + std::string(one.file) + ".cu"};
  for (const std::string& word : {std::string("--device"), options.device, std::string("--dtype"), std::string(one.dtype),
                                  std::string("--fix"), fix, std::string("--strategy"), std::string("exhaustive"), std::string("--budget"),
                                  std::to_string(trials) + "trials", std::string("--store"), store, std::string("--json")}) {
    words.push_back(word);
  }
  if (is_compiled_in_order(one)) {
    words.emplace_back("--compile-workers");
    words.emplace_back("1");
  }
  if (!one.shape.empty()) {
    words.emplace_back("--shape");
    words.emplace_back(one.shape);
  }
  return words;
}

Session observe(const Case& one, const Options& options) {
  const Scratch scratch;
  const std::string store = scratch.path() + "/S.db";
  Session session;
  session.tune = run(command(one, options, store), options.limit_seconds, scratch.path());
  const nlohmann::json report = parse(session.tune.out);
  if (report.is_object() && report.contains("best") && report["best"].is_object()) {
    session.winner = trick_of(report["best"]["config"]);
  }
  constexpr double kLookLimit = 60.0;
  const Finished told =
      run({options.hone, "sessions", "1", "--kernel", options.kernels + "/" + std::string(one.file) + ".cu", "--store", store, "--json"},
          kLookLimit, scratch.path());
  const nlohmann::json trials = parse(told.out);
  if (trials.is_object() && trials.contains("results")) {
    for (const nlohmann::json& trial : trials["results"]) {
      Seen seen{trial.value("outcome", ""), trial.value("detail", "")};
      seen.time_us = trial["time_us"].is_number() ? trial["time_us"].get<double>() : 0.0;
      seen.is_finalist = trial.at("final_round").get<bool>();
      session.trials[trick_of(trial["config"])] = std::move(seen);
    }
  }
  return session;
}

bool is_ok(const Session& session, const std::string& trick) {
  const auto at = session.trials.find(trick);
  return at != session.trials.end() && at->second.outcome == "ok";
}

/// By the session's own numbers: no honest configuration is faster than the winner by more than noise.
bool winner_is_fastest(const Session& session, const std::vector<std::string>& honest) {
  const double won = session.trials.at(session.winner).time_us;
  return std::all_of(honest.begin(), honest.end(), [&](const std::string& trick) {
    const auto at = session.trials.find(trick);
    return at == session.trials.end() || at->second.time_us <= 0.0 || won <= kAsGood * at->second.time_us;
  });
}

std::string judge_hostile(const Case& one, const Session& session) {
  const std::vector<std::string> tricks = split(one.tricks), honest = honest_of(one);
  const bool believed = contains(tricks, session.winner);
  if (one.must != Must::kList && believed) {
    return one.must == Must::kSpare ? "lesser winner" : "wrong winner";
  }
  if (!std::all_of(honest.begin(), honest.end(), [&](const std::string& trick) { return is_ok(session, trick); })) {
    return "honest blamed";
  }
  if (one.must == Must::kList) {
    return "listed";
  }
  for (const std::string& trick : tricks) {
    const auto at = session.trials.find(trick);
    if (at == session.trials.end()) {
      return "not tried";
    }
    if (one.must == Must::kFail && at->second.outcome == "ok") {
      const bool was_slow = at->second.time_us > session.trials.at("0").time_us;  // slower than the slow honest one, which is timed first
      return was_slow && !at->second.is_finalist ? "far behind" : "accepted";
    }
    if (one.must == Must::kFail && !contains(split(one.outcomes), at->second.outcome)) {
      return "other outcome";
    }
  }
  return winner_is_fastest(session, honest) ? "held" : "lesser winner";
}

std::string judge_right(const Case& one, const Session& session) {
  std::vector<std::string> tricks = split(one.tricks);
  tricks.emplace_back("0");
  return std::all_of(tricks.begin(), tricks.end(), [&](const std::string& trick) { return is_ok(session, trick); }) ? "held" : "refused";
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  const std::size_t at = text.rfind('\n');
  return at == std::string::npos ? text : text.substr(at + 1);
}

Ended run_session(const Case& one, const Options& options) {
  const Session session = observe(one, options);
  Ended ended{name_of(one), "", "", "", session.winner, {}, {}, session.tune.seconds};
  for (const auto& [trick, seen] : session.trials) {
    ended.times_us.emplace_back(trick, seen.time_us);
    if (seen.outcome != "ok" && seen.outcome != "too_slow") {  // the latter blames nobody
      ended.blamed.push_back(trick);
    }
  }
  for (const std::string& trick : split(one.tricks)) {
    const auto at = session.trials.find(trick);
    const bool is_told = at != session.trials.end();
    ended.outcome += (ended.outcome.empty() ? "" : "|") + (is_told ? at->second.outcome : std::string("-"));
    ended.detail += is_told ? at->second.detail : "";
  }
  if (!session.tune.in_time || session.tune.exit != 0 || session.winner.empty() || session.trials.empty()) {
    ended.verdict = "session lost";
    ended.detail = !session.tune.in_time ? "no end within the limit"
                                         : "exit " + std::to_string(session.tune.exit) + ": " + last_line(session.tune.err);
    return ended;
  }
  ended.verdict = one.must == Must::kAccept ? judge_right(one, session) : judge_hostile(one, session);
  if (ended.verdict == "honest blamed" || ended.verdict == "refused") {
    for (const std::string& trick : honest_of(one)) {
      ended.detail +=
          is_ok(session, trick) || session.trials.count(trick) == 0 ? "" : " [" + trick + ": " + session.trials.at(trick).detail + "]";
    }
  }
  return ended;
}

}  // namespace

std::string name_of(const Case& one) {
  std::string name = std::string(one.group) + "/" + std::string(one.file) + "-" + std::string(one.tricks);
  std::replace(name.begin(), name.end(), '|', '+');
  if (one.dtype != "f32") {
    name += "-" + std::string(one.dtype);
  }
  return one.shape.empty() ? name : name + "-" + std::string(one.shape);
}

Ended run_case(const Case& one, const Options& options) {
  constexpr int kMostTries = 3;
  Ended ended = run_session(one, options);
  const auto may_be_noise = [](const std::string& verdict) { return verdict == "lesser winner" || verdict == "far behind"; };
  for (int tries = 2; may_be_noise(ended.verdict) && tries <= kMostTries; ++tries) {
    ended = run_session(one, options);
    ended.tries = tries;
  }
  return ended;
}

nlohmann::json to_json(const Case& one, const Ended& ended) {
  const nlohmann::json times(std::map<std::string, double>(ended.times_us.begin(), ended.times_us.end()));
  return {{"name", ended.name},     {"class", one.group},     {"what", one.what},         {"outcome", ended.outcome},
          {"blamed", ended.blamed}, {"winner", ended.winner}, {"verdict", ended.verdict}, {"seconds", ended.seconds},
          {"tries", ended.tries},   {"times_us", times},      {"detail", ended.detail},   {"chance", one.chance}};
}

}  // namespace hone::hostile
