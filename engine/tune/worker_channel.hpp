#pragma once
// The worker's end of the socket.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/tune/wire.hpp"

namespace hone {

/// Blocking. Does not own the socket.
class WorkerChannel {
 public:
  explicit WorkerChannel(int socket) : socket_(socket) {}

  /// Nothing once the tuner is gone.
  std::optional<wire::Message> receive();
  void send(const wire::Message& message);
  /// Says what is going on: the tuner's deadlines and messages about a crash name it.
  void stage(const std::string& stage) { send({{"stage", stage}}); }
  /// The same of something that takes `seconds` at most, where the tuner would wait longer.
  void stage(const std::string& stage, double seconds) { send({{"stage", stage}, {"within", seconds}}); }

 private:
  bool read_all(std::uint8_t* to, std::size_t size);

  int socket_;
};

}  // namespace hone
