#pragma once
// The processes that measure on a device: the one that does, and one that stands by to take its place.

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "engine/worker/device_lock.hpp"
#include "engine/worker/measuring_process.hpp"

namespace hone {

/// Starts everything at once: the device opens in one process while the reference compiles in another; then the first gets the buffers and
/// the reference, and takes requests. Nothing here waits: it all happens while somebody runs the io_context.
class DeviceWorkers {
 public:
  struct Events {
    std::function<void()> ready;                                 ///< one takes requests now
    std::function<void(Error)> failed;                           ///< none ever will
    std::function<void(Error)> no_reference;                     ///< it does not compile
    std::function<Result<void>(const Compiled&)> has_reference;  ///< the reference was compiled: to be kept
    std::function<RequestLimits()> limits;                       ///< for all that is not a trial
  };

  /// `setup` is the first request to every worker, without "measure". `measuring` is how those that measure are started, maybe under a
  /// tool; the one that compiles the reference is started by itself.
  DeviceWorkers(boost::asio::io_context& context, WorkerCommand measuring, wire::Message setup, const DeviceInfo& info, Events events);

  /// Begins, with the compiled reference where there is one; else it is compiled meanwhile.
  Result<void> start(const std::optional<Compiled>& reference);
  /// Begins without the reference, which comes by use_reference(), and again where the process is gone.
  Result<void> revive();
  /// The reference that another device's were started with.
  void use_reference(const Compiled& reference);
  /// Ends all that measure, for good.
  void close();
  /// Processes to come hold no configuration to these kinds of inputs.
  void drop_inputs(const std::vector<std::string>& kinds) { dropped_ = kinds; }
  /// From now on one process more has the device open and, where memory allows it, its buffers filled.
  void keep_standby();
  /// Kills the process that measures. The other takes its place at once; where the dead one `hung`, once the device has let go of what ran
  /// on it.
  void retire(bool hung);

  [[nodiscard]] bool ready() const { return active_ != nullptr && active_->ready() && !active_->worker().busy() && !clearing_; }
  /// Of the process that measures. Only when it is ready, and one request at a time.
  [[nodiscard]] WorkerProcess& worker() { return active_->worker(); }
  /// The one that stands by opens the device or fills its buffers: what runs meanwhile has to share the device with a reference.
  [[nodiscard]] bool fills_standby() const { return standby_ && standby_->worker().alive() && !standby_->ready(); }
  /// Another session holds the device.
  [[nodiscard]] bool device_is_taken() const { return !lock_.is_free(); }

 private:
  Result<std::unique_ptr<MeasuringProcess>> spawn(bool standby);
  Result<void> compile_reference();
  void reference_compiled(const Result<wire::CompileResult>& reply);
  void process_ready(const MeasuringProcess* which);
  void process_failed(const MeasuringProcess* which, Error why);
  void start_standby();
  [[nodiscard]] bool memory_for_two() const;

  boost::asio::io_context& context_;
  WorkerCommand measuring_;
  wire::Message setup_;
  DeviceInfo info_;
  Events events_;
  DeviceLock lock_;
  std::unique_ptr<WorkerProcess> reference_compiler_;
  std::unique_ptr<MeasuringProcess> active_, standby_, failed_;
  std::optional<wire::Message> reference_;  ///< compiled
  std::vector<std::string> dropped_;
  std::uint64_t generation_ = 0;
  int standby_failures_ = 0, failures_ = 0;
  bool was_ready_ = false;
  bool keeps_standby_ = false, clearing_ = false;
  std::shared_ptr<bool> here_ = std::make_shared<bool>(true);  ///< what is called late finds out that this is gone
};

}  // namespace hone
