#pragma once
// Calls into a plugin: its failures and exceptions become values.

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include "hone/plugin.h"

namespace hone::plugin_host {

/// The failure of a call.
struct Failure {
  std::string message;
  std::int32_t status = 1;
};

/// The failure of `call(hone_message*)`, or nothing if it returned 0.
template <class Call>
std::optional<Failure> guarded(const Call& call) {
  hone_message message{};
  try {
    const std::int32_t status = call(&message);
    if (status == 0) {
      return std::nullopt;
    }
    message.text[sizeof(message.text) - 1] = '\0';
    return Failure{message.text[0] != '\0' ? message.text : "it failed without a message", status};
  } catch (const std::exception& error) {
    return Failure{error.what()};
  } catch (...) {
    return Failure{"it threw something that is not a std::exception"};
  }
}

/// The same for a function that cannot fail; exceptions are dropped.
template <class Call>
void guarded_end(const Call& call) {
  guarded([&](hone_message*) {
    call();
    return 0;
  });
}

}  // namespace hone::plugin_host
