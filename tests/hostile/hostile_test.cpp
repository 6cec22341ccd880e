// Nothing wrong wins, nobody honest is blamed, and no candidate takes its session down: the built command, one session a case.
//   test_hostile [--device cpu] [--json FILE] [--filter TEXT] [--smoke] [--hone FILE] [--kernels FOLDER] [--limit SECONDS] [--list]
// HONE, HONE_TEST_DEVICE and HONE_HOSTILE_KERNELS in the environment say the same as --hone, --device and --kernels.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>

#include "tests/hostile/process.hpp"
#include "tests/hostile/session.hpp"

namespace hone::hostile {
namespace {

struct Run {
  Options options;
  std::string json, filter;
  bool smoke = false, list = false;
  nlohmann::json results = nlohmann::json::array();
  std::map<std::string, int> counts;
};

Run& this_run() {
  static Run run;
  return run;
}

std::string from_environment(const char* name, const std::string& otherwise) {
  const char* given = std::getenv(name);
  return given == nullptr || *given == '\0' ? otherwise : given;
}

bool is_wanted(const Case& one) {
  const Run& run = this_run();
  const bool here = one.devices.find(run.options.device.starts_with("cuda") ? "cuda" : "cpu") != std::string_view::npos;
  return here && (!run.smoke || one.smoke) && name_of(one).find(run.filter) != std::string::npos;
}

std::string joined(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& one : list) {
    text += (text.empty() ? "" : " ") + one;
  }
  return text.empty() ? "-" : text;
}

void print_row(const Case& one, const Ended& ended) {
  std::printf("%-14s %-42s %-28s blamed %-8s won %-3s %6.1f s  %s\n", ended.verdict.c_str(), ended.name.c_str(), ended.outcome.c_str(),
              joined(ended.blamed).c_str(), ended.winner.empty() ? "-" : ended.winner.c_str(), ended.seconds,
              std::string(one.what).c_str());
  std::fflush(stdout);
}

/// After each case, so that a run that is broken off has told what it knows.
void write_json() {
  const Run& run = this_run();
  if (!run.json.empty()) {
    const nlohmann::json whole{{"device", run.options.device}, {"hone", run.options.hone}, {"counts", run.counts}, {"cases", run.results}};
    std::ofstream(run.json) << whole.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  }
}

void run_group(std::string_view group) {
  Run& run = this_run();
  for (const Case& one : cases()) {
    if (one.group != group || !is_wanted(one)) {
      continue;
    }
    const Ended ended = run_case(one, run.options);
    print_row(one, ended);
    ++run.counts[ended.verdict];
    run.results.push_back(to_json(one, ended));
    write_json();
    CHECK_MESSAGE(ended.held(), ended.name, " (", std::string(one.what), "): ", ended.verdict, "; ", ended.outcome, " ", ended.detail);
  }
}

TEST_CASE("a kernel that remembers is refused") { run_group("remembers"); }
TEST_CASE("a kernel that becomes wrong is refused") { run_group("later"); }
TEST_CASE("a kernel that writes where it must not is refused") { run_group("trespass"); }
TEST_CASE("a kernel that is right on one set of buffers alone is refused") { run_group("places"); }
TEST_CASE("a pass that does not wait is refused") { run_group("overlap"); }
TEST_CASE("a kernel that is wrong for some inputs is refused") { run_group("range"); }
TEST_CASE("a kernel that wants more alignment than is promised is refused") { run_group("alignment"); }
TEST_CASE("a kernel that is wrong at some extents is refused") { run_group("shape"); }
TEST_CASE("a kernel that reads what nobody wrote is refused") { run_group("uninitialised"); }
TEST_CASE("a race is refused") { run_group("race"); }
TEST_CASE("a kernel that is not precise is refused") { run_group("precision"); }
TEST_CASE("what crashes, hangs or crawls costs itself") { run_group("crash"); }
TEST_CASE("a kernel that cheats the clock is refused") { run_group("clock"); }
TEST_CASE("honest kernels are not blamed for others") { run_group("blame"); }
TEST_CASE("what is right in its own way is accepted") { run_group("right"); }

/// Our own options; the others are doctest's.
bool take(Run& run, const std::string& word, const char* value) {
  const std::map<std::string, std::string*> texts{{"--device", &run.options.device},
                                                  {"--json", &run.json},
                                                  {"--filter", &run.filter},
                                                  {"--hone", &run.options.hone},
                                                  {"--kernels", &run.options.kernels}};
  if (const auto at = texts.find(word); at != texts.end() && value != nullptr) {
    *at->second = value;
    return true;
  }
  if (word == "--limit" && value != nullptr) {
    run.options.limit_seconds = std::strtod(value, nullptr);
    return true;
  }
  return false;
}

void list_cases() {
  for (const Case& one : cases()) {
    if (is_wanted(one)) {
      std::cout << name_of(one) << "  " << one.what << "\n";
    }
  }
}

void print_counts() {
  int all = 0;
  for (const auto& [verdict, count] : this_run().counts) {
    std::printf("%-14s %d\n", verdict.c_str(), count);
    all += count;
  }
  std::printf("%-14s %d\n", "cases", all);
}

int main_of(int argc, char** argv) {
  Run& run = this_run();
  run.options.hone = from_environment("HONE", HONE_BINARY_DIR "/bin/hone");
  run.options.kernels = from_environment("HONE_HOSTILE_KERNELS", HONE_SOURCE_DIR "/tests/hostile/kernels");
  run.options.device = from_environment("HONE_TEST_DEVICE", "cpu");
  std::vector<char*> others{argv[0]};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    run.smoke = run.smoke || word == "--smoke";
    run.list = run.list || word == "--list";
    if (take(run, word, i + 1 < argc ? argv[i + 1] : nullptr)) {
      ++i;
    } else if (word != "--smoke" && word != "--list") {
      others.push_back(argv[i]);
    }
  }
  if (run.list) {
    list_cases();
    return 0;
  }
  adopt_orphans();
  doctest::Context context(static_cast<int>(others.size()), others.data());
  const int failed = context.run();
  print_counts();
  return run.counts.empty() && !context.shouldExit() ? 1 : failed;  // a filter that finds nothing shows nothing
}

}  // namespace
}  // namespace hone::hostile

int main(int argc, char** argv) { return hone::hostile::main_of(argc, argv); }
