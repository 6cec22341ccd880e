#pragma once
// The options of a verb, without running it.

#include <cxxopts.hpp>
#include <string>
#include <vector>

#include "cli/verbs.hpp"

namespace hone::cli {

struct KnownOption {
  std::string name;  ///< without dashes
  bool takes_value = false;
};

std::vector<KnownOption> options_of(const Verb& verb);
/// What the verb's --help prints.
std::string help_of(const Verb& verb);

/// Of run_verb: whether options_of() asks, and is answered now instead of running the verb.
bool answer_with_options(const cxxopts::Options& options);

}  // namespace hone::cli
