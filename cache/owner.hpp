#pragma once
// Which process runs a session, and whether it still lives.

#include <string>
#include <string_view>

namespace hone::cache {

/// This process, as text that no other process of any boot shares: pid, start time, boot id, pid namespace, host, machine id.
std::string this_owner();

enum class Liveness {
  kGone,
  kAlive,
  kUnseen,  ///< on another host, or of another pid namespace (a container): it cannot be told from here
};
Liveness liveness(std::string_view owner);

}  // namespace hone::cache
