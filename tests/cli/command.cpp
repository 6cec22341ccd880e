#include "tests/cli/command.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

extern char** environ;

namespace hone::test {
namespace {

std::vector<std::string> merged(Environment extra) {
  extra.emplace("HONE_CONFIG", "");  // what a user has set is not for tests
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    if (extra.count(std::string(text.substr(0, text.find('=')))) == 0) {
      variables.emplace_back(text);
    }
  }
  for (const auto& [name, value] : extra) {
    variables.push_back(fmt::format("{}={}", name, value));
  }
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) {
    result.push_back(text.data());
  }
  result.push_back(nullptr);
  return result;
}

constexpr const char* kHone = HONE_BINARY_DIR "/bin/hone";

/// Of a process that may be killed: with coverage it would leave its counts, and with them those of all others, half written.
const Environment kUncounted{{"GCOV_PREFIX", "/dev/null"}};

/// With times that are taken in a fraction of the usual one, which no test depends on.
Arguments in_short(Arguments arguments) {
  const bool takes_times =
      !arguments.empty() && (arguments.front() == "tune" || arguments.front() == "verify" || arguments.front() == "bench");
  if (takes_times && std::ranges::find(arguments, "--timing-seconds") == arguments.end()) {
    arguments.insert(arguments.end(), {"--timing-seconds", "0.02"});
  }
  return arguments;
}

pid_t start(const std::string& program, const Arguments& arguments, const Environment& extra, const std::string& out,
            const std::string& err) {
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = merged(extra);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t pid = -1;
  const int status = posix_spawn(&pid, words.front().c_str(), &actions, nullptr, pointers(words).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  REQUIRE_MESSAGE(status == 0, "cannot start ", words.front());
  return pid;
}

}  // namespace

nlohmann::json Ended::json() const {
  const auto parsed = nlohmann::json::parse(out, nullptr, false);
  REQUIRE_MESSAGE(parsed.is_object(), "not a JSON object: '", out, "'; stderr: ", err);
  return parsed;
}

namespace {

Ended run_program(const std::string& program, const Arguments& arguments, const Environment& extra) {
  const TemporaryDirectory directory;
  const pid_t pid = start(program, arguments, extra, directory / "out", directory / "err");
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), contents(directory / "out"), contents(directory / "err")};
}

}  // namespace

Ended run(const Arguments& arguments, const Environment& extra) { return run_program(kHone, in_short(arguments), extra); }

Ended run_shell(const std::string& script, const Environment& extra) {
  Environment all = extra;
  all["HONE"] = kHone;
  return run_program("/bin/sh", {"-c", script}, all);
}

Running::Running(const Arguments& arguments, const std::string& out, const std::string& err, const Environment& extra) {
  Environment all = extra;
  all.insert(kUncounted.begin(), kUncounted.end());
  pid_ = start(kHone, in_short(arguments), all, out, err);
}

Running::~Running() { kill_and_reap(); }

bool Running::alive() {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) {
    pid_ = -1;
  }
  return pid_ > 0;
}

int Running::interrupt() { return signalled({SIGINT}); }

int Running::signalled(const std::vector<int>& signals) {
  int status = 0;
  REQUIRE(pid_ > 0);
  for (const int signal : signals) {
    kill(pid_, signal);
  }
  REQUIRE(waitpid(pid_, &status, 0) == pid_);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void Running::kill_and_reap() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
}

TemporaryDirectory::TemporaryDirectory() {
  std::string path = (std::filesystem::temp_directory_path() / "hone-test-XXXXXX").string();
  REQUIRE(mkdtemp(path.data()) != nullptr);
  path_ = path;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string contents(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

void write(const std::filesystem::path& file, std::string_view text) { std::ofstream(file, std::ios::binary) << text; }

}  // namespace hone::test
