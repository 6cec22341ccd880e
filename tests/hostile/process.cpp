#include "tests/hostile/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>

namespace hone::hostile {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::ifstream list("/proc/self/task/" + std::to_string(getpid()) + "/children");
  for (pid_t pid = 0; list >> pid;) {
    found.push_back(pid);
  }
  return found;
}

/// Killing one hands its children to us, so it is done until nobody is left.
void end_descendants() {
  for (int round = 0; round < 1000; ++round) {
    const std::vector<pid_t> left = children();
    if (left.empty()) {
      return;
    }
    for (const pid_t pid : left) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }
}

[[noreturn]] void become(std::vector<std::string>& words, const std::string& out, const std::string& err) {
  setpgid(0, 0);
  const int null = open("/dev/null", O_RDONLY);
  const int to_out = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), to_err = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(null, STDIN_FILENO);
  dup2(to_out, STDOUT_FILENO);
  dup2(to_err, STDERR_FILENO);
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  execv(argv.front(), argv.data());
  _exit(127);
}

}  // namespace

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

Finished run(std::vector<std::string> words, double limit_seconds, const std::string& directory) {
  const std::string out = directory + "/out", err = directory + "/err";
  const Clock::time_point begin = Clock::now();
  Finished finished;
  const pid_t pid = fork();
  if (pid == 0) {
    become(words, out, err);
  }
  int status = 0;
  while (pid > 0 && seconds_since(begin) < limit_seconds) {
    if (waitpid(pid, &status, WNOHANG) == pid) {
      finished.in_time = true;
      break;
    }
    usleep(5000);
  }
  finished.seconds = seconds_since(begin);
  end_descendants();
  finished.exit = !finished.in_time ? -SIGKILL : WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  finished.out = contents(out);
  finished.err = contents(err);
  return finished;
}

}  // namespace hone::hostile
