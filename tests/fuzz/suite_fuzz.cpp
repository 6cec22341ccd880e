// Suites of hone bench, and what they expect.

#include <array>

#include "cli/suite/expectations_file.hpp"
#include "cli/suite/suite_file.hpp"
#include "tests/fuzz/mutate.hpp"

namespace {

using hone::fuzz::require;
using namespace hone::cli::suite;

constexpr std::array<std::string_view, 18> kWords{"[[case]]\n",
                                                  "[[control]]\n",
                                                  "name = \"a\"\n",
                                                  "kernel = \"copy\"\n",
                                                  "control = \"a\"\n",
                                                  "budget = \"5s\"\n",
                                                  "processes = 5\n",
                                                  "slower = 0.02\n",
                                                  "smoke = true\n",
                                                  "max_error = 1e-3\n",
                                                  "runs = [",
                                                  "{ us = 1.5, relative = 2.5 },",
                                                  "]\n",
                                                  "outcome = \"timeout\"\n",
                                                  "what = \"b\"\n",
                                                  "product = \"H\"\n",
                                                  "inf",
                                                  "\"\"\""};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = hone::fuzz::text_of(data, size);
  const auto suite = parse_suite(input, "x.toml");
  require(suite.ok() || suite.error().message.starts_with("x.toml:"), "an error names the file and the line");
  if (suite) {
    require(!suite->cases.empty() && suite->processes >= 1, "a suite has cases");
  }
  const auto expected = parse_expectations(input, "x.toml");
  if (!expected) {
    require(expected.error().message.starts_with("x.toml:"), "an error names the file and the line");
    return 0;
  }
  const std::string written = expectations_text(*expected, "suite.toml");
  const auto again = parse_expectations(written, "y.toml");
  require(again.ok(), "what is written can be read", again ? "" : again.error().message);
  require(expectations_text(*again, "suite.toml") == written, "and is the same then", written);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  hone::fuzz::Random random(seed);
  return hone::fuzz::mutate_bytes(random, kWords, data, size, max_size);
}
