#pragma once
// The worker's end of the socket.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/worker/replies.hpp"
#include "engine/worker/wire.hpp"

namespace hone {

/// Blocking. Does not own the socket.
class WorkerChannel {
 public:
  explicit WorkerChannel(int socket) : socket_(socket) {}

  /// Nothing once the tuner is gone.
  std::optional<wire::Message> receive();
  void send(const wire::Message& message);
  /// Says what is going on: the tuner's deadlines and messages about a crash name it.
  void stage(const std::string& stage) { report({.name = stage}); }
  /// The same of something that takes `seconds` at most, where the tuner would wait longer.
  void stage(const std::string& stage, double seconds) { report({.name = stage, .within = seconds}); }
  void report(wire::Stage stage);
  /// Whose doing everything is that is reported from now on.
  void charge(std::optional<std::size_t> finalist) { finalist_ = finalist; }
  /// Before a piece of what report() named that may take `seconds`. Told only now and then: most pieces are too short to be worth a
  /// message.
  void piece(wire::Stage stage, double seconds);

 private:
  bool read_all(std::uint8_t* to, std::size_t size);

  int socket_;
  std::optional<std::size_t> finalist_;
  std::chrono::steady_clock::time_point reported_;
};

}  // namespace hone
