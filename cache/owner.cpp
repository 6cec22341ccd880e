#include "cache/owner.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace hone::cache {
namespace {

struct Process {
  char state = 'X';
  std::string start_time;  ///< clock ticks after boot
};

/// Of /proc/<pid>/stat; state 'X' if there is no such process.
Process read_process(std::string_view pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string stat;
  std::getline(file, stat);
  // The second field is the command in parentheses and may itself hold spaces and parentheses.
  const std::size_t command_end = stat.rfind(')');
  if (command_end == std::string::npos) {
    return {};
  }
  std::istringstream fields(stat.substr(command_end + 1));
  Process process;
  std::string field;
  fields >> process.state;
  constexpr int kStartTimeField = 22;
  for (int i = 4; i <= kStartTimeField && fields >> field; ++i) {
    process.start_time = field;
  }
  return process;
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::string pid_namespace() {
  std::error_code failure;
  return std::filesystem::read_symlink("/proc/self/ns/pid", failure).string();
}

/// "-" where the system has none.
std::string machine_id() {
  std::ifstream file("/etc/machine-id");
  std::string id;
  std::getline(file, id);
  return id.empty() ? "-" : id;
}

std::string host_name() {
  utsname system{};
  return uname(&system) == 0 ? system.nodename : "";
}

}  // namespace

std::string this_owner() {
  const std::string pid = std::to_string(getpid());
  return fmt::format("{} {} {} {} {} {}", pid, read_process("self").start_time, boot_id(), pid_namespace(), host_name(), machine_id());
}

Liveness liveness(std::string_view owner) {
  std::istringstream fields{std::string(owner)};
  std::string pid, start_time, boot, names, on, machine;
  fields >> pid >> start_time >> boot >> names >> on >> machine;
  if (pid.empty()) {
    return Liveness::kGone;
  }
  if (boot != boot_id()) {
    // Hosts of one name share servers. Empty: of an older Hone, whose stores were of one host.
    const bool here = on.empty() || (on == host_name() && (machine.empty() || machine == machine_id()));
    return here ? Liveness::kGone : Liveness::kUnseen;
  }
  if (names != pid_namespace()) {
    return Liveness::kUnseen;
  }
  const Process process = read_process(pid);
  // A zombie has ended; a pid may have been given to another process since.
  const bool ended = process.state == 'X' || process.state == 'Z';
  return ended || process.start_time != start_time ? Liveness::kGone : Liveness::kAlive;
}

}  // namespace hone::cache
