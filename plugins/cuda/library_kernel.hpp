#pragma once
// Libraries of CUDA whose functions implement operations: what stands in place of compiled code, and how that becomes something to launch.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/launch_device.hpp"
#include "engine/device/library.hpp"
#include "plugins/cuda/driver.hpp"

namespace hone::cuda {

/// A library that was started in a context.
class LibrarySession {
 public:
  virtual ~LibrarySession() = default;
  /// The algorithm that a configuration names ("tile=20,stages=15"), ready for a problem. Errors, kLaunch: the library has none that is
  /// like it, for this problem.
  virtual Result<std::unique_ptr<LoadedKernel>> load(const std::string& configuration, const PassLaunch& pass, const Problem& problem) = 0;
};

class CudaLibraryKernel : public LibraryKernel {
 public:
  virtual Result<std::shared_ptr<LibrarySession>> start(std::shared_ptr<PrimaryContext> context) const = 0;
};

/// One for each function of each library: a library more is a line here.
const std::vector<const CudaLibraryKernel*>& library_kernels();
/// As LaunchPlugin::libraries().
std::vector<const LibraryKernel*> libraries();

/// What the store keeps in place of code: KernelSpec::library. The symbol beside it is the configuration.
std::shared_ptr<const Artifact> library_artifact(std::string_view library);
struct LibraryCode {
  std::string library, version;
};
/// Nothing if the artifact is code.
std::optional<LibraryCode> library_code(const Artifact& artifact);

/// The library's kernel of an artifact. Errors, kUnavailable: the library is not here, or has another version.
Result<const CudaLibraryKernel*> find_library(const LibraryCode& code);

/// One entry for each configuration: the artifact and the configuration's text.
std::vector<Result<Compiled>> compile_library(const CompileRequest& request);

}  // namespace hone::cuda
