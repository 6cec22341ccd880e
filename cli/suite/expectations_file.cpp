#include "cli/suite/expectations_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/output.hpp"
#include "cli/suite/toml.hpp"
#include "engine/base/digest.hpp"

namespace hone::cli::suite {
namespace {

/// A TOML string; JSON's escapes are TOML's.
std::string quoted(const std::string& text) {
  std::string result = dump(nlohmann::json(text));
  for (std::size_t at = result.find('\x7F'); at != std::string::npos; at = result.find('\x7F')) {
    result.replace(at, 1, "\\u007F");
  }
  return result;
}

Result<RecordedRun> read_run(const toml::table& table, const std::filesystem::path& path) {
  HONE_ASSIGN(const TomlTable read, TomlTable::of(table, path, {"us", "relative", "date", "driver", "machine"}));
  RecordedRun run;
  HONE_ASSIGN(run.level.us, read.number("us", 0.0));
  HONE_ASSIGN(run.level.relative, read.number("relative", run.level.us));
  HONE_ASSIGN(run.date, read.text("date"));
  HONE_ASSIGN(run.driver, read.text("driver"));
  HONE_ASSIGN(run.machine, read.text("machine"));
  const auto is_time = [](double value) { return value > 0.0 && value < 1e18; };
  return is_time(run.level.us) && is_time(run.level.relative) ? Result<RecordedRun>(run) : read.wrong("'us' and 'relative' are above 0");
}

Result<ExpectedCase> read_case(const toml::table& table, const std::filesystem::path& path) {
  HONE_ASSIGN(const TomlTable read, TomlTable::of(table, path, {"name", "what", "control", "outcome", "runs"}));
  ExpectedCase one;
  HONE_ASSIGN(one.name, read.text("name"));
  HONE_ASSIGN(one.what, read.text("what"));
  HONE_ASSIGN(one.control, read.text("control"));
  HONE_ASSIGN(const std::string outcome, read.text("outcome", "ok"));
  const Result<Outcome> parsed = parse_outcome(outcome);
  if (!parsed) {
    return read.wrong(parsed.error().message);
  }
  one.outcome = *parsed;
  HONE_ASSIGN(const auto runs, read.tables("runs"));
  for (const toml::table* const run : runs) {
    HONE_ASSIGN(one.runs.emplace_back(), read_run(*run, path));
  }
  if (one.name.empty() || (one.outcome == Outcome::kOk && one.runs.empty())) {
    return read.wrong("a case has a name and, unless it fails, runs");
  }
  return one;
}

std::string case_text(const ExpectedCase& one) {
  std::string text = fmt::format("\n[[case]]\nname = {}\nwhat = {}\n", quoted(one.name), quoted(one.what));
  text += one.control.empty() ? "" : fmt::format("control = {}\n", quoted(one.control));
  if (one.outcome != Outcome::kOk) {
    return text + fmt::format("outcome = \"{}\"\n", name(one.outcome));
  }
  text += "runs = [\n";
  for (const RecordedRun& run : one.runs) {
    text += fmt::format("  {{ us = {:#.6g}, relative = {:#.6g}, date = {}{}{} }},\n", run.level.us, run.level.relative, quoted(run.date),
                        run.driver.empty() ? "" : ", driver = " + quoted(run.driver),
                        run.machine.empty() ? "" : ", machine = " + quoted(run.machine));
  }
  return text + "]\n";
}

}  // namespace

const ExpectedCase* Expectations::find(const std::string& name) const {
  const auto found = std::ranges::find(cases, name, &ExpectedCase::name);
  return found == cases.end() ? nullptr : &*found;
}

std::string machine_of(const DeviceInfo& device) {
  constexpr std::size_t kDigits = 12;  // a uuid itself does not belong into a file that is published
  return device.uuid.empty() ? "" : digest(device.uuid).substr(0, kDigits);
}

bool is_of_one_other_machine(const Expectations& expectations, const DeviceInfo& device) {
  std::set<std::string> machines;
  for (const ExpectedCase& one : expectations.cases) {
    for (const RecordedRun& run : one.runs) {
      machines.insert(run.machine);
    }
  }
  return machines.size() == 1 && !machines.begin()->empty() && *machines.begin() != machine_of(device);
}

std::filesystem::path expectations_path(const std::filesystem::path& suite, const DeviceInfo& device) {
  std::string file = device.product;
  for (const std::string* const part : {&device.mig_profile, &device.share}) {
    file += part->empty() ? "" : " " + *part;
  }
  std::ranges::replace_if(
      file, [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-'; }, '_');
  return suite.parent_path() / (suite.stem().string() + ".expected") / (file + ".toml");
}

Result<std::optional<Expectations>> read_expectations(const std::filesystem::path& path) {
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) {
    return std::optional<Expectations>();
  }
  HONE_ASSIGN(const std::string text, read_text(path));
  HONE_ASSIGN(Expectations expectations, parse_expectations(text, path));
  return std::optional(std::move(expectations));
}

Result<Expectations> parse_expectations(std::string_view text, const std::filesystem::path& path) {
  HONE_ASSIGN(const toml::table file, parse_toml(text, path));
  HONE_ASSIGN(const TomlTable read, TomlTable::of(file, path, {"product", "case"}));
  Expectations expectations;
  HONE_ASSIGN(expectations.product, read.text("product"));
  HONE_ASSIGN(const auto cases, read.tables("case"));
  for (const toml::table* const one : cases) {
    HONE_ASSIGN(ExpectedCase expected, read_case(*one, path));
    if (expectations.find(expected.name) != nullptr) {
      return read.wrong(fmt::format("the case '{}' is there twice", expected.name));
    }
    expectations.cases.push_back(std::move(expected));
  }
  return expectations;
}

std::string expectations_text(const Expectations& expectations, const std::filesystem::path& suite) {
  std::string text = fmt::format(
      "# What `hone bench {}` expects on this product, written by --record and --update. Review changes like code.\n"
      "# `us` is the median over the processes of a run; `relative` the same of its time / its control's.\nproduct = {}\n",
      suite.filename().string(), quoted(expectations.product));
  for (const ExpectedCase& one : expectations.cases) {
    text += case_text(one);
  }
  return text;
}

}  // namespace hone::cli::suite
