#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/verbs.hpp"
#include "hone/names.hpp"

namespace hone::cli {
namespace {

constexpr std::array kVerbs{
    Verb{"tune", "search a kernel's configurations and keep the winner", tune},
    Verb{"compare", "replay strategies on recorded spaces, without a GPU", compare},
    Verb{"best", "print the winner for a problem", best},
    Verb{"run", "validate and time one configuration", run},
    Verb{"export", "write the compiled winner and how to launch it, for programs without Hone", export_plan},
    Verb{"kernels", "list the built-in kernels, or describe one", kernels},
    Verb{"space", "count a kernel's configurations", space},
    Verb{"strategies", "list the search strategies, or describe one", strategies},
    Verb{"devices", "list the devices of this machine", devices},
    Verb{"sessions", "list what the store holds", sessions},
    Verb{"doctor", "say what was found, what is missing, and what that costs", doctor},
};

void print_help() {
  fmt::print("hone {}: an auto-tuning engine for CUDA kernels\n\nusage: hone VERB [ARGUMENTS]   (hone VERB --help says more)\n\n", HONE_VERSION);
  for (const Verb& verb : kVerbs) {
    fmt::print("  {:<10} {}\n", verb.name, verb.summary);
  }
  fmt::print("\nfirst steps:\n  hone doctor\n  hone tune softmax --shape rows=4096,cols=1024 --dtype f16 --budget 30s\n"
             "  hone best softmax --shape rows=4096,cols=1024 --dtype f16\n");
}

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

int main(int argc, char** argv) {
  const std::string_view given = argc > 1 ? argv[1] : "--help";
  if (given == "--help" || given == "-h" || given == "help") {
    print_help();
    return argc > 1 ? 0 : 2;
  }
  if (given == "--version") {
    fmt::print("hone {}\n", HONE_VERSION);
    return 0;
  }
  std::vector<std::string> known;
  for (const Verb& verb : kVerbs) {
    if (verb.name == given) {
      return verb.run(argc - 1, argv + 1);
    }
    known.emplace_back(verb.name);
  }
  fmt::print(stderr, "hone: {}\n", unknown_name("verb", given, known));
  return 2;
}

}  // namespace hone::cli

int main(int argc, char** argv) { return hone::cli::main(argc, argv); }
