#include "engine/worker/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>

extern char** environ;

namespace hone {
namespace {

constexpr int kWorkerSocket = 3;  // what the worker finds its end at

struct SpawnActions {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnActions() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnActions() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) {
    result.push_back(text.data());
  }
  result.push_back(nullptr);
  return result;
}

/// "NAME=value" of this process's environment and what the command adds.
std::vector<std::string> environment_of(const WorkerCommand& command) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    if (!command.environment.contains(std::string(text.substr(0, text.find('='))))) {
      variables.emplace_back(text);
    }
  }
  for (const auto& [variable, value] : command.environment) {
    variables.push_back(fmt::format("{}={}", variable, value));
  }
  return variables;
}

/// What it writes to its standard error goes to `errors`, if that is a descriptor and nothing is logged.
Result<pid_t> start(const WorkerCommand& command, int socket, int errors) {
  SpawnActions spawn;
  const auto own_log = command.environment.find("HONE_WORKER_LOG");
  const char* log = own_log != command.environment.end() ? own_log->second.c_str() : std::getenv("HONE_WORKER_LOG");
  const char* output = log != nullptr ? log : "/dev/null";
  posix_spawn_file_actions_addopen(&spawn.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&spawn.actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&spawn.actions, errors >= 0 && log == nullptr ? errors : STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&spawn.actions, socket, kWorkerSocket);
  posix_spawnattr_setflags(&spawn.attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&spawn.attributes, 0);
  std::vector<std::string> words = command.before, variables = environment_of(command);
  words.push_back(command.executable.string());
  words.push_back(std::to_string(kWorkerSocket));
  pid_t pid = -1;
  const int status =
      posix_spawn(&pid, words.front().c_str(), &spawn.actions, &spawn.attributes, pointers(words).data(), pointers(variables).data());
  if (status != 0) {
    return Error{ErrorCode::kUnavailable, fmt::format("cannot start the worker {}: {}", words.front(), std::strerror(status))};
  }
  return pid;
}

}  // namespace

Result<ChildProcess> start_child(const WorkerCommand& command) {
  int pair[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return Error{ErrorCode::kIo, fmt::format("cannot make a socket pair for a worker: {}", std::strerror(errno))};
  }
  // posix_spawn's dup2 onto descriptor 3 clears close-on-exec, unless the descriptor is 3 itself.
  int child_end = pair[1];
  if (child_end == kWorkerSocket) {
    child_end = ::fcntl(pair[1], F_DUPFD_CLOEXEC, kWorkerSocket + 1);
    ::close(pair[1]);
  }
  int errors[2] = {-1, -1};
  if (command.keeps_errors && ::pipe2(errors, O_CLOEXEC) != 0) {
    errors[0] = errors[1] = -1;  // without
  }
  auto pid = start(command, child_end, errors[1]);
  ::close(child_end);
  if (errors[1] >= 0) {
    ::close(errors[1]);
  }
  if (!pid) {
    ::close(pair[0]);
    if (errors[0] >= 0) {
      ::close(errors[0]);
    }
    return std::move(pid).error();
  }
  if (errors[0] >= 0) {
    ::fcntl(errors[0], F_SETFL, O_NONBLOCK);
  }
  return ChildProcess{.pid = *pid, .socket = pair[0], .errors = errors[0]};
}

std::string describe_exit(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

double cpu_seconds(pid_t pid) {
  clockid_t clock = 0;
  timespec used{};
  if (pid <= 0 || ::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) {
    return 0.0;
  }
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

std::string process_name(pid_t pid) {
  std::string name;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name);
  return name;
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return pid <= 0 || (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid);
}

}  // namespace hone
