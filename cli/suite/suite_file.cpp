#include "cli/suite/suite_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/suite/toml.hpp"

namespace hone::cli::suite {
namespace {

/// "softmax f16 rows=4096,cols=8192": what is not said is left out.
std::string usual_name(const Entry& entry) {
  std::string name = entry.kernel;
  for (const std::string* const part : {&entry.dtype, &entry.shape, &entry.budget_text}) {
    name += part->empty() ? "" : " " + *part;
  }
  return entry.config == "default" || entry.budget ? name : name + " " + entry.config;
}

Result<Entry> read_entry(const toml::table& table, const SuiteFile& suite, bool is_control) {
  HONE_ASSIGN(const TomlTable read,
              is_control ? TomlTable::of(table, suite.path, {"name", "kernel", "dtype", "shape", "config"})
                         : TomlTable::of(table, suite.path,
                                         {"name", "kernel", "dtype", "shape", "config", "budget", "max_error", "control", "smoke"}));
  Entry entry{.where = fmt::format("{}:{}", suite.path.string(), table.source().begin.line)};
  HONE_ASSIGN(entry.kernel, read.text("kernel"));
  HONE_ASSIGN(entry.dtype, read.text("dtype"));
  HONE_ASSIGN(entry.shape, read.text("shape"));
  HONE_ASSIGN(entry.config, read.text("config", "default"));
  HONE_ASSIGN(entry.budget_text, read.text("budget"));
  HONE_ASSIGN(entry.max_error, read.number("max_error", 0.0));
  HONE_ASSIGN(entry.smoke, read.boolean("smoke", false));
  HONE_ASSIGN(entry.name, read.text("name"));
  if (entry.kernel.empty()) {
    return read.wrong("which kernel? kernel = \"softmax\", or the path of a file");
  }
  if (!entry.budget_text.empty()) {
    const Result<Budget> budget = parse_budget(entry.budget_text);
    if (!budget || table.contains("config")) {
      return read.wrong(!budget ? budget.error().message : "a case has a configuration or a budget to find one, not both", "budget");
    }
    entry.budget = *budget;
  }
  if (!(entry.max_error >= 0.0 && entry.max_error < 1.0)) {
    return read.wrong("'max_error' is a share from 0 to 1", "max_error");
  }
  entry.name = entry.name.empty() ? usual_name(entry) : entry.name;
  if (entry.kernel.ends_with(".cu")) {
    entry.kernel = (suite.path.parent_path() / entry.kernel).string();
    entry.kernel = entry.kernel.find('/') == std::string::npos ? "./" + entry.kernel : entry.kernel;
  }
  HONE_ASSIGN(const std::string control, read.text("control"));
  if (!control.empty()) {
    const auto found = std::ranges::find(suite.controls, control, &Entry::name);
    if (found == suite.controls.end()) {
      return read.wrong(fmt::format("there is no [[control]] with the name '{}'", control), "control");
    }
    entry.control = static_cast<std::size_t>(found - suite.controls.begin());
  } else if (!is_control && !suite.controls.empty()) {
    entry.control = 0;
  }
  return entry;
}

Result<void> add(std::vector<Entry>& entries, Entry entry) {
  const auto same = std::ranges::find(entries, entry.name, &Entry::name);
  if (same != entries.end()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{}: '{}' is the name of {}, too; give one of them a name = \"...\" of its own",
                                                          entry.where, entry.name, same->where)};
  }
  entries.push_back(std::move(entry));
  return {};
}

}  // namespace

Result<SuiteFile> read_suite(const std::filesystem::path& path) {
  HONE_ASSIGN(const std::string text, read_text(path));
  return parse_suite(text, path);
}

Result<SuiteFile> parse_suite(std::string_view text, const std::filesystem::path& path) {
  HONE_ASSIGN(const toml::table file, parse_toml(text, path));
  HONE_ASSIGN(const TomlTable read, TomlTable::of(file, path, {"processes", "slower", "control", "case"}));
  SuiteFile suite{.path = path};
  HONE_ASSIGN(const double processes, read.number("processes", suite.processes));
  HONE_ASSIGN(suite.slower, read.number("slower", suite.slower));
  if (!(processes >= 1.0 && processes <= kMostProcesses) || processes != static_cast<int>(processes)) {
    return read.wrong(fmt::format("'processes' is a number from 1 to {}", kMostProcesses), "processes");
  }
  if (!(suite.slower > 0.0 && suite.slower < 1.0)) {
    return read.wrong("'slower' is a share above 0 and below 1: 0.02 is 2 %", "slower");
  }
  suite.processes = static_cast<int>(processes);
  HONE_ASSIGN(const auto controls, read.tables("control"));
  for (const toml::table* const control : controls) {
    HONE_ASSIGN(Entry entry, read_entry(*control, suite, true));
    HONE_TRY(add(suite.controls, std::move(entry)));
  }
  HONE_ASSIGN(const auto cases, read.tables("case"));
  for (const toml::table* const one : cases) {
    HONE_ASSIGN(Entry entry, read_entry(*one, suite, false));
    HONE_TRY(add(suite.cases, std::move(entry)));
  }
  return suite.cases.empty() ? Result<SuiteFile>(read.wrong("there is no [[case]]")) : Result<SuiteFile>(std::move(suite));
}

}  // namespace hone::cli::suite
