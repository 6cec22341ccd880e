#pragma once
// Ctrl-C as a request to stop.

#include <array>
#include <stop_token>
#include <thread>

namespace hone::cli {

/// While it lives, SIGINT, SIGTERM and SIGHUP ask to stop; a second one ends the process as ever, with a word on stderr. A verb inside
/// another program leaves signals alone: its Embedding says when to stop.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] std::stop_token token() const { return token_; }

 private:
  std::array<int, 2> pipe_{-1, -1};
  std::stop_source source_;
  std::stop_token token_ = source_.get_token();
  std::thread watcher_;
};

}  // namespace hone::cli
