#include "python/src/strategy.hpp"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "engine/plugin/space_view.hpp"
#include "engine/plugin/strategy_runner.hpp"
#include "python/src/space.hpp"

namespace nb = nanobind;

namespace hone::python {
namespace {

using plugin_host::Called;

/// The outcome of a trial, as Strategy.tell gets it.
struct Told {
  Count position;
  std::string outcome;
  std::optional<double> time_us;
  double cost_seconds, compile_seconds;
};

Told to_told(const hone_observation& observation) {
  const auto outcome = static_cast<Outcome>(observation.outcome);
  return {plugin_host::from_c(observation.position), std::string(name(outcome)),
          has_time(outcome) ? std::optional(observation.time_us) : std::nullopt, observation.cost_seconds, observation.compile_seconds};
}

Called failed(const char* call, const std::exception& error) {
  return {Called::How::kFailed, fmt::format("{} failed: {}", call, error.what())};
}

/// An instance of a class in Python. Its calls come from the session's thread.
class PythonRunner final : public plugin_host::StrategyRunner {
 public:
  PythonRunner(const nb::object& type, StrategyContext context, std::vector<double> parameters)
      : type_(type), context_(std::move(context)), parameters_(std::move(parameters)) {}
  PythonRunner(const PythonRunner&) = delete;
  PythonRunner& operator=(const PythonRunner&) = delete;
  ~PythonRunner() override {
    const nb::gil_scoped_acquire locked;
    instance_.reset();
    type_.reset();
  }

  Called create() override {
    return guarded("create", [&] {
      const nb::object first = context_.first ? nb::object(to_python(*context_.first)) : nb::none();
      nb::list priors;
      for (const Prior& prior : context_.priors) {
        nb::list observations;
        for (const Observation& observation : prior.observations) {
          observations.append(Told{observation.position, std::string(hone::name(observation.outcome)),
                                   has_time(observation.outcome) ? std::optional(observation.time_us) : std::nullopt,
                                   observation.cost_seconds, observation.compile_seconds});
        }
        priors.append(nb::make_tuple(prior.device, prior.dtype, prior.shape, observations));
      }
      instance_ = type_.attr("_create")(Space{context_.space, context_.likely}, context_.seed, first, context_.expected_trials, priors,
                                        parameters_);
    });
  }
  Called ask(std::size_t wanted, std::vector<Count>& positions) override {
    return guarded("ask", [&] {
      for (const nb::handle proposal : instance_.attr("_ask")(wanted)) {
        positions.push_back(to_count(proposal));
      }
    });
  }
  Called tell(std::vector<hone_observation> observations) override {
    return guarded("tell", [&] {
      nb::list told;
      for (const hone_observation& observation : observations) {
        told.append(to_told(observation));
      }
      instance_.attr("tell")(told);
    });
  }
  Called save(std::string& /*model*/) override { return {}; }
  Called destroy() override {
    return guarded("destroy", [&] { instance_.reset(); });
  }
  bool busy() override { return false; }
  Called finish() override { return {}; }

 private:
  template <class Body>
  Called guarded(const char* call, Body body) {
    const nb::gil_scoped_acquire locked;
    try {
      body();
      return {};
    } catch (const std::exception& error) {  // nb::python_error among them, with its traceback
      return failed(call, error);
    }
  }

  nb::object type_, instance_;
  StrategyContext context_;
  std::vector<double> parameters_;
};

}  // namespace

void add_strategy(Registry& registry, const nb::object& type) {
  StrategyDescription description{.name = nb::cast<std::string>(type.attr("name")),
                                  .summary = nb::cast<std::string>(type.attr("summary")),
                                  .source = "",
                                  .weighs_expectations = nb::cast<bool>(type.attr("weighs_expectations")),
                                  .parameters = {}};
  for (const auto& [name, value] : nb::cast<nb::dict>(type.attr("parameters"))) {
    constexpr double kAnything = 1e300;
    description.parameters.push_back({.name = nb::cast<std::string>(name),
                                      .help = "",
                                      .default_value = nb::cast<double>(value),
                                      .minimum = -kAnything,
                                      .maximum = kAnything});
  }
  if (registry.strategy(description.name).ok()) {
    throw nb::value_error(fmt::format("a strategy of the name '{}' is there already: give yours another name", description.name).c_str());
  }
  const std::string label = "strategy " + description.name + " in Python";
  auto start = [type](StrategyContext context, std::vector<double> parameters) -> std::unique_ptr<plugin_host::StrategyRunner> {
    const nb::gil_scoped_acquire locked;
    return std::make_unique<PythonRunner>(type, std::move(context), std::move(parameters));
  };
  registry.add(std::make_unique<StrategyPlugin>(std::move(description), label, std::move(start)));
}

void bind_strategy(nb::module_& module) {
  nb::class_<Told>(module, "Observation", "The outcome of a trial, as Strategy.tell gets it.")
      .def_prop_ro(
          "position", [](const Told& told) { return to_python(told.position); }, "the position in the space")
      .def_ro("outcome", &Told::outcome, "'ok', 'too_slow', 'wrong_result', 'compile_error', ...")
      .def_prop_ro(
          "time_us", [](const Told& told) { return told.time_us; }, "median time in microseconds; None without one")
      .def_ro("cost_seconds", &Told::cost_seconds, "what the trial cost")
      .def_ro("compile_seconds", &Told::compile_seconds, "of these, compiling")
      .def("__repr__", [](const Told& told) {
        return fmt::format("Observation(position={}, outcome='{}', time_us={})", text(told.position), told.outcome,
                           told.time_us ? fmt::format("{:.3f}", *told.time_us) : "None");
      });
}

}  // namespace hone::python
