#pragma once
// Which process something was made in: devices and their threads do not survive fork().

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "hone/error.hpp"

namespace hone {

class Origin {
 public:
  /// This process.
  Origin();
  /// Whether this still is the process; one atomic load.
  [[nodiscard]] bool is_here() const;
  /// Errors: kUnavailable, this is a fork of it.
  [[nodiscard]] Result<void> check() const { return is_here() ? Result<void>() : refusal(); }

 private:
  [[nodiscard]] Error refusal() const;

  pid_t process_;
  std::uint64_t forks_;
};

/// Destroys in the process of its origin alone; in a fork the object is left as it is, for its destructor could wait there for threads that
/// only the parent has.
template <class T>
std::shared_ptr<T> shared_in_process(std::unique_ptr<T> object, const Origin& origin) {
  return std::shared_ptr<T>(object.release(), [origin](T* last) {
    if (origin.is_here()) {
      delete last;
    }
  });
}

}  // namespace hone
