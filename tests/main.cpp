// doctest's main, and what it lacks: test cases that skip themselves while they run.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "tests/skip.hpp"

namespace {

constexpr int kSkipped = 77;

struct Skips {
  std::string running;                                         ///< the test case
  std::set<std::string> ran;                                   ///< all of them
  std::map<std::string, std::set<std::string>> skipped_for{};  ///< by reason
};

Skips& skips() {
  static Skips all;
  return all;
}

/// Hears which test case runs.
struct Listener : doctest::IReporter {
  explicit Listener(const doctest::ContextOptions& /*options*/) {}
  void report_query(const doctest::QueryData& /*query*/) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& /*stats*/) override {}
  void test_case_start(const doctest::TestCaseData& test) override {
    skips().running = std::string(test.m_file.c_str()) + ":" + std::to_string(test.m_line) + " " + test.m_name;
    skips().ran.insert(skips().running);
  }
  void test_case_reenter(const doctest::TestCaseData& /*test*/) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& /*stats*/) override {}
  void test_case_exception(const doctest::TestCaseException& /*exception*/) override {}
  void subcase_start(const doctest::SubcaseSignature& /*subcase*/) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& /*assertion*/) override {}
  void log_message(const doctest::MessageData& /*message*/) override {}
  void test_case_skipped(const doctest::TestCaseData& /*test*/) override {}
};

/// Whether the comma-separated HONE_TESTS_NEED has `word`.
bool needed(std::string_view word) {
  const char* const set = std::getenv("HONE_TESTS_NEED");
  std::string_view rest = set == nullptr ? "" : set;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    if (rest.substr(0, comma) == word) {
      return true;
    }
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
  }
  return false;
}

}  // namespace

REGISTER_LISTENER("skips", 1, Listener);

void hone::tests::skip(const std::string& needs, const std::string& why) {
  if (needed(needs)) {
    FAIL_CHECK("HONE_TESTS_NEED lists " << needs << ", and this is skipped: " << why);
    return;
  }
  skips().skipped_for[why].insert(skips().running);
}

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int result = context.run();
  std::set<std::string> skipped;
  for (const auto& [why, cases] : skips().skipped_for) {
    std::printf("skipped: %zu of %zu test cases: %s\n", cases.size(), skips().ran.size(), why.c_str());
    skipped.insert(cases.begin(), cases.end());
  }
  return result == 0 && !skipped.empty() && skipped.size() == skips().ran.size() ? kSkipped : result;
}
