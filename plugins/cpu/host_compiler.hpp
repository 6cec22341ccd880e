#pragma once
// The C++ compiler of this machine.

#include <string>

#include "hone/error.hpp"

namespace hone::cpu {

struct HostCompiler {
  std::string path;
  std::string version;  ///< first line of `--version`
};

/// $HONE_CXX, else g++, c++ or clang++ in PATH. Error: kUnavailable with what to install.
Result<HostCompiler> find_host_compiler();

}  // namespace hone::cpu
