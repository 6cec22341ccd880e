#include "engine/plugin/instance.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hone::plugin_host {
namespace {

static_assert(static_cast<int>(Outcome::kOk) == HONE_OK && static_cast<int>(Outcome::kStaticReject) == HONE_STATIC_REJECT &&
              static_cast<int>(Outcome::kTimeout) == HONE_TIMEOUT && static_cast<int>(Outcome::kRace) == HONE_RACE &&
              static_cast<int>(Outcome::kTooSlow) == HONE_TOO_SLOW);

/// What a strategy keeps, as far as it may be: it goes into the store, and into every later session.
struct ModelSink {
  std::string bytes;
  bool overflows = false;
};

void append(void* sink, const void* bytes, std::size_t count) {
  ModelSink& model = *static_cast<ModelSink*>(sink);
  model.overflows = model.overflows || count > kMostModelBytes - model.bytes.size();
  if (!model.overflows) {
    model.bytes.append(static_cast<const char*>(bytes), count);
  }
}

}  // namespace

hone_observation to_c(const Observation& observation) {
  return {.position = to_c(observation.position),
          .outcome = static_cast<std::int32_t>(observation.outcome),
          .time_us = observation.time_us,
          .cost_seconds = observation.cost_seconds,
          .compile_seconds = observation.compile_seconds,
          .registers = observation.resources.registers,
          .spill_bytes = observation.resources.spill_bytes,
          .shared_bytes = observation.resources.shared_bytes,
          .occupancy = observation.resources.occupancy};
}

hone_observation in_terms_of(std::uint32_t abi, hone_observation observation) {
  // A time that is far behind the best: as such it leads a search of version 2 where it leads a later one. A failure would make a
  // neighbourhood look impossible that is merely slow.
  if (abi < 3 && observation.outcome == HONE_TOO_SLOW) {
    observation.outcome = observation.time_us > 0.0 ? HONE_OK : HONE_TIMEOUT;
  }
  return observation;
}

Instance::Instance(const hone_strategy& table, std::uint32_t abi, StrategyContext context, std::vector<double> parameters)
    : table_(table), abi_(abi), context_(std::move(context)), parameters_(std::move(parameters)), space_(context_.space, context_.likely) {
  for (const Prior& prior : context_.priors) {
    auto& observations = prior_observations_.emplace_back(prior.observations.size());
    std::ranges::transform(prior.observations, observations.begin(),
                           [abi](const Observation& observation) { return in_terms_of(abi, to_c(observation)); });
    priors_.push_back({prior.device.c_str(), prior.dtype.c_str(), prior.shape.c_str(), observations.data(), observations.size()});
  }
  first_ = to_c(context_.first.value_or(0));
  c_context_ = {.struct_size = sizeof(hone_strategy_context),
                .space = &space_.functions(),
                .seed = context_.seed,
                .first = context_.first ? &first_ : nullptr,
                .parameters = parameters_.data(),
                .expected_trials = context_.expected_trials,
                .priors = priors_.data(),
                .prior_count = priors_.size(),
                .model = context_.model.empty() ? nullptr : context_.model.data(),
                .model_bytes = context_.model.size(),
                .prior_stride = sizeof(hone_prior),
                .observation_stride = sizeof(hone_observation)};
}

Instance::~Instance() {
  if (handle_ != nullptr) {
    guarded_end([&] { table_.destroy(handle_); });
  }
}

std::optional<Failure> Instance::create() {
  return guarded([&](hone_message* message) { return table_.create(&c_context_, &handle_, message); });
}

std::optional<Failure> Instance::ask(std::size_t wanted, std::vector<Count>& positions) {
  std::vector<hone_position> proposed(wanted);
  std::size_t count = 0;
  const std::optional<Failure> failure =
      guarded([&](hone_message* message) { return table_.ask(handle_, wanted, proposed.data(), &count, message); });
  proposed.resize(failure ? 0 : std::min(count, wanted));
  for (const hone_position position : proposed) {
    positions.push_back(from_c(position));
  }
  return failure;
}

std::optional<Failure> Instance::tell(std::vector<hone_observation> observations) {
  std::ranges::transform(observations, observations.begin(), [this](const hone_observation& one) { return in_terms_of(abi_, one); });
  return guarded([&](hone_message* message) { return table_.tell(handle_, observations.data(), observations.size(), message); });
}

std::optional<Failure> Instance::save(std::string& model) {
  if (table_.save == nullptr) {
    return std::nullopt;
  }
  ModelSink sink;
  std::optional<Failure> failure = guarded([&](hone_message* message) { return table_.save(handle_, &sink, append, message); });
  if (!failure && sink.overflows) {
    failure = Failure{fmt::format("it keeps more than {} MiB", kMostModelBytes >> 20U)};
  }
  model = failure ? std::string() : std::move(sink.bytes);
  return failure;
}

}  // namespace hone::plugin_host
