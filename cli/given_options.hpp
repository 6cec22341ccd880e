#pragma once
// --input and --expect: arrays in place of drawn inputs and of the reference's answers.

#include <cxxopts.hpp>
#include <string>

#include "cli/run_verb.hpp"
#include "engine/kernel/kernel_spec.hpp"
#include "engine/measure/given.hpp"

namespace hone::cli {

void add_given_options(cxxopts::Options& options);
/// Nothing where the verb has no such options.
Result<Given> find_given(const cxxopts::ParseResult& arguments, const KernelSpec& spec);
/// The shape with the fields that given arrays tell. Errors: a field of which it says something else.
Result<Shape> with_given_fields(Shape shape, const KernelSpec& spec, const Given& given);
/// What is known of given arrays, as a verb reports it.
Json given_json(const Given& given);
std::string given_text(const Given& given);

}  // namespace hone::cli
