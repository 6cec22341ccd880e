#pragma once
// Sampled checks of an application's launches: copies on its stream, everything else on a thread and a stream of their own.

#include <array>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/measure/output_check.hpp"
#include "engine/runtime/prepared.hpp"

namespace hone {

class LaunchChecker final : public LaunchChecks {
 public:
  LaunchChecker(LaunchCheckRequest request, std::unique_ptr<SideStream> side);
  ~LaunchChecker() override { stop(); }
  LaunchChecker(const LaunchChecker&) = delete;
  LaunchChecker& operator=(const LaunchChecker&) = delete;

  bool begin(const std::shared_ptr<const Prepared>& prepared, void* stream, std::span<void* const> values) override;
  void end(void* stream, std::span<void* const> values, bool launched) override;
  void stop() override;

 private:
  enum class Task : std::uint8_t {
    kNone,
    kPrepare,  ///< the default's code and the memory, so that the next launch can be checked
    kCompare,
    kWait,  ///< for copies of a launch that is not compared
  };
  /// An argument of the launch that is checked, and where in memory_ its copies are.
  struct Copies {
    std::size_t argument = 0, bytes = 0;
    std::optional<std::size_t> input, actual, expected;
  };
  struct Layout {
    std::vector<Copies> copies;
    std::size_t workspace = 0;  ///< of the default's
    std::size_t bytes = 0;
  };
  /// An output of both, in the host's memory.
  struct Output {
    const Copies* at = nullptr;
    measure::OutputRule rule;
    std::vector<std::byte> actual, expected;
    std::vector<double> slack;
    Comparison comparison;
  };

  static Layout lay_out(const Prepared& served, const Prepared& standard);
  [[nodiscard]] std::byte* at(std::size_t offset) const { return static_cast<std::byte*>(memory_->address()) + offset; }
  void hand_over(Task task);
  void run();
  void perform(Task task);
  void prepare();
  void never(const std::string& why);
  void compare();
  Result<LaunchCheck> find();
  Result<void> launch_standard();
  Result<std::vector<Output>> outputs();
  Result<std::vector<std::byte>> read(std::size_t offset, std::size_t bytes);
  Result<void> measure_slack(std::vector<Output>& outputs);
  Result<bool> inputs_are_finite();
  void report(const LaunchCheck& found);

  const LaunchCheckRequest request_;
  const std::unique_ptr<SideStream> side_;

  std::mutex mutex_;  ///< of the next three
  std::condition_variable changed_;
  Task task_ = Task::kNone;
  bool stopping_ = false;

  std::atomic<bool> busy_{false};  ///< what follows belongs to who set it, and then to the thread until it is done
  std::unique_ptr<Buffer> memory_;
  std::shared_ptr<const Prepared> prepared_;  ///< that is checked
  Layout layout_;
  std::vector<std::array<std::byte, sizeof(double)>> scalars_;  ///< by argument

  std::thread thread_;
};

/// Errors: kUnavailable, the device has no side streams.
Result<std::shared_ptr<LaunchChecks>> start_launch_checks(LaunchCheckRequest request);

}  // namespace hone
