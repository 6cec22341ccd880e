#pragma once
// A child process with a socket to it, and what the kernel says of one.

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/plugin/registry.hpp"
#include "hone/error.hpp"

namespace hone {

/// How a worker is started: by itself, or under a tool.
struct WorkerCommand {
  std::filesystem::path executable;
  std::vector<std::string> before;                 ///< the tool and its options
  std::map<std::string, std::string> environment;  ///< added to this process's
  bool keeps_errors = false;                       ///< the end of what it writes to its standard error is kept

  WorkerCommand(std::filesystem::path program) : executable(std::move(program)) {}  // NOLINT: alone, it is the command
  WorkerCommand(std::filesystem::path program, const Sanitizer& sanitizer)
      : executable(std::move(program)), before(sanitizer.command), environment(sanitizer.environment) {}
};

struct ChildProcess {
  pid_t pid = -1;
  int socket = -1;  ///< to it
  int errors = -1;  ///< from its standard error, without blocking; -1 unless the command keeps that
};

/// Starts the command in a process group of its own, with its end of the socket as descriptor 3. Its output goes nowhere (a kernel may
/// print) unless HONE_WORKER_LOG names a file.
Result<ChildProcess> start_child(const WorkerCommand& command);

/// "was killed by signal 11 (Segmentation fault)".
std::string describe_exit(int status);
/// What the process has had of the host's cores; 0 if nobody knows.
double cpu_seconds(pid_t pid);
/// What it called itself last, also of a zombie.
std::string process_name(pid_t pid);
/// It is a zombie, or gone.
bool has_ended(pid_t pid);

}  // namespace hone
