// The files of hone bench, as functions from text to values and back.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "cli/options.hpp"
#include "cli/suite/expectations_file.hpp"
#include "cli/suite/history.hpp"
#include "cli/suite/suite_file.hpp"
#include "engine/kernel/builtin_kernels.hpp"

namespace hone::cli::suite::test {

TEST_CASE("the suite that comes with Hone names problems that its kernels take") {
  const Result<SuiteFile> suite = read_suite(std::filesystem::path(HONE_SOURCE_DIR) / "bench/suites/kernels.toml");
  REQUIRE_MESSAGE(suite.ok(), suite.error().message);
  std::vector<Entry> all = suite->controls;
  all.insert(all.end(), suite->cases.begin(), suite->cases.end());
  for (const Entry& entry : all) {
    CAPTURE(entry.name);
    const Result<const KernelSpec*> kernel = find_builtin_kernel(entry.kernel);
    REQUIRE(kernel.ok());
    CHECK(problem_of(**kernel, entry.dtype, entry.shape).ok());
  }
}

TEST_CASE("expectations are read as they were written, whatever names contain") {
  const Expectations written{"NVIDIA \"H200\"",
                             {{"a \\ \n\x7F\xC3\xA9",
                               "copy f32 n=3 default",
                               "copy (12)",
                               Outcome::kOk,
                               {{{12.5, 0.25}, "2026-11-24", "580", "0a1b"}, {{1e9, 3.0}, "", ""}}},
                              {"b", "", "", Outcome::kTimeout, {}}}};
  const auto path = std::filesystem::temp_directory_path() / "hone-expectations-test.toml";
  std::ofstream(path) << expectations_text(written, "suite.toml");
  const Result<std::optional<Expectations>> read = read_expectations(path);
  std::filesystem::remove(path);
  REQUIRE_MESSAGE(read.ok(), read.error().message);
  REQUIRE(read->has_value());
  CHECK((*read)->product == written.product);
  REQUIRE((*read)->cases.size() == 2);
  const ExpectedCase& one = (*read)->cases[0];
  CHECK(one.name == written.cases[0].name);
  CHECK(one.what == written.cases[0].what);
  CHECK(one.control == written.cases[0].control);
  REQUIRE(one.runs.size() == 2);
  CHECK(one.runs[0].level.us == 12.5);
  CHECK(one.runs[0].level.relative == 0.25);
  CHECK(one.runs[0].driver == "580");
  CHECK(one.runs[0].machine == "0a1b");
  CHECK(one.runs[1].level.us == 1e9);
  CHECK((*read)->cases[1].outcome == Outcome::kTimeout);
}

TEST_CASE("expectations of one machine say nothing of another") {
  DeviceInfo here, there;
  here.uuid = "GPU-1";
  there.uuid = "GPU-2";
  const RecordedRun recorded{{1.0, 1.0}, "", "", machine_of(here)};
  Expectations expectations{"GPU", {{"one", "", "", Outcome::kOk, {recorded, recorded}}}};
  CHECK(is_of_one_other_machine(expectations, there));
  CHECK_FALSE(is_of_one_other_machine(expectations, here));
  expectations.cases[0].runs[1].machine = machine_of(there);
  CHECK_FALSE(is_of_one_other_machine(expectations, there));
  expectations.cases[0].runs = {{{1.0, 1.0}, "", "", machine_of({})}};  // nobody knows
  CHECK_FALSE(is_of_one_other_machine(expectations, there));
}

TEST_CASE("a run is added after a line that was cut off") {
  const auto path = std::filesystem::temp_directory_path() / "hone-history-test.jsonl";
  std::filesystem::remove(path);
  REQUIRE(append_run(path, {"2026-11-24", "cpu", {}}).ok());
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  std::ofstream(path) << line;
  REQUIRE(append_run(path, {"2026-11-25", "cpu", {}}).ok());
  const Result<std::vector<PastRun>> runs = read_runs(path, "cpu");
  std::filesystem::remove(path);
  REQUIRE(runs.ok());
  CHECK(runs->size() == 2);
}

TEST_CASE("the file of a product is named after it and its partition") {
  DeviceInfo device;
  device.product = "NVIDIA H200";
  CHECK(expectations_path("bench/suite.toml", device) == "bench/suite.expected/NVIDIA_H200.toml");
  device.mig_profile = "1g.18gb";
  CHECK(expectations_path("suite.toml", device) == "suite.expected/NVIDIA_H200_1g.18gb.toml");
}

}  // namespace hone::cli::suite::test
