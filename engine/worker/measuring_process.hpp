#pragma once
// One process that measures, as the evaluator sees it: from opening its device to taking trials.

#include <functional>
#include <memory>
#include <optional>

#include "engine/worker/wire.hpp"
#include "engine/worker/worker_process.hpp"

namespace hone {

/// Opens the device, gets the buffers and the reference, takes trials. Nothing here waits: it all happens while somebody runs the
/// io_context.
class MeasuringProcess {
 public:
  struct Events {
    std::function<void()> ready;            ///< it takes requests now
    std::function<void(Error)> failed;      ///< it never will
    std::function<RequestLimits()> limits;  ///< for opening the device and for filling the buffers
  };

  /// `setup` is the first request of this use of the process, of which there may have been others (`reused`). It opens the device, if it
  /// has not yet, and waits for fill().
  static std::unique_ptr<MeasuringProcess> start(std::unique_ptr<WorkerProcess> worker, bool reused, const wire::Message& setup,
                                                 Events events);

  /// Gives it the compiled reference, with which it makes the buffers: at once, or as soon as the device is open.
  void fill(const wire::Message& reference);

  [[nodiscard]] bool ready() const { return worker_->alive() && stage_ == Stage::kReady; }
  [[nodiscard]] bool filled() const { return reference_.has_value(); }
  [[nodiscard]] bool reused() const { return reused_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  ///< of device memory, once it is ready
  [[nodiscard]] WorkerProcess& worker() const { return *worker_; }
  /// The process, for another use.
  std::unique_ptr<WorkerProcess> release() && { return std::move(worker_); }

 private:
  enum class Stage { kOpening, kOpen, kFilling, kReady };
  MeasuringProcess(std::unique_ptr<WorkerProcess> worker, bool reused, Events events)
      : worker_(std::move(worker)), reused_(reused), events_(std::move(events)) {}

  bool failed(const Result<wire::Done>& reply, std::string_view what) const;
  void make_bench();

  std::unique_ptr<WorkerProcess> worker_;
  bool reused_;
  Events events_;
  std::optional<wire::Message> reference_;
  Stage stage_ = Stage::kOpening;
  std::uint64_t bytes_ = 0;
};

}  // namespace hone
