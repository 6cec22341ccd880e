#pragma once
// The processes that measure on a device: the one that does, and, once one was lost, another that stands by to take its place.

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "engine/worker/device_lock.hpp"
#include "engine/worker/idle_workers.hpp"
#include "engine/worker/measuring_process.hpp"
#include "engine/worker/measuring_workers.hpp"
#include "engine/worker/reference_compiler.hpp"

namespace hone {

/// Starts everything at once: the device opens in one process while the reference compiles in another; then the first gets the buffers and
/// the reference, and takes requests. Nothing here waits: it all happens while somebody runs the io_context.
class DeviceWorkers final : public MeasuringWorkers {
 public:
  struct Events {
    std::function<void()> ready;                                 ///< one takes requests now
    std::function<void(Error)> failed;                           ///< none ever will
    std::function<void(Error)> no_reference;                     ///< it does not compile
    std::function<Result<void>(const Compiled&)> has_reference;  ///< the reference was compiled: to be kept
    std::function<RequestLimits()> limits;                       ///< for all that is not a trial
  };

  /// `setup` is the first request to every worker, without "measure". `measuring` is how those that measure are started, maybe under a
  /// tool; the one that compiles the reference is started by itself. Processes come from `idle_workers`, if that is there and has one, and
  /// go back to it.
  DeviceWorkers(boost::asio::io_context& context, WorkerCommand measuring, wire::Message setup, const DeviceInfo& info, Events events,
                IdleWorkers* idle_workers = nullptr);
  ~DeviceWorkers() override;
  DeviceWorkers(const DeviceWorkers&) = delete;
  DeviceWorkers& operator=(const DeviceWorkers&) = delete;

  Result<void> start(const std::optional<Compiled>& reference) override;
  Result<void> revive() override;
  void use_reference(const Compiled& reference) override;
  void close() override;
  void use_verdicts(const std::vector<std::string>& dropped, const std::vector<std::string>& held) override {
    dropped_ = dropped;
    held_ = held;
  }
  void keep_standby() override;
  void retire(bool hung) override;

  [[nodiscard]] bool ready() const override { return active_ != nullptr && active_->ready() && !active_->worker().busy() && !clearing_; }
  [[nodiscard]] WorkerProcess& worker() override { return active_->worker(); }
  [[nodiscard]] bool fills_standby() const override { return standby_ && standby_->worker().alive() && !standby_->ready(); }
  [[nodiscard]] bool device_is_taken() const override { return !lock_.is_free() || !turn_.is_free(); }

 private:
  Result<std::unique_ptr<MeasuringProcess>> spawn(bool standby);
  Result<void> compile_reference();
  void reference_compiled(const Result<Compiled>& compiled);
  void process_ready(const MeasuringProcess* which);
  void process_failed(const MeasuringProcess* which, Error why);
  void start_standby();
  [[nodiscard]] bool memory_for_two() const;

  boost::asio::io_context& context_;
  WorkerCommand measuring_;
  wire::Message setup_;
  DeviceInfo info_;
  Events events_;
  IdleWorkers* idle_workers_;
  bool takes_idle_;  ///< until one of them will not do
  DeviceLock lock_, turn_;
  std::unique_ptr<ReferenceCompiler> reference_compiler_;
  std::unique_ptr<MeasuringProcess> active_, standby_, failed_;
  std::optional<wire::Message> reference_;  ///< compiled
  std::vector<std::string> dropped_, held_;
  std::uint64_t generation_ = 0;
  int standby_failures_ = 0, failures_ = 0;
  bool was_ready_ = false;
  bool keeps_standby_ = false, has_lost_one_ = false, clearing_ = false;
  std::shared_ptr<bool> here_ = std::make_shared<bool>(true);  ///< what is called late finds out that this is gone
};

}  // namespace hone
