#pragma once
// Answers sessions elsewhere from a recorded space, as a device would that takes as long as the record says.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "engine/replay/recorded_space.hpp"
#include "engine/tune/work_service.hpp"

namespace hone {

class ReplayingService final : public WorkService {
 public:
  /// `pace`: how long a trial takes, as a share of its recorded seconds.
  ReplayingService(boost::asio::io_context& context, const RecordedSpace& recorded, double pace)
      : recorded_(recorded), pace_(pace), timer_(context) {}

  [[nodiscard]] bool knows(std::int64_t assignment) const override { return assignment == assignment_; }
  Result<void> set_up(std::int64_t assignment, wire::Message setup, const wire::Message& reference) override;
  void begin(std::int64_t assignment, const wire::Message& request, Answered answered) override;
  void cancel() override { timer_.cancel(); }

 private:
  [[nodiscard]] Trial trial_of(const std::string& configuration) const;

  const RecordedSpace& recorded_;
  const double pace_;
  boost::asio::steady_timer timer_;
  std::int64_t assignment_ = 0;
};

}  // namespace hone
