#pragma once
// NVRTC, opened on first use, and one compilation with it.

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hone/error.hpp"
#include "plugins/cuda/nvrtc_api.hpp"

namespace hone::cuda {

struct Nvrtc {
  NvrtcApi api{};
  std::string path;                   ///< of the shared object that was opened
  int version = 0;                    ///< 1300 for 13.0
  std::vector<std::string> includes;  ///< "-I..." of the toolkit's headers, if there are any

  [[nodiscard]] std::string version_text() const;  ///< "13.0"
};

/// The compiler of this process. Errors, kUnavailable: where it was looked for and how to get it. Thread-safe.
Result<const Nvrtc*> nvrtc();

/// Where `nvrtc()` looks, in order; $HONE_NVRTC comes first.
std::vector<std::string> nvrtc_candidates();

struct ProgramRequest {
  std::string name;  ///< the file that diagnostics speak of
  std::string source;
  std::vector<std::pair<std::string, std::string>> headers;  ///< (name as included, text)
  std::vector<std::string> options;
  std::vector<std::string> expressions;  ///< template instances to compile, each once
  bool ptx = false;                      ///< Program::ptx is wanted, too
};

struct Program {
  bool compiled = false;
  std::string log;
  std::vector<std::byte> cubin;
  std::string ptx;
  std::map<std::string, std::string> symbols;  ///< by expression
};

/// Compiles; a program that NVRTC rejects is not an Error but `compiled == false` and a log.
Result<Program> compile_program(const Nvrtc& nvrtc, const ProgramRequest& request);

}  // namespace hone::cuda
