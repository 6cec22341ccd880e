#pragma once
// A verb inside another program, such as Python: where it reports to, what can stop it, and what it has to say.

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "engine/plugin/registry.hpp"
#include "engine/tune/session.hpp"

namespace hone::cli {

/// What a program that runs a verb gives it.
struct Embedding {
  Registry registry;                                      ///< as make_registry(), perhaps with more strategies
  std::stop_token stop = {};                              ///< in place of Ctrl-C
  std::function<void(const Progress&)> on_progress = {};  ///< of `tune`, in the thread of the verb
};

/// Runs a verb in this thread: nothing is printed, and no signal handled. `arguments` begins with the verb's name. Errors: those of the
/// verb; kNotFound, no such verb.
Result<Output> run_embedded(Embedding& embedding, std::vector<std::string> arguments);

/// Of the verb that this thread runs; null in the command.
Embedding* current_embedding();
/// What the verb has to say goes to run_embedded() instead of standard output. Nothing to do in the command: false.
bool keep_embedded(const Result<Output>& output);

/// Whether a verb may show its progress on stderr, in a line that it replaces.
bool shows_progress();

}  // namespace hone::cli
