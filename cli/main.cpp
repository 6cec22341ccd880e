#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cli/defaults.hpp"
#include "cli/help.hpp"
#include "cli/output.hpp"
#include "cli/run_verb.hpp"
#include "cli/verbs.hpp"
#include "hone/version.h"

namespace hone::cli {
namespace {

/// Prints, and returns `code` unless that fails.
int say(const std::string& text, int code) {
  const Result<void> printed = print_out(text);
  return printed ? code : fail("hone", false, printed.error().message, 1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string given = argc > 1 ? argv[1] : "";
  if (given.empty()) {
    return say(help_text(), 2);
  }
  if (given == "--help" || given == "-h" || given == "help") {
    return help(argc - 1, argv + 1);
  }
  if (given == "--version" || given == "version") {
    return say(fmt::format("hone {}\n", HONE_VERSION), 0);
  }
  const auto verb = std::ranges::find(verbs(), given, &Verb::name);
  if (verb == verbs().end()) {
    return fail_unknown(given, wants_json(argc, argv), false);
  }
  // A shell that asks must not be told what is wrong with a file.
  if (const Result<void> loaded = given == "completion" ? Result<void>() : load_defaults(); !loaded) {
    return fail(fmt::format("hone {}", given), wants_json(argc, argv), loaded.error().message, 2);
  }
  return verb->run(argc - 1, argv + 1);
}

}  // namespace hone::cli

int main(int argc, char** argv) { return hone::cli::main(argc, argv); }
