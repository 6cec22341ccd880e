#include "plugins/cpu/host_compiler.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "plugins/cpu/process.hpp"

namespace hone::cpu {
namespace {

/// The program's path, empty if there is none.
std::string find_program(std::string_view program) {
  if (program.find('/') != std::string_view::npos) {
    const std::string path(program);
    return access(path.c_str(), X_OK) == 0 ? path : "";
  }
  const char* variable = std::getenv("PATH");
  std::string_view directories = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  while (!directories.empty()) {
    const std::string_view directory = directories.substr(0, directories.find(':'));
    directories.remove_prefix(std::min(directories.size(), directory.size() + 1));
    const std::string path = fmt::format("{}/{}", directory.empty() ? "." : directory, program);
    if (access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return "";
}

Result<HostCompiler> describe(const std::string& path) {
  HONE_ASSIGN(const ProcessResult run, run_process({path, "--version"}));
  if (!run.succeeded) {
    return Error{ErrorCode::kUnavailable, fmt::format("{} --version failed: {}", path, run.output)};
  }
  return HostCompiler{path, run.output.substr(0, run.output.find('\n'))};
}

}  // namespace

Result<HostCompiler> find_host_compiler() {
  if (const char* chosen = std::getenv("HONE_CXX"); chosen != nullptr && *chosen != '\0') {
    const std::string path = find_program(chosen);
    if (path.empty()) {
      return Error{ErrorCode::kUnavailable,
                   fmt::format("HONE_CXX names '{}', which is not a program on this machine; correct or unset it", chosen)};
    }
    return describe(path);
  }
  for (const std::string_view program : {"g++", "c++", "clang++"}) {
    if (const std::string path = find_program(program); !path.empty()) {
      return describe(path);
    }
  }
  return Error{ErrorCode::kUnavailable,
               "the cpu device compiles kernels with the host's C++ compiler, but no g++, c++ or clang++ is in PATH; install one (apt-get "
               "install g++) or name one in HONE_CXX"};
}

}  // namespace hone::cpu
