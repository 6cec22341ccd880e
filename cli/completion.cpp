#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "cli/help.hpp"
#include "cli/known_options.hpp"
#include "cli/output.hpp"
#include "cli/registry.hpp"
#include "cli/run_verb.hpp"
#include "cli/verbs.hpp"
#include "engine/base/names.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/operation.hpp"
#include "hone/dtype.hpp"

namespace hone::cli {
namespace {

// Shells ask the command itself, so that plugins' strategies and devices are among the answers. Where it has none they offer files.
constexpr const char* kBash = R"(# hone completion bash; in ~/.bashrc: source <(hone completion bash)
_hone() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("$line")
  done < <("${COMP_WORDS[0]}" completion candidates "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -o bashdefault -F _hone hone
)";
constexpr const char* kZsh = R"(#compdef hone
# hone completion zsh; in ~/.zshrc after compinit: source <(hone completion zsh)
_hone() {
  local -a found
  found=("${(@f)$("${words[1]}" completion candidates "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n ${found[1]} ]]; then
    compadd -Q -- "${found[@]}"
  else
    _files
  fi
}
compdef _hone hone
)";

using Words = std::vector<std::string>;

Words kernel_words() {
  Words found;
  for (const KernelSpec* const kernel : builtin_kernels()) {
    found.push_back(kernel->name);
  }
  std::ranges::copy(builtin_operations(), std::back_inserter(found));
  return found;
}

Words device_words() {
  Words found{"cpu"};
  for (const auto& plugin : registry().devices()) {
    if (const auto devices = plugin->enumerate()) {
      std::ranges::transform(*devices, std::back_inserter(found), &DeviceInfo::id);
    }
  }
  return found;
}

Words strategy_words() {
  Words found;
  std::ranges::transform(registry().strategies(), std::back_inserter(found),
                         [](const auto& strategy) { return std::string(strategy->name()); });
  return found;
}

Words dtype_words() {
  Words found;
  std::ranges::transform(all_dtypes(), std::back_inserter(found), [](DType dtype) { return std::string(name(dtype)); });
  return found;
}

/// What an option may be given; nothing where that is open, or a file.
Words values_of(const std::string& option) {
  if (option == "device") {
    return device_words();
  }
  if (option == "dtype") {
    return dtype_words();
  }
  if (option == "strategy") {
    return strategy_words();
  }
  if (option == "likely") {
    return {"first", "only", "ignore"};
  }
  if (option == "objective") {
    return {"time", "p90", "p99", "energy", "edp"};
  }
  if (option == "kinds") {
    return {"measure", "compile", "both"};
  }
  return option == "color" ? Words{"auto", "always", "never"} : Words{};
}

Words verb_words() {
  Words found;
  std::ranges::transform(verbs(), std::back_inserter(found), [](const Verb& verb) { return std::string(verb.name); });
  return found;
}

/// What a verb takes that is no option.
Words subjects_of(std::string_view verb, const std::vector<KnownOption>& options) {
  if (verb == "help") {
    return help_words();
  }
  if (verb == "completion") {
    return {"bash", "zsh"};
  }
  if (verb == "store") {
    return {"info", "check", "prune", "backup", "pull", "push", "merge"};
  }
  if (verb == "strategies") {
    return strategy_words();
  }
  const bool takes_kernel = std::ranges::find(options, std::string("kernel"), &KnownOption::name) != options.end() || verb == "kernels";
  return takes_kernel ? kernel_words() : Words{};
}

/// `words`: what stands behind `hone`, the last one as far as it was typed.
Words candidates_of(Words words) {
  if (words.size() <= 1) {
    Words found = verb_words();
    found.insert(found.end(), {"help", "version"});
    return found;
  }
  const auto verb = std::ranges::find(verbs(), words.front(), &Verb::name);
  const std::vector<KnownOption> options = verb == verbs().end() ? std::vector<KnownOption>() : options_of(*verb);
  std::string before = words[words.size() - 2];
  if (before == "=" && words.size() > 2) {  // bash takes --dtype=f32 for three words
    before = words[words.size() - 3];
  }
  if (before.starts_with("--")) {
    const auto option = std::ranges::find(options, before.substr(2), &KnownOption::name);
    if (option != options.end() && option->takes_value) {
      return values_of(option->name);
    }
  }
  if (!words.back().starts_with("-")) {
    return subjects_of(words.front(), options);
  }
  Words found;
  std::ranges::transform(options, std::back_inserter(found), [](const KnownOption& option) { return "--" + option.name; });
  std::erase(found, "--kernel");
  return found;
}

int print_candidates(Words words) {
  const std::string begun = words.empty() || words.back() == "=" ? "" : words.back();
  std::set<std::string> found;
  for (std::string& word : candidates_of(std::move(words))) {
    if (word.starts_with(begun)) {
      found.insert(std::move(word));
    }
  }
  return print_out(found.empty() ? "" : fmt::format("{}\n", fmt::join(found, "\n"))) ? 0 : 1;
}

}  // namespace

int completion(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "candidates") {  // what follows is somebody else's command line
    return print_candidates(Words(argv + 2, argv + argc));
  }
  cxxopts::Options options("hone completion",
                           "Prints what makes a shell complete verbs, options, kernels, devices, types and strategies:\n"
                           "  bash, in ~/.bashrc:                    source <(hone completion bash)\n"
                           "  zsh, in ~/.zshrc, after compinit:      source <(hone completion zsh)");
  options.add_options()("shell", "bash or zsh", cxxopts::value<std::string>());
  options.parse_positional({"shell"});
  options.positional_help("bash|zsh");
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    const std::string shell = arguments.count("shell") > 0 ? arguments["shell"].as<std::string>() : "";
    if (shell != "bash" && shell != "zsh") {
      return Error{ErrorCode::kInvalidArgument,
                   shell.empty() ? "name a shell: hone completion bash, or zsh" : unknown_name("shell", shell, Words{"bash", "zsh"})};
    }
    const std::string script = shell == "bash" ? kBash : kZsh;
    return Output{.json = {{"shell", shell}, {"script", script}}, .text = script};
  });
}

}  // namespace hone::cli
