#include "engine/worker/device_workers.hpp"

#include <fmt/format.h>

#include <boost/asio/post.hpp>

namespace hone {
namespace {

constexpr double kClearSeconds = 5.0;  // a device that has not let go of a process by then will not be waited for
constexpr int kMostStandbyFailures = 3, kMostFailures = 3;

}  // namespace

DeviceWorkers::DeviceWorkers(boost::asio::io_context& context, WorkerCommand measuring, wire::Message setup, const DeviceInfo& info,
                             Events events, IdleWorkers* idle_workers)
    : context_(context),
      measuring_(std::move(measuring)),
      setup_(std::move(setup)),
      info_(info),
      events_(std::move(events)),
      idle_workers_(idle_workers),
      takes_idle_(idle_workers != nullptr),
      lock_(info),
      turn_(info, DeviceLock::Purpose::kPreparing) {}

DeviceWorkers::~DeviceWorkers() {
  for (std::unique_ptr<MeasuringProcess>* const process : {&active_, &standby_}) {
    if (idle_workers_ != nullptr && *process) {
      idle_workers_->put(std::move(**process).release(), measuring_, info_);
    }
  }
}

Result<void> DeviceWorkers::start(const std::optional<Compiled>& reference) {
  if (reference) {
    reference_ = wire::to_message(*reference);
  } else {
    HONE_TRY(compile_reference());
  }
  return revive();
}

void DeviceWorkers::use_reference(const Compiled& reference) {
  reference_ = wire::to_message(reference);
  if (active_) {
    active_->fill(*reference_);
  }
}

void DeviceWorkers::close() {
  keeps_standby_ = false;
  for (MeasuringProcess* const process : {active_.get(), standby_.get()}) {
    if (process != nullptr) {
      process->worker().kill(0.0, nullptr);
    }
  }
}

Result<void> DeviceWorkers::revive() {
  if (active_ && (active_->worker().busy() || active_->worker().is_sound())) {
    return {};
  }
  if (standby_ && (standby_->worker().busy() || standby_->worker().is_sound())) {
    active_ = std::move(standby_);
    if (!active_->filled() && reference_) {
      active_->fill(*reference_);
    }
  } else {
    HONE_ASSIGN(active_, spawn(false));
  }
  start_standby();
  return {};
}

Result<std::unique_ptr<MeasuringProcess>> DeviceWorkers::spawn(bool standby) {
  wire::Message setup = setup_;
  setup["measure"] = true;
  const bool is_shared = setup_.value("shared_by", 1) > 1;
  setup["standby"] = standby || is_shared;                    // what it does beside others, it does under the lock
  setup["can_wait"] = standby || (is_shared && !was_ready_);  // in the place of one that was lost it is waited for
  setup["dropped"] = dropped_;
  setup["held"] = held_;
  setup["generation"] = generation_++;
  const auto self = std::make_shared<const MeasuringProcess*>(nullptr);
  HONE_ASSIGN(TakenWorker worker, take_or_spawn(takes_idle_ ? idle_workers_ : nullptr, context_, measuring_, info_));
  std::unique_ptr<MeasuringProcess> process =
      MeasuringProcess::start(std::move(worker.process), worker.reused, setup,
                              {.ready = [this, self] { process_ready(*self); },
                               .failed = [this, self](Error why) { process_failed(*self, std::move(why)); },
                               .limits = events_.limits});
  *self = process.get();
  if (reference_ && (!standby || memory_for_two())) {
    process->fill(*reference_);
  }
  return process;
}

void DeviceWorkers::process_ready(const MeasuringProcess* which) {
  if (which == active_.get()) {
    was_ready_ = true;
    failures_ = 0;
    start_standby();
    events_.ready();
  }
}

/// A standby that cannot be had (no memory beside what is in use) is done without. What may be worn by what it ran before, or lacks memory
/// beside others of its kind, has a new one in its place.
void DeviceWorkers::process_failed(const MeasuringProcess* which, Error why) {
  const bool is_worn = which->reused() && why.code != ErrorCode::kTimeout;
  if (is_worn) {
    takes_idle_ = false;
    idle_workers_->clear();
  }
  if (which == standby_.get()) {
    failed_ = std::move(standby_);  // it is in the middle of a call
    failed_->worker().kill(0.0, nullptr);
    standby_failures_ += is_worn ? 0 : 1;
    keeps_standby_ = standby_failures_ < kMostStandbyFailures;
    return;
  }
  // Once one was ready another can be had: a candidate may have left the device in trouble.
  if (was_ready_ ? ++failures_ < kMostFailures : is_worn) {
    failed_ = std::move(active_);
    failed_->worker().kill(0.0, nullptr);
    boost::asio::post(context_, [this, here = std::weak_ptr<bool>(here_)] {
      if (here.lock()) {
        events_.ready();
      }
    });
    return;
  }
  events_.failed(std::move(why));
}

void DeviceWorkers::keep_standby() {
  keeps_standby_ = true;
  start_standby();
}

/// Only beside a process that is ready: what that one needs comes first. Most sessions lose no process, and one that opens the device and
/// fills its buffers slows down the one that measures.
void DeviceWorkers::start_standby() {
  if (!keeps_standby_ || !has_lost_one_ || standby_ || !active_ || !active_->ready()) {
    return;
  }
  if (Result<std::unique_ptr<MeasuringProcess>> process = spawn(true)) {
    standby_ = std::move(process).value();
  } else {
    keeps_standby_ = false;
  }
}

bool DeviceWorkers::memory_for_two() const {
  const auto memory = info_.properties.find("memory");
  const double share = 0.4 / setup_.value("shared_by", 1);  // the other half less what graphs and workspaces take
  return standby_failures_ == 0 && active_ && active_->ready() &&
         (memory == info_.properties.end() || static_cast<double>(active_->bytes()) < share * static_cast<double>(memory->second));
}

void DeviceWorkers::retire(bool hung) {
  if (!active_) {
    return;
  }
  has_lost_one_ = true;
  if (hung) {
    clearing_ = true;
    active_->worker().kill(kClearSeconds, [this, here = std::weak_ptr<bool>(here_)] {
      if (here.lock()) {
        clearing_ = false;
        events_.ready();
      }
    });
  }
  active_.reset();
}

Result<void> DeviceWorkers::compile_reference() {
  HONE_ASSIGN(reference_compiler_, ReferenceCompiler::start(context_, measuring_.executable, setup_, events_.limits,
                                                            [this](const Result<Compiled>& compiled) { reference_compiled(compiled); }));
  return {};
}

void DeviceWorkers::reference_compiled(const Result<Compiled>& compiled) {
  if (!compiled) {
    events_.no_reference(compiled.error());
    return;
  }
  if (const Result<void> kept = events_.has_reference(*compiled); !kept) {
    events_.no_reference(kept.error());
    return;
  }
  use_reference(*compiled);
}

}  // namespace hone
