#pragma once
// Waits for news of a queue in an io_context.

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>

#include "engine/store/work_queue.hpp"

namespace hone {

/// Calls `look` where notices came in, and every so many seconds even without. Used by the thread that runs the io_context.
class QueueWatch {
 public:
  QueueWatch(boost::asio::io_context& context, WorkQueue& queue, double seconds, std::function<void()> look);
  ~QueueWatch();
  QueueWatch(const QueueWatch&) = delete;
  QueueWatch& operator=(const QueueWatch&) = delete;

  /// Looks as soon as the context runs. Also after the queue was used: what came in beside an answer makes its socket readable no more.
  void soon();

 private:
  void watch_socket();
  void watch_clock();
  void look();

  WorkQueue& queue_;
  const double seconds_;
  std::function<void()> look_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer timer_;
  bool posted_ = false;
  std::shared_ptr<bool> here_ = std::make_shared<bool>(true);
};

}  // namespace hone
