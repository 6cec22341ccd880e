#include "engine/worker/queue_watch.hpp"

#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

namespace hone {

QueueWatch::QueueWatch(boost::asio::io_context& context, WorkQueue& queue, double seconds, std::function<void()> look)
    : queue_(queue), seconds_(seconds), look_(std::move(look)), socket_(context), timer_(context) {
  soon();
  watch_clock();
}

QueueWatch::~QueueWatch() {
  if (socket_.is_open()) {
    socket_.release();  // it is libpq's
  }
}

void QueueWatch::soon() {
  if (std::exchange(posted_, true)) {
    return;
  }
  boost::asio::post(timer_.get_executor(), [this, here = std::weak_ptr<bool>(here_)] {
    if (here.lock()) {
      posted_ = false;
      look();
    }
  });
}

void QueueWatch::look() {
  static_cast<void>(queue_.heard());
  look_();
  watch_socket();
  if (queue_.heard()) {
    soon();
  }
}

void QueueWatch::watch_socket() {
  if (socket_.is_open()) {
    socket_.release();
  }
  const int descriptor = queue_.descriptor();
  if (descriptor < 0) {
    return;  // what is asked of the queue next connects it again; the clock sees to that
  }
  socket_.assign(descriptor);
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this, here = std::weak_ptr<bool>(here_)](const boost::system::error_code& cancelled) {
                       if (!cancelled && here.lock()) {
                         look();
                       }
                     });
}

void QueueWatch::watch_clock() {
  timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds_)));
  timer_.async_wait([this, here = std::weak_ptr<bool>(here_)](const boost::system::error_code& cancelled) {
    if (!cancelled && here.lock()) {
      look();
      watch_clock();
    }
  });
}

}  // namespace hone
