#include <fmt/format.h>

#include "cli/options.hpp"
#include "cli/present.hpp"
#include "cli/registry.hpp"
#include "cli/verbs.hpp"

namespace hone::cli {
namespace {

Json sample_json(const SearchSpace& space, std::size_t count, std::uint64_t seed) {
  Json samples = Json::array();
  std::mt19937_64 random(seed);
  for (const Count position : space.sample(random, count)) {
    samples.push_back(json(space.parameters(), space.at(position)));
  }
  return samples;
}

Result<Output> describe(const Subject& subject, const SearchSpace& space, const cxxopts::ParseResult& arguments) {
  Json parameters = Json::object();
  for (const Parameter& parameter : space.parameters()) {
    parameters[parameter.name] = parameter.values.size();
  }
  const auto wanted = arguments["sample"].as<std::size_t>();
  Output output;
  output.json = {{"kernel", subject.spec.name}, {"cartesian", json(space.cartesian())}, {"valid", json(space.size())}, {"parameters", parameters}};
  output.text = fmt::format("{}: {} of {} combinations are valid\n", subject.spec.name, text(space.size()), text(space.cartesian()));
  if (wanted > 0) {
    output.json["sample"] = sample_json(space, wanted, arguments["seed"].as<std::uint64_t>());
    for (const Json& sample : output.json["sample"]) {
      output.text += "  " + sample.dump() + "\n";
    }
  }
  return output;
}

}  // namespace

int space(int argc, char** argv) {
  cxxopts::Options options("hone space", "Counts the valid configurations of a kernel for a problem on a device, and shows some of them.");
  add_problem_options(options);
  add_plugin_option(options);
  options.add_options()("sample", "how many to show, drawn uniformly", cxxopts::value<std::size_t>()->default_value("0"), "N")(
      "seed", "of the draw", cxxopts::value<std::uint64_t>()->default_value("0"), "N");
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    HONE_TRY(load_plugins(arguments));
    HONE_ASSIGN(const Subject subject, find_subject(arguments));
    HONE_ASSIGN(const Target target, find_target(arguments, subject));
    if (subject.recorded) {
      return describe(subject, subject.recorded->space(), arguments);
    }
    Bindings fixed = bindings(target.problem);
    fixed.merge(bindings(target.device.info));
    HONE_ASSIGN(const SearchSpace built, SearchSpace::build(subject.spec.parameters, subject.spec.constraints, fixed));
    return describe(subject, built, arguments);
  });
}

}  // namespace hone::cli
