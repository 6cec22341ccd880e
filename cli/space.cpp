#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "cli/anywhere.hpp"
#include "cli/explanation.hpp"
#include "cli/operations.hpp"
#include "cli/options.hpp"
#include "cli/present.hpp"
#include "cli/registry.hpp"
#include "cli/verbs.hpp"
#include "engine/space/likely_space.hpp"
#include "engine/space/space_description.hpp"
#include "engine/space/space_explanation.hpp"
#include "engine/store/expectation_evidence.hpp"

namespace hone::cli {
namespace {

/// A space and how long it took to build.
struct Timed {
  Result<SearchSpace> space;
  double ms = 0.0;
};

Timed build_timed(const std::vector<Parameter>& parameters, const std::vector<Constraint>& constraints, const Bindings& fixed) {
  const auto start = std::chrono::steady_clock::now();
  Result<SearchSpace> space = SearchSpace::build(parameters, constraints, fixed);
  return {std::move(space), std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count()};
}

Json sample_json(const SearchSpace& space, const cxxopts::ParseResult& arguments) {
  Json samples = Json::array();
  std::mt19937_64 random(arguments["seed"].as<std::uint64_t>());
  for (const Count position : space.sample(random, arguments["sample"].as<std::size_t>())) {
    samples.push_back(json(space.parameters(), space.at(position)));
  }
  return samples;
}

/// Nanoseconds of one query of each kind at random positions.
Json time_queries(const SearchSpace& space, std::size_t count) {
  std::mt19937_64 random(0);
  std::vector<Count> positions;
  for (std::size_t i = 0; i < count; ++i) {
    positions.push_back(space.sample(random));
  }
  Digits digits(space.parameters().size());
  std::vector<Digits> points(count, digits);
  std::size_t used = 0;  // so that nothing is optimized away
  const auto nanoseconds = [&](const auto& query) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < count; ++i) {
      query(i);
    }
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / static_cast<double>(count);
  };
  Json times;
  times["at"] = nanoseconds([&](std::size_t i) { space.digits(positions[i], points[i]); });
  times["index"] = nanoseconds([&](std::size_t i) { used += space.index(points[i]).has_value() ? 1 : 0; });
  times["sample"] = nanoseconds([&](std::size_t) { used += static_cast<std::size_t>(space.sample(random)); });
  for (const auto& [kind, name] :
       {std::pair{Neighbourhood::kHamming, "hamming_neighbours"}, {Neighbourhood::kAdjacent, "adjacent_neighbours"}}) {
    const std::size_t before = used;
    times[name] = nanoseconds([&](std::size_t i) { used += space.neighbours(positions[i], kind).size(); });
    times[std::string(name) + "_found"] = static_cast<double>(used - before) / static_cast<double>(count);
  }
  for (Digits& point : points) {
    for (std::size_t p = 0; p < point.size(); ++p) {
      point[p] = static_cast<std::uint16_t>(random() % space.parameters()[p].values.size());
    }
  }
  times["contains"] = nanoseconds([&](std::size_t i) { used += space.index(points[i]).has_value() ? 1 : 0; });
  times["nearest"] = nanoseconds([&](std::size_t i) { used += static_cast<std::size_t>(space.nearest(points[i])); });
  times["queries"] = used > 0 ? count : 0;
  return times;
}

void add_extras(const SearchSpace& space, const cxxopts::ParseResult& arguments, Json& object, std::string& lines) {
  if (arguments["time-queries"].as<std::size_t>() > 0) {
    object["query_ns"] = time_queries(space, arguments["time-queries"].as<std::size_t>());
    lines += "  ns of one query: " + object["query_ns"].dump() + "\n";
  }
  if (arguments["sample"].as<std::size_t>() > 0) {
    object["sample"] = sample_json(space, arguments);
    for (const Json& sample : object["sample"]) {
      lines += "  " + sample.dump() + "\n";
    }
  }
}

std::string lazy_text(const SpaceFigures& figures) {
  return figures.deferred.empty() ? ""
                                  : fmt::format(
                                        "  not counted: no diagram of bounded size represents '{}'; checked during the search instead, "
                                        "with {} bytes of diagrams for the rest\n",
                                        fmt::join(figures.deferred, "', '"), figures.bytes);
}

Json figures_json(const SearchSpace& space, double ms) {
  const SpaceFigures figures = space.figures();
  return {{"cartesian", json(space.cartesian())},
          {"size", json(space.size())},
          {"valid", space.exact() ? json(space.size()) : Json()},
          {"exact", space.exact()},
          {"construction_ms", ms},
          {"bytes", figures.bytes},
          {"nodes", figures.nodes},
          {"groups", figures.groups},
          {"not_shared", figures.deferred}};
}

Output describe(const std::string& kernel, const SearchSpace& space, double ms, const cxxopts::ParseResult& arguments) {
  Json values = Json::object();
  for (const Parameter& parameter : space.parameters()) {
    values[parameter.name] = parameter.values.size();
  }
  Output output;
  output.json = {{"kernel", kernel}};
  output.json.update(figures_json(space, ms));
  output.json["value_counts"] = values;
  output.text = fmt::format("{}: {}{} of {} combinations are valid\n", kernel, space.exact() ? "" : "at most ", text(space.size()),
                            text(space.cartesian()));
  output.text += lazy_text(space.figures());
  add_extras(space, arguments, output.json, output.text);
  return output;
}

/// `called`: "kernel", or "name" of a described space.
Result<Output> explain_constraints(const char* called, const std::string& name, const std::vector<Parameter>& parameters,
                                   const std::vector<Constraint>& constraints, const Bindings& fixed, int code_of_empty,
                                   const std::vector<Constraint>& expectations = {}, const Evidence& evidence = std::nullopt) {
  HONE_ASSIGN(const SpaceExplanation explanation, explain(parameters, constraints, fixed, expectations));
  Output output = explanation_output(called, name, explanation, evidence);
  output.exit_code = explanation.valid == Count{0} ? code_of_empty : 0;
  return output;
}

/// Nothing is a count too, but most often a mistake: the exit code is 1 unless the file says so.
Output describe_empty(const SpaceDescription& description, const std::string& why) {
  Count cartesian = 1;
  for (const Parameter& parameter : description.parameters) {
    cartesian *= parameter.values.size();
  }
  Output output;
  output.json = {{"name", description.name}, {"cartesian", json(cartesian)}, {"size", 0}, {"valid", 0}, {"exact", true},
                 {"empty_because", why}};
  output.text = fmt::format("{}: 0 of {} combinations are valid; {}\n", description.name, text(cartesian), why);
  if (description.valid) {
    output.json["expected"] = *description.valid;
    output.json["equal"] = description.valid == "0";
  }
  output.exit_code = description.valid == "0" ? 0 : 1;
  return output;
}

/// One space of a file.
Result<Output> describe(const SpaceDescription& description, const cxxopts::ParseResult& arguments) {
  if (arguments["explain"].as<bool>()) {
    return explain_constraints("name", description.name, description.parameters, description.constraints, {},
                               description.valid == "0" ? 0 : 1);
  }
  const Timed built = build_timed(description.parameters, description.constraints, {});
  if (!built.space && built.space.error().code == ErrorCode::kEmptySpace) {
    return describe_empty(description, built.space.error().message);
  }
  if (!built.space) {
    return Error{built.space.error().code, fmt::format("space '{}': {}", description.name, built.space.error().message)};
  }
  const SearchSpace& space = *built.space;
  const bool equal = space.exact() && description.valid == text(space.size());
  Output output;
  output.json = {{"name", description.name}};
  output.json.update(figures_json(space, built.ms));
  const std::string told = !description.valid ? ""
                           : equal            ? ", as the file says"
                                              : fmt::format(", where the file says {}", *description.valid);
  if (description.valid) {
    output.json["expected"] = *description.valid;
    output.json["equal"] = equal;
  }
  output.text =
      fmt::format("{}: {}{} of {} combinations are valid{}; {:.3f} ms, {} bytes\n", description.name, space.exact() ? "" : "at most ",
                  text(space.size()), text(space.cartesian()), told, built.ms, space.figures().bytes);
  output.text += lazy_text(space.figures());
  output.exit_code = description.valid && !equal ? 1 : 0;
  add_extras(space, arguments, output.json, output.text);
  return output;
}

Result<Output> describe_file(const std::string& file, const cxxopts::ParseResult& arguments) {
  HONE_ASSIGN(std::vector<SpaceDescription> descriptions, read_space_descriptions(file));
  HONE_ASSIGN(const Restriction restriction, find_restriction(arguments));
  Output output;
  Json spaces = Json::array();
  double ms = 0.0;
  for (SpaceDescription& description : descriptions) {
    if (!restriction.empty()) {
      HONE_ASSIGN(description.parameters, narrowed(std::move(description.parameters), restriction));
      description.valid.reset();  // what the file says is of the whole space
    }
    HONE_ASSIGN(const Output one, describe(description, arguments));
    ms += one.json.value("construction_ms", 0.0);
    output.text += one.text;
    output.exit_code = std::max(output.exit_code, one.exit_code);
    spaces.push_back(one.json);
  }
  output.json = {{"file", file}, {"spaces", std::move(spaces)}};
  if (!arguments["explain"].as<bool>()) {
    output.json["construction_ms"] = ms;
    output.text += descriptions.size() == 1 ? "" : fmt::format("{} spaces in {:.3f} ms\n", descriptions.size(), ms);
  }
  return output;
}

/// What the store knows of the kernel's expectations; nothing where it has none, or where there is no store.
Result<Evidence> find_evidence(const KernelSpec& spec, const DeviceInfo& device, Store* store) {
  if (spec.expectations.empty() || store == nullptr) {
    return Evidence();
  }
  HONE_ASSIGN(std::vector<ExpectationEvidence> evidence, expectation_evidence(spec, device, *store));
  return Evidence(std::move(evidence));
}

std::string likely_text(const LikelySpace& space) {
  if (!space.contradiction().empty()) {
    return fmt::format("  all of them count as likely, because none meets all expectations: {}\n", space.contradiction());
  }
  return space.expectations().empty()
             ? ""
             : fmt::format("  {}{} of them are likely\n", space.likely()->exact() ? "" : "at most ", text(space.likely()->size()));
}

Result<Output> describe_kernel(const cxxopts::ParseResult& arguments) {
  HONE_TRY(load_plugins(arguments));
  HONE_ASSIGN(const Subject subject, find_subject(arguments));
  std::unique_ptr<Store> store;
  if (arguments.count("arch") > 0 || arguments["explain"].as<bool>()) {
    HONE_ASSIGN(store, open_existing_store(arguments));
  }
  HONE_ASSIGN(const Target target, find_target_anywhere(arguments, subject, store.get()));
  HONE_ASSIGN(const Restriction restriction, find_restriction(arguments));
  if (subject.recorded) {
    HONE_ASSIGN(const SearchSpace space, narrowed(subject.recorded->space(), restriction));
    return describe(subject.spec.name, space, 0.0, arguments);
  }
  HONE_ASSIGN(const std::vector<Parameter> parameters, narrowed(subject.spec.parameters, restriction));
  Bindings fixed = bindings(target.problem);
  fixed.merge(bindings(target.device.info));
  if (arguments["explain"].as<bool>()) {
    HONE_ASSIGN(const Evidence evidence, find_evidence(subject.spec, target.device.info, store.get()));
    return explain_constraints("kernel", subject.spec.name, parameters, subject.spec.constraints, fixed, 2, subject.spec.expectations,
                               evidence);
  }
  const Timed built = build_timed(parameters, subject.spec.constraints, fixed);
  if (!built.space) {
    return built.space.error();
  }
  HONE_ASSIGN(const LikelySpace likely, LikelySpace::build(parameters, subject.spec.constraints, subject.spec.expectations, fixed));
  Output output = describe(subject.spec.name, *built.space, built.ms, arguments);
  output.json["likely_size"] = json(likely.likely()->size());
  output.json["contradicted"] = likely.contradiction();
  output.text += likely_text(likely);
  return output;
}

/// Descriptions of spaces or a recorded one. A file that is neither may have been meant as either.
Result<Output> describe_json(const std::string& file, const cxxopts::ParseResult& arguments) {
  if (describes_spaces(file)) {
    return describe_file(file, arguments);
  }
  Result<Output> output = describe_kernel(arguments);
  const auto described = read_space_descriptions(file);
  std::error_code failed;
  if (output || described || described.error().code == ErrorCode::kNotFound || !std::filesystem::is_regular_file(file, failed) ||
      RecordedSpace::load(file)) {
    return output;
  }
  return Error{output.error().code,
               fmt::format("{}; it is not a description of spaces either: {}", output.error().message, described.error().message)};
}

}  // namespace

int space(int argc, char** argv) {
  cxxopts::Options options("hone space",
                           "Counts the valid configurations of a kernel for a problem on a device, or of the spaces that a JSON file "
                           "describes, and shows some of them.");
  add_problem_options(options);
  add_with_option(options);
  add_arch_option(options);
  add_plugin_option(options);
  add_store_option(options);
  add_fix_option(options, "only the configurations with this value, or with one of several: \"block=128|256,vec=4\" (quote the |)");
  options.add_options()("count", "count only (the default)")(
      "explain",
      "what each constraint removes and connects, what each expectation leaves and the evidence against it in the store; for an empty "
      "space, the contradictory constraints",
      cxxopts::value<bool>()->default_value("false"))("sample", "number of configurations to show, drawn uniformly",
                                                      cxxopts::value<std::size_t>()->default_value("0"), "N")(
      "time-queries", "time this many queries of each kind", cxxopts::value<std::size_t>()->default_value("0"), "N")(
      "seed", "of the draw", cxxopts::value<std::uint64_t>()->default_value("0"), "N");
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    const std::string subject = arguments.count("kernel") > 0 ? arguments["kernel"].as<std::string>() : "";
    return subject.ends_with(".json") ? describe_json(subject, arguments) : describe_kernel(arguments);
  });
}

}  // namespace hone::cli
