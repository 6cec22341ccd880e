#pragma once
// Compiles for sessions elsewhere.

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <memory>

#include "engine/plugin/registry.hpp"
#include "engine/tune/work_service.hpp"
#include "engine/worker/worker_process.hpp"

namespace hone {

/// One process, for one assignment at a time.
class CompilingService final : public WorkService {
 public:
  /// `executable` is hone-worker.
  CompilingService(boost::asio::io_context& context, std::filesystem::path executable, const Registry& registry)
      : context_(context), executable_(std::move(executable)), registry_(registry) {}

  [[nodiscard]] bool knows(std::int64_t assignment) const override { return assignment == assignment_; }
  Result<void> set_up(std::int64_t assignment, wire::Message setup, const wire::Message& reference) override;
  void begin(std::int64_t assignment, const wire::Message& request, Answered answered) override;
  void cancel() override;

 private:
  void compile();
  void answer(wire::Message message);

  boost::asio::io_context& context_;
  const std::filesystem::path executable_;
  const Registry& registry_;
  std::int64_t assignment_ = 0;
  wire::Message setup_, request_;
  std::unique_ptr<WorkerProcess> process_;
  Answered answered_;
};

}  // namespace hone
