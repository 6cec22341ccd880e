#include "cli/embedding.hpp"

#include <algorithm>
#include <iterator>

#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "engine/base/names.hpp"

namespace hone::cli {
namespace {

/// A verb that is being run for another program.
struct Running {
  Embedding* embedding;
  std::optional<Result<Output>> output = {};
};

thread_local Running* running = nullptr;

}  // namespace

Embedding* current_embedding() { return running != nullptr ? running->embedding : nullptr; }

bool keep_embedded(const Result<Output>& output) {
  if (running == nullptr) {
    return false;
  }
  running->output = output;
  return true;
}

bool shows_progress() { return running == nullptr && choose_look(surroundings(), Colour::kAuto).redraws; }

Result<Output> run_embedded(Embedding& embedding, std::vector<std::string> arguments) {
  std::vector<std::string> known;
  std::ranges::transform(verbs(), std::back_inserter(known), [](const Verb& verb) { return std::string(verb.name); });
  const std::string name = arguments.empty() ? "" : arguments.front();
  const auto verb = std::ranges::find(verbs(), std::string_view(name), &Verb::name);
  if (verb == verbs().end()) {
    return Error{ErrorCode::kNotFound, unknown_name("verb", name, known)};
  }
  std::vector<char*> words;
  std::ranges::transform(arguments, std::back_inserter(words), [](std::string& word) { return word.data(); });
  words.push_back(nullptr);  // as a program gets them
  Running here{.embedding = &embedding};
  Running* const outer = std::exchange(running, &here);
  verb->run(static_cast<int>(arguments.size()), words.data());
  running = outer;
  if (!here.output) {
    return Error{ErrorCode::kIo, "the verb '" + name + "' ended without a result"};
  }
  return *std::move(here.output);
}

}  // namespace hone::cli
