#pragma once
// Which configuration a verb is about: the one given with --config, else what the store has for the problem, else the default.

#include <string>
#include <string_view>

#include "cli/options.hpp"
#include "engine/store/lookup.hpp"

namespace hone::cli {

/// `without`: what is taken where the option is not given.
void add_config_option(cxxopts::Options& options, std::string_view without);

/// name=value,...; the others keep their default. Errors: it is no configuration of the kernel, or not valid for the problem.
Result<Configuration> configuration_of(const KernelSpec& spec, const Target& target, const std::string& wanted);

struct Selection {
  Choice choice;
  std::string origin;  ///< "exact", "predicted", "nearest", "default", "given"
};

/// `launch`: the code in the store is going to be launched, here or elsewhere. Errors: a configuration that is no configuration of the
/// kernel, or not valid for the problem; 'best' without a record.
Result<Selection> select(const cxxopts::ParseResult& arguments, const Subject& subject, const Target& target, Store* store, bool launch);

/// What to say where a record is needed and there is none. `known_elsewhere`: Choice::elsewhere. `store`, where there is one, is asked
/// whether there was a record.
Error no_record(const cxxopts::ParseResult& arguments, const Subject& subject, const Target& target, std::string known_elsewhere,
                Store* store);

}  // namespace hone::cli
