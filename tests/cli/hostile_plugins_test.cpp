// Plugins that crash, exit, hang, flood, hoard and worse: each costs its turns or its listing, is named with the cause, and nothing else.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tests/cli/command.hpp"
#include "tests/skip.hpp"

namespace hone::test {
namespace {

const std::string kPlugin = std::string(HONE_BINARY_DIR) + "/tests/plugin/hostile/hostile_plugin.so";
const std::string kSpace = std::string(HONE_SOURCE_DIR) + "/tests/package/toy.json";
constexpr int kTrials = 12;

/// What hangs costs so much here: a tenth of the usual time. Crashes are the plugin's: a sanitizer has nothing to report about them.
Environment way(const std::string& hostile) {
  const auto quiet = [](const char* variable) {
    const char* const options = std::getenv(variable);
    return std::string(options == nullptr ? "" : options) + ":handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0";
  };
  return {{"HONE_HOSTILE", hostile},
          {"HONE_PLUGIN_TIMEOUT", "1"},
          {"ASAN_OPTIONS", quiet("ASAN_OPTIONS")},
          {"TSAN_OPTIONS", quiet("TSAN_OPTIONS")}};
}

/// A session with the hostile strategy, in a store of its own.
struct Session {
  TemporaryDirectory directory;
  Ended ended;

  explicit Session(const std::string& hostile, const Environment& more = {}) {
    Environment environment = way(hostile);
    environment.insert(more.begin(), more.end());
    ended = run({"tune", kSpace, "--plugin", kPlugin, "--strategy", "hostile", "--budget", std::to_string(kTrials) + "trials", "--store",
                 directory / "S.db", "--json"},
                environment);
  }

  /// It ended with a winner and all its trials, and said `message` of the plugin.
  nlohmann::json check_goes_on(const std::string& message) const {
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    auto report = ended.json();
    CHECK(report["trials"] == kTrials);
    CHECK(report["best"]["time_us"] > 0.0);
    const std::string first = report["strategy_faults"]["first"];
    CHECK_MESSAGE(first.find(message) != std::string::npos, first);
    CHECK_MESSAGE((message.empty() || first.find("strategy hostile (") == 0), first);
    return report["strategy_faults"];
  }

  /// It ended before there was a session, with `message`.
  void check_refused(const std::string& message) const {
    CHECK(ended.exit != 0);
    CHECK_MESSAGE((ended.exit > 0 && ended.exit < 128), ended.exit);
    const auto report = nlohmann::json::parse(ended.out, nullptr, false);
    const std::string said = ended.out + ended.err;
    CHECK_MESSAGE(said.find(message) != std::string::npos, said);
    CHECK_MESSAGE(report.is_object(), ended.out);
    CHECK(sessions() == 0);
  }

  [[nodiscard]] std::size_t sessions() const {
    if (!std::filesystem::exists(directory / "S.db")) {
      return 0;
    }
    return run({"sessions", "--store", directory / "S.db", "--json"}).json()["sessions"].size();
  }
};

/// The verbs that only want to know what is here, with the plugin in a folder of HONE_PLUGIN_PATH.
void check_listings_survive(const std::string& hostile, const std::string& message) {
  const TemporaryDirectory directory;
  std::filesystem::copy_file(kPlugin, directory / "hostile.so");
  Environment environment = way(hostile);
  environment["HONE_PLUGIN_PATH"] = directory / "";
  for (const Arguments& verb :
       {Arguments{"devices", "--json"}, Arguments{"strategies", "--json"},
        Arguments{"best", "copy", "--device", "cpu", "--shape", "n=4096", "--store", directory / "none.db", "--json"}}) {
    const Ended ended = run(verb, environment);
    const bool wants_record = verb.front() == "best";
    CHECK_MESSAGE((ended.exit == 0 || (wants_record && ended.exit > 0)), verb.front(), ": ", ended.exit, " ", ended.err);
    CHECK_MESSAGE(nlohmann::json::parse(ended.out, nullptr, false).is_object(), ended.out);
    CHECK_MESSAGE(ended.err.find(message) != std::string::npos, ended.err);
    CHECK_MESSAGE(ended.err.find("hostile.so") != std::string::npos, ended.err);
  }
}

bool gone(pid_t pid) {
  for (int i = 0; i < 200; ++i) {
    if (::kill(pid, 0) != 0) {
      return true;
    }
    std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name, state;
    status >> number >> name >> state;
    if (state == "Z") {  // killed; whoever adopted it has not looked yet
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace

TEST_CASE("a plugin that behaves is at no fault") {
  const auto faults = Session("").check_goes_on("");
  CHECK(faults["failed"] == 0);
  CHECK(faults["crashed"] == 0);
  CHECK(faults["stalled"] == 0);
}

TEST_CASE("a crash in ask costs turns; the plugin is named with the signal") {
  const auto faults = Session("crash ask").check_goes_on("): ask: its process was killed by signal 11 (Segmentation fault)");
  CHECK(faults["crashed"] == 4);  // it was started again three times
  CHECK(faults["failed"] > 0);
}

TEST_CASE("a strategy that crashes now and then is started again and told what was measured") {
  const auto faults = Session("crash third ask").check_goes_on("its process was killed by signal 11");
  CHECK(faults["crashed"] >= 2);
  CHECK(faults["repeated"] > 0);  // begins anew
}

TEST_CASE("an exit in ask costs turns; the plugin is named with the exit code") {
  CHECK(Session("exit ask").check_goes_on("ask: its process ended with exit code 0")["crashed"] > 0);
}

TEST_CASE("what a strategy writes to its standard output goes nowhere") { Session("flood ask").check_goes_on(""); }

TEST_CASE("the last that a process wrote to its standard error is in the message") {
  Session("abort ask").check_goes_on("was killed by signal 6 (Aborted); it wrote: out of luck");
}

TEST_CASE("a crash, an exit or an abort while the plugin is loaded is an error before there is a session") {
  Session("crash entry").check_refused("hone_plugin_entry: its process was killed by signal 11");
  Session("exit entry").check_refused("hone_plugin_entry: its process ended with exit code 0");
  Session("abort constructor").check_refused("opening it: its process was killed by signal 6 (Aborted); it wrote: out of luck");
  Session("exit constructor").check_refused("opening it: its process ended with exit code 0");
}

TEST_CASE("listings survive a plugin of HONE_PLUGIN_PATH that crashes, exits, floods or hangs, and name it") {
  check_listings_survive("crash entry", "hone_plugin_entry: its process was killed by signal 11");
  check_listings_survive("exit constructor", "opening it: its process ended with exit code 0");
  check_listings_survive("hang entry", "hone_plugin_entry did not return within 1000 ms");
  check_listings_survive("close entry", "its process");
}

TEST_CASE("a plugin of HONE_PLUGIN_PATH that floods its output is listed") {
  const TemporaryDirectory directory;
  std::filesystem::copy_file(kPlugin, directory / "hostile.so");
  Environment environment = way("flood entry");
  environment["HONE_PLUGIN_PATH"] = directory / "";
  const Ended ended = run({"strategies", "hostile", "--json"}, environment);
  CHECK(ended.exit == 0);
  CHECK(ended.json()["name"] == "hostile");
  CHECK(ended.err.empty());
}

TEST_CASE("a device's enumeration that crashes, exits or hangs is the reason why the device is missing") {
  const auto reason = [](const std::string& hostile) {
    const Ended ended = run({"devices", "--plugin", kPlugin, "--json"}, way(hostile));
    CHECK(ended.exit == 0);
    const auto listed = ended.json();
    for (const auto& missing : listed["missing"]) {
      if (missing["plugin"] == "hostile_device") {
        return missing["reason"].get<std::string>();
      }
    }
    return std::string("not listed");
  };
  CHECK(reason("") == "device hostile_device: enumerate: there is none today");
  CHECK(reason("crash enumerate") == "device hostile_device: enumerate: its process was killed by signal 11 (Segmentation fault)");
  CHECK(reason("exit enumerate") == "device hostile_device: enumerate: its process ended with exit code 0");
  CHECK(reason("hang enumerate") == "device hostile_device: enumerate: it did not return within 1000 ms");
}

TEST_CASE("a strategy that hangs is left alone, and killed when the session ends") {
  CHECK(Session("hang ask").check_goes_on("ask did not return within 1000 ms")["stalled"] > 0);
  CHECK(Session("hang tell").check_goes_on("tell did not return within 1000 ms")["stalled"] > 0);
  CHECK(Session("hang save").check_goes_on("save did not return within 1000 ms")["stalled"] == 1);
  CHECK(Session("hang destroy").check_goes_on("destroy did not return within 1000 ms")["stalled"] == 1);
  CHECK(Session("stop ask").check_goes_on("ask did not return within 1000 ms")["stalled"] > 0);
  Session("hang entry").check_refused("hone_plugin_entry did not return within 1000 ms");
}

TEST_CASE("a strategy that fails, crashes or hangs in create is an error and leaves no session") {
  Session("fail create").check_refused("create failed: it will not");
  Session("crash create").check_refused("create: its process was killed by signal 11");
  Session("exit create").check_refused("create: its process ended with exit code 0");
  Session("hang create").check_refused("create did not return within 1000 ms");
}

TEST_CASE("a crash in tell, save or destroy is named and costs no trial") {
  Session("crash tell").check_goes_on("tell: its process was killed by signal 11");
  Session("crash save").check_goes_on("save: its process was killed by signal 11");
  Session("crash destroy").check_goes_on("destroy: its process was killed by signal 11");
}

TEST_CASE("what a strategy keeps has a bound") { Session("large save").check_goes_on("save failed: it keeps more than 1 MiB"); }

TEST_CASE("a strategy that closes all files, or writes into the socket, loses its process") {
  CHECK(Session("close ask").check_goes_on("ask: its process")["crashed"] > 0);
  CHECK(Session("garbage ask").check_goes_on("ask: its process sent a garbled message")["crashed"] > 0);
}

TEST_CASE("a child that a strategy leaves behind ends with the session") {
  for (const char* hostile : {"child third ask", "child and crash third ask"}) {
    const TemporaryDirectory notes;
    const Session session(hostile, {{"HONE_HOSTILE_NOTE", notes / "children"}});
    session.check_goes_on("");
    std::ifstream children(notes / "children");
    pid_t child = 0;
    int count = 0;
    for (; children >> child; ++count) {
      CHECK_MESSAGE(gone(child), hostile);
    }
    CHECK(count > 0);
  }
}

TEST_CASE("a strategy that takes all memory gets no more than its limit") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  hone::tests::skip("limits", "a sanitizer needs the address space for itself");
  return;
#endif
  const auto faults = Session("memory third ask").check_goes_on("ask");
  CHECK(faults["failed"].get<int>() + faults["crashed"].get<int>() > 0);
}

TEST_CASE("an exception that leaves a C function is a failure like another") {
  CHECK(Session("throw ask").check_goes_on("ask failed: thrown through C")["failed"] > 0);
}

TEST_CASE("a strategy that changes folder, signals, limits and environment changes its own process") {
  Session("surroundings third ask").check_goes_on("");
  Session("surroundings create").check_goes_on("");
}

TEST_CASE("a strategy that proposes what is not in the space for ever loses its turns") {
  CHECK(Session("invalid ask").check_goes_on("")["invalid"] > 0);
}

TEST_CASE("a process is no security boundary: a plugin can kill hone, whose session then goes on from there") {
  const Session killed("kill parent third ask");
  CHECK(killed.ended.exit == -SIGKILL);
  const Ended again = run({"tune", kSpace, "--plugin", kPlugin, "--strategy", "hostile", "--budget", std::to_string(kTrials) + "trials",
                           "--store", killed.directory / "S.db", "--json"});
  REQUIRE_MESSAGE(again.exit == 0, again.err);
  CHECK(again.json()["resumed_trials"] > 0);
  CHECK(again.json()["trials"] == kTrials);
}

TEST_CASE("compare counts the crashes of a strategy beside the score that chance gave it") {
  const Ended ended =
      run({"compare", "--spaces", kSpace, "--strategy", kPlugin, "--budgets", "5,10", "--repeats", "3", "--json"}, way("crash third ask"));
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto report = ended.json();
  const auto& strategy = report["strategies"][0];
  CHECK(strategy["faults"]["crashed"] > 0);
  CHECK(strategy["faults"]["first"].get<std::string>().find("its process was killed by signal 11") != std::string::npos);
}

}  // namespace hone::test
