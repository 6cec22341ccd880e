#pragma once
// Compiles configurations of a kernel with NVRTC: several in one program, so that the front end reads the file once.

#include <string>

#include "engine/device/device.hpp"
#include "plugins/cuda/nvrtc.hpp"

namespace hone::cuda {

class CudaCompiler final : public Compiler {
 public:
  /// `architecture` is DeviceInfo::architecture, "sm_90a".
  /// `lines`: the code tells which line of the source each instruction is of.
  CudaCompiler(const Nvrtc& nvrtc, std::string architecture, bool lines = false)
      : nvrtc_(nvrtc), architecture_(std::move(architecture)), lines_(lines) {}

  std::vector<Result<Compiled>> compile(const CompileRequest& request) override;

 private:
  const Nvrtc& nvrtc_;
  std::string architecture_;
  bool lines_;
};

/// Options that every compilation of this architecture gets.
std::vector<std::string> base_options(const Nvrtc& nvrtc, std::string_view architecture);

/// Hone's own headers: <hone/kernel.h>, <hone/random.h>.
std::vector<std::pair<std::string, std::string>> own_headers();

}  // namespace hone::cuda
