#include "engine/tune/measuring_worker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/tune/stopwatch.hpp"
#include "hone/configuration.hpp"
#include "hone/lookup.hpp"

namespace hone {

using wire::Message;

namespace {

constexpr std::size_t kWarmUpBytes = 256;
constexpr double kSmallProblemSeconds = 30.0;  // a default that hangs is found on the first small problem, not after the minutes of a large one

}  // namespace

/// A trial and how it ended for the process.
struct TrialReply {
  Trial trial;
  bool fatal = false;  ///< the device is in an error state: this process must be replaced

  void fail(const Error& error) {
    trial.detail = error.message;
    fatal = error.code == ErrorCode::kDevice;
    if (fatal) {
      trial.outcome = Outcome::kIllegalAccess;
    } else if (error.message.starts_with("deadlock:")) {
      trial.outcome = Outcome::kDeadlock;
    } else {
      trial.outcome = Outcome::kLaunchFailure;
    }
  }
};

Result<std::unique_ptr<MeasuringWorker>> MeasuringWorker::create(WorkerChannel& channel, const DevicePlugin& plugin, const DeviceInfo& info,
                                                                 const Message& setup) {
  auto worker = std::unique_ptr<MeasuringWorker>(new MeasuringWorker(channel, info));
  HONE_ASSIGN(worker->spec_, parse_kernel_spec(setup.at("spec").get<std::string>()));
  worker->problem_ = wire::problem_from(setup.at("problem"));
  worker->settings_ = wire::settings_from(setup.at("settings"));
  worker->seed_ = setup.at("seed");
  HONE_ASSIGN(worker->device_, plugin.open(info));
  // A device compiles code of its own on first use; now the reference is still being compiled.
  HONE_ASSIGN(const std::unique_ptr<Buffer> some, worker->device_->allocate(kWarmUpBytes));
  HONE_TRY(worker->device_->fill(some->address(), kWarmUpBytes, 0));
  HONE_TRY(worker->device_->checksum(some->address(), kWarmUpBytes));
  return worker;
}

Result<void> MeasuringWorker::make_bench(const Message& request) {
  reference_ = wire::compiled_from(request.at("reference"));
  HONE_ASSIGN(bench_, Bench::create(*device_, spec_, problem_, reference_));
  return add_ragged();
}

Message MeasuringWorker::trial(const Message& request) {
  TrialReply reply;
  const Stopwatch whole;
  run_trial(request, reply);
  reply.trial.seconds.overhead = std::max(0.0, whole.seconds() - reply.trial.seconds.validate - reply.trial.seconds.time);
  Message message = wire::to_message(reply.trial);
  message["fatal"] = reply.fatal;
  return message;
}

Message MeasuringWorker::finals(const Message& request) {
  Message results = Message::array();
  std::vector<std::unique_ptr<LoadedKernel>> kernels;
  std::vector<Bench::Finalist> finalists;
  std::vector<std::size_t> places;
  bool fatal = false;
  next_seed();
  for (std::size_t i = 0; i < request.at("candidates").size() && !fatal; ++i) {
    stage_ = fmt::format("validating finalist {}", i);
    channel_.stage(stage_);
    const Message& candidate = request.at("candidates")[i];
    TrialReply reply;
    const Configuration configuration = configuration_from(candidate);
    const Compiled compiled = wire::compiled_from(candidate.at("compiled"));
    auto kernel = prepare(compiled, configuration, reply);
    if (kernel && validate(compiled, configuration, *kernel, reply)) {
      finalists.push_back({kernel.get(), configuration});
      kernels.push_back(std::move(kernel));
      places.push_back(i);
    }
    fatal = reply.fatal;
    results.push_back(wire::to_message(reply.trial));
  }
  if (!fatal && !finalists.empty()) {
    time_finals(finalists, places, results);
  }
  return {{"results", results}, {"fatal", fatal}};
}

Result<void> MeasuringWorker::add_ragged() {
  constexpr std::int64_t kLimitElements = 1 << 16;
  for (Problem& problem : ragged_problems(spec_, problem_, kLimitElements)) {
    HONE_ASSIGN(auto bench, Bench::create(*device_, spec_, problem, reference_));
    ragged_.push_back({std::move(problem), std::move(bench)});
  }
  return {};
}

Configuration MeasuringWorker::configuration_from(const Message& message) const {
  return parse_configuration(spec_.parameters, message.at("configuration").get<std::string>()).value();
}

std::unique_ptr<LoadedKernel> MeasuringWorker::load_for(const Problem& problem, const Compiled& compiled,
                                                        const Configuration& configuration, TrialReply& reply) {
  Result<std::vector<PassLaunch>> plan = plan_launch(spec_, problem, configuration, device_->info());
  if (!plan) {
    reply.fail(plan.error());
    return nullptr;
  }
  if (std::string reason = static_reject(*plan, compiled.resources, device_->info()); !reason.empty()) {
    reply.trial.outcome = Outcome::kStaticReject;
    reply.trial.detail = reason;
    return nullptr;
  }
  auto loaded = device_->load(compiled, *plan, problem);
  if (!loaded) {
    reply.fail(loaded.error());
    return nullptr;
  }
  return std::move(loaded).value();
}

std::unique_ptr<LoadedKernel> MeasuringWorker::prepare(const Compiled& compiled, const Configuration& configuration, TrialReply& reply) {
  reply.trial.resources = compiled.resources;
  auto kernel = load_for(problem_, compiled, configuration, reply);
  if (kernel) {
    const Resources seen = kernel->resources();
    reply.trial.resources.occupancy = seen.occupancy;
    reply.trial.resources.shared_bytes = std::max(seen.shared_bytes, reply.trial.resources.shared_bytes);
  }
  return kernel;
}

bool MeasuringWorker::check(Bench& bench, const Configuration& configuration, const LoadedKernel& kernel, std::uint64_t seed,
                            const std::string& where, TrialReply& reply) {
  const Result<Validation> validation = bench.validate(kernel, configuration, seed);
  if (!validation) {
    reply.fail(validation.error());
    reply.trial.detail = where + reply.trial.detail;
    return false;
  }
  reply.trial.outcome = validation->outcome;
  reply.trial.max_error = std::max(reply.trial.max_error, validation->max_error);
  if (validation->outcome != Outcome::kOk) {
    reply.trial.detail = where + validation->detail;
  }
  return validation->outcome == Outcome::kOk;
}

bool MeasuringWorker::validate(const Compiled& compiled, const Configuration& configuration, const LoadedKernel& kernel,
                               TrialReply& reply) {
  const Stopwatch watch;
  reply.trial.input_seed = input_seed_;
  const bool right = validate_all(compiled, configuration, kernel, reply);
  reply.trial.seconds.validate = watch.seconds();
  if (fresh_) {
    reseed_cost_ = watch.seconds();
    fresh_ = false;
  }
  return right;
}

bool MeasuringWorker::validate_all(const Compiled& compiled, const Configuration& configuration, const LoadedKernel& kernel,
                                   TrialReply& reply) {
  for (Ragged& ragged : ragged_) {
    if (!valid_for(spec_, ragged.problem, device_->info(), configuration)) {
      continue;
    }
    channel_.stage(fmt::format("{} on the small problem {}", stage_, text(ragged.problem.shape)), kSmallProblemSeconds);
    auto small = load_for(ragged.problem, compiled, configuration, reply);
    const std::string where = fmt::format("on the small problem {}: ", text(ragged.problem.shape));
    if (!small) {
      // What the device refuses at a small size alone is no fault of the configuration at its own size.
      if (reply.fatal) {
        return false;
      }
      reply.trial.outcome = Outcome::kOk;
      reply.trial.detail.clear();
      continue;
    }
    if (!check(*ragged.bench, configuration, *small, input_seed_, where, reply)) {
      return false;
    }
  }
  channel_.stage(stage_);
  return check(*bench_, configuration, kernel, input_seed_, "", reply);
}

void MeasuringWorker::run_trial(const Message& request, TrialReply& reply) {
  const Configuration configuration = configuration_from(request);
  const Compiled compiled = wire::compiled_from(request.at("compiled"));
  auto kernel = prepare(compiled, configuration, reply);
  if (!kernel) {
    return;
  }
  stage_ = "validating";
  refresh_inputs();
  if (!validate(compiled, configuration, *kernel, reply)) {
    return;
  }
  lock_.acquire(channel_);
  channel_.stage("timing");
  const Stopwatch watch;
  const auto incumbent = request.contains("incumbent") ? std::optional<double>(request.at("incumbent").get<double>()) : std::nullopt;
  Result<Measurement> measured = bench_->time(*kernel, configuration, settings_, incumbent, reply.trial.readings);
  lock_.release();
  reply.trial.seconds.time = watch.seconds();
  spent_ += watch.seconds() + reply.trial.seconds.validate;
  if (!measured) {
    reply.fail(measured.error());
    return;
  }
  reply.trial.measurement = std::move(measured).value();
}

void MeasuringWorker::time_finals(const std::vector<Bench::Finalist>& finalists, const std::vector<std::size_t>& places, Message& results) {
  lock_.acquire(channel_);
  channel_.stage("timing the finalists");
  Readings readings;
  const auto measured = bench_->time_interleaved(finalists, settings_, input_seed_, readings);
  lock_.release();
  for (std::size_t k = 0; k < places.size(); ++k) {
    Trial trial;
    wire::fill_from(results[places[k]], trial);
    if (measured) {
      trial.measurement = (*measured)[k];
      trial.readings = readings;
    } else {
      TrialReply reply{trial, false};
      reply.fail(measured.error());
      trial = reply.trial;
    }
    results[places[k]] = wire::to_message(trial);
  }
}

void MeasuringWorker::next_seed() {
  input_seed_ = seed_ * 1000003 + ++seeds_used_;
  spent_ = 0.0;
  fresh_ = true;
}

void MeasuringWorker::refresh_inputs() {
  constexpr double kShare = 20.0;
  if (seeds_used_ == 0 || spent_ > kShare * reseed_cost_) {
    next_seed();
  }
}

}  // namespace hone
