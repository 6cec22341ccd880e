#pragma once
// Runs the built hone as a user does.

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace hone::test {

using Arguments = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

struct Ended {
  int exit = -1;  ///< the exit code; minus the signal's number if one killed it
  std::string out, err;
  /// Standard output as one JSON object; a doctest failure where it is none.
  [[nodiscard]] nlohmann::json json() const;
};

/// hone with these arguments; `extra` is added to the environment. `tune`, `verify` and `bench` time each configuration only briefly,
/// unless
/// --timing-seconds says how long.
Ended run(const Arguments& arguments, const Environment& extra = {});

/// A script for the shell, in which $HONE is the command.
Ended run_shell(const std::string& script, const Environment& extra = {});

/// hone running beside the test; killed and reaped on destruction.
class Running {
 public:
  /// `out`, `err`: files for what it prints; `extra` is added to the environment.
  explicit Running(const Arguments& arguments, const std::string& out = "/dev/null", const std::string& err = "/dev/null",
                   const Environment& extra = {});
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  [[nodiscard]] bool alive();
  void kill_and_reap();
  /// Ctrl-C; the exit code, or minus the number of the signal that ended it.
  int interrupt();
  /// These signals, one right after the other; as interrupt().
  int signalled(const std::vector<int>& signals);

 private:
  pid_t pid_ = -1;
};

/// A directory of the test's own, removed with all that is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] std::string operator/(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// Everything in the file; empty if there is none.
std::string contents(const std::filesystem::path& file);
void write(const std::filesystem::path& file, std::string_view text);

}  // namespace hone::test
