#include "engine/worker/worker_channel.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

namespace hone {

std::optional<wire::Message> WorkerChannel::receive() {
  std::uint8_t header[wire::kHeaderBytes];
  if (!read_all(header, sizeof header)) {
    return std::nullopt;
  }
  std::vector<std::uint8_t> body(wire::body_size(header));
  if (!read_all(body.data(), body.size())) {
    return std::nullopt;
  }
  Result<wire::Message> message = wire::decode(body.data(), body.size());
  return message ? std::optional<wire::Message>(std::move(message).value()) : std::nullopt;
}

void WorkerChannel::send(const wire::Message& message) {
  const std::vector<std::uint8_t> bytes = wire::encode(message);
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = ::write(socket_, bytes.data() + sent, bytes.size() - sent);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      return;  // the tuner is gone; the next receive sees it too
    }
    sent += static_cast<std::size_t>(n);
  }
}

void WorkerChannel::report(wire::Stage stage) {
  stage.finalist = stage.kind == wire::Stage::Kind::kReference ? std::nullopt : finalist_;  // the reference is no one's doing
  reported_ = std::chrono::steady_clock::now();
  send(wire::to_message(stage));
}

void WorkerChannel::piece(wire::Stage stage, double seconds) {
  constexpr double kWorthTelling = 0.05;
  const std::chrono::duration<double> silent = std::chrono::steady_clock::now() - reported_;
  if (silent.count() + seconds >= kWorthTelling) {
    stage.expected = seconds;
    report(std::move(stage));
  }
}

bool WorkerChannel::read_all(std::uint8_t* to, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::read(socket_, to, size);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      return false;
    }
    to += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace hone
