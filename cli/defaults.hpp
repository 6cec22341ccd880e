#pragma once
// Options that a user's file gives: $HONE_CONFIG, else hone/config.toml of $XDG_CONFIG_HOME or ~/.config. What the command line or an
// environment variable says comes before it.
//
//   store = "/data/hone.db"    # of every verb that has --store
//   [tune]
//   budget = "60s"             # of this verb

#include <cxxopts.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "hone/error.hpp"

namespace hone::cli {

/// The file that is read; empty where there is none, and where HONE_CONFIG is empty. It need not exist if HONE_CONFIG names it.
std::filesystem::path defaults_file();

/// From now on, the verbs that this process runs take what the file gives. A program that embeds them does not call it. Errors: it cannot
/// be read, is no TOML, or names a verb or an option that there is not.
Result<void> load_defaults();

/// "--budget=60s", ...: what was loaded for `verb` of the options that `arguments` does not give.
std::vector<std::string> default_words(std::string_view verb, const cxxopts::ParseResult& arguments);

}  // namespace hone::cli
