#include "plugins/cpu/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

extern char** environ;

namespace hone::cpu {
namespace {

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 4096> piece;
  while (true) {
    const ssize_t got = read(fd, piece.data(), piece.size());
    if (got > 0) {
      text.append(piece.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return text;
    }
  }
}

}  // namespace

Result<ProcessResult> run_process(const std::vector<std::string>& argv) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  std::string locale = "LC_ALL=C";
  std::vector<char*> environment{locale.data()};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("LC_ALL=")) {
      environment.push_back(*variable);
    }
  }
  environment.push_back(nullptr);

  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) {
    return Error{ErrorCode::kIo, fmt::format("cannot make a pipe for {}: {}", argv[0], std::strerror(errno))};
  }
  FileActions actions;
  posix_spawn_file_actions_addopen(actions.get(), 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(actions.get(), pipe_ends[1], 1);
  posix_spawn_file_actions_adddup2(actions.get(), pipe_ends[1], 2);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0].c_str(), actions.get(), nullptr, arguments.data(), environment.data());
  close(pipe_ends[1]);
  ProcessResult result;
  if (failed == 0) {
    result.output = read_to_end(pipe_ends[0]);
  }
  close(pipe_ends[0]);
  if (failed != 0) {
    return Error{ErrorCode::kUnavailable, fmt::format("cannot run {}: {}", argv[0], std::strerror(failed))};
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (WIFSIGNALED(status)) {
    result.output += fmt::format("{} was ended by signal {}\n", argv[0], WTERMSIG(status));
  }
  return result;
}

}  // namespace hone::cpu
