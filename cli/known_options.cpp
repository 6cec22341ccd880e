#include "cli/known_options.hpp"

namespace hone::cli {
namespace {

std::vector<KnownOption>*& asked_options() {
  thread_local std::vector<KnownOption>* asked = nullptr;
  return asked;
}

}  // namespace

std::vector<KnownOption> options_of(const Verb& verb) {
  std::vector<KnownOption> found;
  asked_options() = &found;
  std::string name(verb.name);
  char* word = name.data();
  verb.run(1, &word);
  asked_options() = nullptr;
  return found;
}

bool answer_with_options(const cxxopts::Options& options) {
  if (asked_options() == nullptr) {
    return false;
  }
  for (const std::string& group : options.groups()) {
    for (const cxxopts::HelpOptionDetails& option : options.group_help(group).options) {
      if (!option.l.empty()) {
        asked_options()->push_back({option.l.front(), !option.is_boolean});
      }
    }
  }
  return true;
}

}  // namespace hone::cli
