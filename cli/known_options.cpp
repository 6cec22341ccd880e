#include "cli/known_options.hpp"

namespace hone::cli {
namespace {

struct Answer {
  std::vector<KnownOption> options;
  std::string help;
};

Answer*& asked() {
  thread_local Answer* answer = nullptr;
  return answer;
}

Answer ask(const Verb& verb) {
  Answer answer;
  asked() = &answer;
  std::string name(verb.name);
  char* word = name.data();
  verb.run(1, &word);
  asked() = nullptr;
  return answer;
}

}  // namespace

std::vector<KnownOption> options_of(const Verb& verb) { return ask(verb).options; }
std::string help_of(const Verb& verb) { return ask(verb).help; }

bool answer_with_options(const cxxopts::Options& options) {
  if (asked() == nullptr) {
    return false;
  }
  asked()->help = options.help();
  for (const std::string& group : options.groups()) {
    for (const cxxopts::HelpOptionDetails& option : options.group_help(group).options) {
      if (!option.l.empty()) {
        asked()->options.push_back({option.l.front(), !option.is_boolean});
      }
    }
  }
  return true;
}

}  // namespace hone::cli
