#include <fmt/format.h>

#include "cli/counter_text.hpp"
#include "cli/operations.hpp"
#include "cli/options.hpp"
#include "cli/present.hpp"
#include "cli/registry.hpp"
#include "cli/selection.hpp"
#include "cli/verbs.hpp"
#include "engine/tune/count_configurations.hpp"
#include "engine/tune/session.hpp"

namespace hone::cli {
namespace {

/// How far the configuration is from what the device allows.
struct Limits {
  std::optional<roofline::Place> place;
  std::optional<roofline::Occupancy> occupancy;
};

Result<Limits> limits_of(const TuneRequest& request, const Trial& trial, Store* store) {
  Limits limits;
  if (trial.outcome != Outcome::kOk) {
    return limits;
  }
  if (store != nullptr) {
    HONE_ASSIGN(const std::vector<roofline::Peak> peaks, roofline::find_peaks(request.device.info, *store));
    limits.place = roofline::place_of(request.spec, request.problem, trial.measurement.median_us, peaks);
  }
  const auto plan = plan_launch(request.spec, request.problem, trial.configuration, request.device.info);
  if (plan && trial.resources.registers > 0) {
    limits.occupancy = roofline::occupancy(*plan, trial.resources, request.device.info);
  }
  return limits;
}

/// Adds what was counted, or why nothing was.
void add_counters(Output& output, const Counted& counted) {
  if (counted.counters) {
    output.json["counters"] = json(*counted.counters);
    output.json["counter_source"] = counted.counters->source;
    output.json["counter_launches"] = counted.counters->launches;
    output.text += counter_lines(*counted.counters);
  } else if (!counted.refused.empty()) {
    output.json["counters"] = nullptr;
    output.json["counters_refused"] = counted.refused;
    output.text += fmt::format("counters       none: {}\n", counted.refused);
    output.exit_code = 2;
  }
}

/// Tries the configuration and, where they are wanted, reads its counters.
Result<Counted> run_one(const TuneRequest& request, const Configuration& configuration, bool counters) {
  if (!counters) {
    HONE_ASSIGN(Tried tried, run_configuration(request, configuration, nullptr));
    return Counted{.trial = std::move(tried.trial), .counters = {}, .notes = std::move(tried.notes)};
  }
  HONE_ASSIGN(std::vector<Counted> counted, count_configurations(request, {configuration}));
  return std::move(counted.front());
}

Json run_json(const TuneRequest& request, const Trial& trial, const std::string& origin, const Limits& limits) {
  Json object{{"kernel", request.spec.name},
              {"device", request.device.info.id},
              {"product", request.device.info.product},
              {"dtype", name(request.problem.dtype)},
              {"shape", json(request.problem.shape)},
              {"source", origin},
              {"config", json(request.spec.parameters, trial.configuration)},
              {"outcome", name(trial.outcome)},
              {"detail", trial.detail},
              {"max_error", trial.max_error},
              {"input_seed", trial.input_seed},
              {"resources", json(trial.resources)}};
  if (trial.outcome == Outcome::kOk) {
    const Rates reached = rates(request.spec, request.problem, trial.measurement.median_us);
    object["time_us"] = trial.measurement.median_us;
    object["ci95_us"] = {trial.measurement.ci95_low_us, trial.measurement.ci95_high_us};
    object["samples"] = trial.measurement.samples_us.size();
    object["by_graph"] = trial.measurement.by_graph;
    object["gflops"] = reached.gflops;
    object["gbytes_per_second"] = reached.gbytes_per_second;
    add_reached(object, request.measure.objective, trial.measurement);
    object["limit"] = json(limits.place);
    object["resident"] = json(limits.occupancy);
  }
  return object;
}

std::string run_text(const TuneRequest& request, const Trial& trial, const std::string& origin, const Limits& limits) {
  std::string lines = fmt::format("{} {} {} on {} ({})\n", request.spec.name, name(request.problem.dtype), text(request.problem.shape),
                                  request.device.info.id, request.device.info.product);
  lines += fmt::format("configuration  {} ({})\n", text(request.spec.parameters, trial.configuration), origin);
  if (trial.outcome != Outcome::kOk) {
    return lines + fmt::format("outcome        {}: {}\n", name(trial.outcome), trial.detail);
  }
  lines += fmt::format("right          largest error {:.3f} of the tolerance (inputs of seed {})\n", trial.max_error, trial.input_seed);
  lines += fmt::format("time           {} (95 %: {} to {}, {} samples of {})\n", duration(trial.measurement.median_us),
                       duration(trial.measurement.ci95_low_us), duration(trial.measurement.ci95_high_us),
                       trial.measurement.samples_us.size(), trial.measurement.by_graph ? "a graph of calls" : "one call");
  if (const std::optional<Figure>& energy = trial.measurement.energy_j) {
    const auto shown = [](double joules) { return objective_text({Objective::Kind::kEnergy}, 1e6 * joules); };
    lines += fmt::format("energy         {} a run (95 %: {} to {})\n", shown(energy->value), shown(energy->low), shown(energy->high));
  }
  if (const std::optional<Figure> reached = request.measure.objective.of(trial.measurement);
      reached && request.measure.objective.kind == Objective::Kind::kPercentile) {
    lines += fmt::format("{:<14} {} (95 %: {} to {})\n", name(request.measure.objective), duration(reached->value), duration(reached->low),
                         duration(reached->high));
  }
  if (const std::string reached = rate_text(rates(request.spec, request.problem, trial.measurement.median_us)); !reached.empty()) {
    lines += fmt::format("rate           {}\n", reached);
  }
  if (limits.place) {
    lines += fmt::format("limit          {}: it alone would take {}\n", roofline::text(*limits.place), duration(limits.place->least_us));
  }
  if (trial.resources.registers > 0) {
    lines += fmt::format("resources      {} registers, {} spilled bytes, {} bytes of shared memory, occupancy {:.2f}\n",
                         trial.resources.registers, trial.resources.spill_bytes, trial.resources.shared_bytes, trial.resources.occupancy);
  }
  if (limits.occupancy) {
    lines += fmt::format("resident       {}\n", roofline::text(*limits.occupancy));
  }
  return lines;
}

}  // namespace

int run(int argc, char** argv) {
  cxxopts::Options options("hone run", "Validates and times one configuration: the winner, the default, or a given one.");
  add_problem_options(options);
  add_with_option(options);
  add_store_option(options);
  add_plugin_option(options);
  add_config_option(options, "the winner, or the default");
  add_timing_options(options);
  add_accuracy_option(options);
  add_objective_option(options);
  add_given_options(options);
  options.add_options()("seed", "of the inputs", cxxopts::value<std::uint64_t>()->default_value("0"), "N")(
      "counters", "read the device's counters too: traffic, pipes, stalls (docs/report.md)");
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    HONE_TRY(load_plugins(arguments));
    HONE_ASSIGN(Subject subject, find_serving_subject(arguments));
    HONE_ASSIGN(Target target, find_target(arguments, subject));
    if (subject.recorded) {
      return Error{ErrorCode::kInvalidArgument, "a recorded space cannot be run; give a kernel"};
    }
    HONE_ASSIGN(const std::unique_ptr<Store> store, open_existing_store(arguments));
    HONE_ASSIGN(const Selection selected, select(arguments, subject, target, store.get(), false));
    TuneRequest request;
    HONE_ASSIGN(request.measure, find_timing(arguments));
    HONE_ASSIGN(request.measure.max_error, find_accuracy(arguments));
    HONE_ASSIGN(const Objective objective, find_objective(arguments));
    request.measure = settings_for(objective, request.measure);
    HONE_ASSIGN(request.measure.given, find_given(arguments, subject.spec));
    request.spec = std::move(subject.spec);
    request.problem = std::move(target.problem);
    request.device = std::move(target.device);
    request.seed = arguments["seed"].as<std::uint64_t>();
    HONE_ASSIGN(const Counted ran, run_one(request, selected.choice.configuration, arguments.count("counters") > 0));
    HONE_ASSIGN(const Limits limits, limits_of(request, ran.trial, store.get()));
    Output output{run_json(request, ran.trial, selected.origin, limits), run_text(request, ran.trial, selected.origin, limits),
                  ran.trial.outcome == Outcome::kOk ? 0 : 2};
    output.json["notes"] = ran.notes;
    for (const std::string& note : ran.notes) {
      output.text += fmt::format("note           {}\n", note);
    }
    add_counters(output, ran);
    return output;
  });
}

}  // namespace hone::cli
