#pragma once
// Measures on a device of this host for sessions elsewhere.

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <list>
#include <memory>
#include <optional>

#include "engine/plugin/registry.hpp"
#include "engine/tune/stage_limits.hpp"
#include "engine/tune/work_service.hpp"
#include "engine/worker/device_workers.hpp"

namespace hone {

class MeasuringService final : public WorkService {
 public:
  /// `executable` is hone-worker.
  MeasuringService(boost::asio::io_context& context, std::filesystem::path executable, Registry::Found device)
      : context_(context), executable_(std::move(executable)), device_(std::move(device)) {}

  [[nodiscard]] bool knows(std::int64_t assignment) const override;
  Result<void> set_up(std::int64_t assignment, wire::Message setup, const wire::Message& reference) override;
  void begin(std::int64_t assignment, const wire::Message& request, Answered answered) override;
  void cancel() override;

 private:
  /// The processes that measure for an assignment.
  struct Served {
    std::int64_t assignment = 0;
    StageLimits limits;
    std::unique_ptr<DeviceWorkers> workers;
  };
  Served* find(std::int64_t assignment);
  [[nodiscard]] DeviceWorkers::Events events_of(std::int64_t assignment);
  /// Sends what is asked, as soon as there is a process that takes it.
  void send();
  void send(Served& served, const wire::Message& request, Result<wire::Message> (*check)(const wire::Message&));
  void finished(std::int64_t assignment, const Result<wire::Message>& reply);
  void answer(wire::Message message);

  boost::asio::io_context& context_;
  const std::filesystem::path executable_;
  const Registry::Found device_;
  std::list<Served> served_;  ///< the latest first
  std::int64_t asked_of_ = 0;
  std::optional<wire::Message> request_;  ///< what it is at
  bool sent_ = false;
  std::chrono::steady_clock::time_point began_;
  Answered answered_;
};

}  // namespace hone
