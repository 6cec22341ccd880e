#include "cli/interrupt.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "cli/embedding.hpp"

namespace hone::cli {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};  // the last one: a terminal or an ssh connection that ended

std::atomic<int> wake_up{-1};  // a handler may do little more than write to a pipe; a thread does the rest

std::atomic<bool> signalled{false};  // since the Interrupt that lives

/// The second one ends the process as it would have without Hone; but not without a word.
void end_at_once(int number) {
  constexpr std::string_view kLast = "\nhone: stopped at once by a second signal; finished trials are in the store\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kLast.data(), kLast.size());
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void on_signal(int number) {
  if (signalled.exchange(true)) {
    end_at_once(number);
    return;
  }
  const int saved = errno;
  const char byte = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_up, &byte, 1);
  errno = saved;
}

}  // namespace

Interrupt::Interrupt() {
  if (const Embedding* const host = current_embedding()) {
    token_ = host->stop;
    return;
  }
  if (::pipe2(pipe_.data(), O_CLOEXEC) != 0) {
    return;  // then a signal ends the process at once, which loses nothing either
  }
  wake_up = pipe_[1];
  signalled = false;
  watcher_ = std::thread([this] {
    char byte = 0;
    if (::read(pipe_[0], &byte, 1) == 1) {
      source_.request_stop();
    }
  });
  for (const int number : kSignals) {
    if (std::signal(number, on_signal) == SIG_IGN) {
      std::signal(number, SIG_IGN);  // whoever started it in the background wants it so
    }
  }
}

Interrupt::~Interrupt() {
  if (!watcher_.joinable()) {
    return;
  }
  for (const int number : kSignals) {
    if (std::signal(number, SIG_DFL) == SIG_IGN) {
      std::signal(number, SIG_IGN);
    }
  }
  ::close(pipe_[1]);
  watcher_.join();
  ::close(pipe_[0]);
}

}  // namespace hone::cli
