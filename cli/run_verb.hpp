#pragma once
// How a verb begins and ends: its options are parsed, its output or its error is printed.

#include <cxxopts.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "hone/error.hpp"

namespace hone::cli {

using Json = nlohmann::ordered_json;

/// What a verb has to say: JSON for --json, text otherwise.
struct Output {
  Json json;
  std::string text;
  int exit_code = 0;
};

/// Parses the arguments with `options` (--json and --help are added), runs `body`, prints its output or its error. Returns the exit code:
/// 0, 2 for bad input or something missing, 1 for a failure of the device, the disk or a worker and for output that could not be written,
/// 130 if it was interrupted.
int run_verb(cxxopts::Options& options, int argc, char** argv, const std::function<Result<Output>(const cxxopts::ParseResult&)>& body);

/// Whether --json is among the arguments.
bool wants_json(int argc, char** argv);
/// Says what went wrong, for people and with `json` for programs too, and returns `code`.
int fail(std::string_view who, bool json, const std::string& message, int code);

}  // namespace hone::cli
