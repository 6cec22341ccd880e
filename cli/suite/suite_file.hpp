#pragma once
// A suite: which configurations of which kernels are measured for which problems (docs/bench.md).

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hone/budget.hpp"
#include "hone/error.hpp"

namespace hone::cli::suite {

inline constexpr int kMostProcesses = 1000;  ///< fresh ones for each case in a run

struct Entry {
  std::string name = {};                    ///< unique among cases and among controls
  std::string kernel = {};                  ///< a built-in one, or the path of a file, already relative to where the command runs
  std::string dtype = {}, shape = {};       ///< as --dtype and --shape
  std::string config = "default";           ///< as --config
  std::optional<Budget> budget = {};        ///< tuned for so long first; what won is measured, and `config` is not used
  std::string budget_text = {};             ///< as the file has it
  double max_error = 0.0;                   ///< as --max-error; 0: none
  std::optional<std::size_t> control = {};  ///< of SuiteFile::controls
  bool smoke = false;                       ///< part of the short run
  std::string where = {};                   ///< "suite.toml:12"
};

struct SuiteFile {
  std::filesystem::path path;
  int processes = 5;
  double slower = 0.02;  ///< what is slower by less is never called slower
  std::vector<Entry> controls = {}, cases = {};
};

/// `path` is for messages, and kernel files are beside it. Errors: those of parse_toml(); an unknown setting, a missing kernel, a name
/// twice, an unknown control, no cases.
Result<SuiteFile> parse_suite(std::string_view text, const std::filesystem::path& path);
/// Of a file. Errors: kNotFound, there is none.
Result<SuiteFile> read_suite(const std::filesystem::path& path);

}  // namespace hone::cli::suite
