#include "engine/worker/plugin_worker.hpp"

#include <sys/prctl.h>

#include <utility>

#include "engine/plugin/plugin_loader.hpp"
#include "engine/worker/plugin_wire.hpp"
#include "engine/worker/process_limits.hpp"

namespace hone {
namespace {

using plugin_host::Failure;
using wire::Message;

Message refusal(const Error& error) { return {{"error", wire::to_message(error)}}; }

Message verdict(const std::optional<Failure>& failure) { return failure ? Message{{"failure", failure->message}} : Message::object(); }

Observation to_cpp(const hone_observation& observation) {
  Observation made;
  made.position = plugin_host::from_c(observation.position);
  made.outcome = static_cast<Outcome>(observation.outcome);
  made.time_us = observation.time_us;
  made.cost_seconds = observation.cost_seconds;
  made.compile_seconds = observation.compile_seconds;
  made.resources.registers = observation.registers;
  made.resources.spill_bytes = observation.spill_bytes;
  made.resources.shared_bytes = observation.shared_bytes;
  made.resources.occupancy = observation.occupancy;
  return made;
}

Prior read_prior(const Message& message) {
  Prior prior{message.at("device"), message.at("dtype"), message.at("shape"), {}};
  for (const hone_observation& observation : wire::unpacked_observations(message.at("observations"))) {
    prior.observations.push_back(to_cpp(observation));
  }
  return prior;
}

}  // namespace

Message PluginWorker::answer(const Message& request) {
  const std::string operation = request.at("op");
  ::prctl(PR_SET_NAME, operation.c_str());  // whoever finds the process hanging, or dead, knows where
  Message reply = answer_to(operation, request);
  ::prctl(PR_SET_NAME, "hone-worker");
  if (operation == "tell") {
    return reply;  // nobody gets it
  }
  if (const auto failure = std::exchange(tell_failure_, std::nullopt)) {
    reply["tell_failure"] = failure->message;
  }
  return reply;
}

Message PluginWorker::answer_to(const std::string& operation, const Message& request) {
  if (operation == "open") {
    return open(request);
  }
  if (operation == "enumerate") {
    return enumerate(request);
  }
  if (operation == "compiler_version") {
    return compiler_version(request);
  }
  if (operation == "energy_counter") {
    return energy_counter(request);
  }
  if (operation == "space") {
    return keep_space(request);
  }
  return operation == "create" ? create(request) : call(operation, request);
}

Message PluginWorker::open(const Message& request) {
  if (request.at("limited")) {
    limit_this_process(kPluginMemory, CountedMemory::kWritable);
  }
  const Result<LoadedPlugin> loaded =
      load_plugin(registry_, request.at("file").get<std::string>(), std::nullopt, [this](const char* step) { channel_.stage(step); });
  if (!loaded) {
    return refusal(loaded.error());
  }
  wire::PluginContents contents;
  for (const auto& strategy : registry_.strategies()) {
    contents.strategies.push_back(strategy->description());
  }
  contents.devices = loaded->devices;
  return wire::to_message(contents);
}

const DevicePlugin& PluginWorker::device(const Message& request) const {
  const std::string wanted = request.at("device");
  for (const auto& plugin : registry_.devices()) {
    if (plugin->name() == wanted) {
      return *plugin;
    }
  }
  throw ContractError("the plugin has no device " + wanted);
}

Message PluginWorker::enumerate(const Message& request) const {
  const Result<std::vector<DeviceInfo>> found = device(request).enumerate();
  return found ? wire::to_message(*found) : refusal(found.error());
}

Message PluginWorker::compiler_version(const Message& request) const {
  const Result<std::string> version = device(request).compiler_version();
  return version ? Message{{"text", *version}} : refusal(version.error());
}

Message PluginWorker::energy_counter(const Message& request) const {
  const Result<void> has_one = device(request).check_energy_counter(wire::device_from(request.at("info")));
  return has_one ? Message{{"text", ""}} : refusal(has_one.error());
}

Message PluginWorker::keep_space(const Message& request) {
  for (const Message& forgotten : request.at("forget")) {
    spaces_.erase(forgotten.get<std::uint64_t>());
  }
  Result<wire::BuiltSpace> built = wire::read_space(request);
  if (!built) {
    return {{"failure", built.error().message}};
  }
  spaces_[request.at("id").get<std::uint64_t>()] = std::move(built).value();
  return Message::object();
}

Message PluginWorker::create(const Message& request) {
  const wire::BuiltSpace& space = spaces_.at(request.at("space").get<std::uint64_t>());
  StrategyContext context;
  context.space = space.space;
  context.likely = space.likely;
  context.seed = request.at("seed");
  context.expected_trials = request.at("expected_trials");
  if (request.contains("first")) {
    context.first = plugin_host::from_c(wire::unpacked_positions(request.at("first")).at(0));
  }
  for (const Message& prior : request.at("priors")) {
    context.priors.push_back(read_prior(prior));
  }
  context.model = wire::unpacked_text(request.at("model"));
  const Result<const StrategyPlugin*> plugin = registry_.strategy(request.at("strategy").get<std::string>());
  if (!plugin) {
    return {{"failure", plugin.error().message}};
  }
  instance_ = (*plugin)->instance(std::move(context), wire::unpacked_numbers(request.at("parameters")));
  return verdict(instance_->create());
}

Message PluginWorker::call(const std::string& function, const Message& request) {
  if (instance_ == nullptr) {
    throw ContractError("no strategy runs that could be called");
  }
  if (function == "tell") {
    const std::optional<Failure> failure = instance_->tell(wire::unpacked_observations(request.at("observations")));
    tell_failure_ = tell_failure_ ? tell_failure_ : failure;
    return Message::object();
  }
  if (function == "destroy") {
    instance_ = nullptr;
    return Message::object();
  }
  Message reply;
  if (function == "ask") {
    std::vector<Count> positions;
    reply = verdict(instance_->ask(request.at("wanted"), positions));
    std::vector<hone_position> proposed;
    for (const Count position : positions) {
      proposed.push_back(plugin_host::to_c(position));
    }
    reply["positions"] = wire::packed(proposed);
    return reply;
  }
  if (function != "save") {
    throw ContractError("a strategy has no function " + function);
  }
  std::string model;
  reply = verdict(instance_->save(model));
  reply["model"] = wire::packed(model);
  return reply;
}

}  // namespace hone
