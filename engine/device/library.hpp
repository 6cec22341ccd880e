#pragma once
// Functions of libraries that implement an operation: called, not compiled. A device's plugin brings them; the engine knows them by what is
// said here alone.

#include <string>
#include <string_view>
#include <vector>

#include "engine/kernel/kernel_problem.hpp"
#include "hone/configuration.hpp"
#include "hone/device_info.hpp"

namespace hone {

/// A library as it is on this machine.
struct LibraryVersion {
  std::string number;  ///< "13.1.0": a part of the key of its records
  std::string path;
};

/// What a library has for a problem.
struct LibrarySpace {
  std::vector<Configuration> configurations;
  std::size_t suggested = 0;  ///< so many of them, from the first, it suggests itself
};

/// One of a library's functions as an implementation of an operation. Its space holds the algorithms that the library has for a problem.
/// Stateless, and thread-safe.
class LibraryKernel {
 public:
  virtual ~LibraryKernel() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view operation() const = 0;
  [[nodiscard]] virtual std::string_view summary() const = 0;
  /// Opens the library. Errors, kUnavailable: it is not here, where it was looked for, and what to do.
  [[nodiscard]] virtual Result<LibraryVersion> version() const = 0;
  /// Fills in what tells it from `spec`, a copy of the operation's definition: dtypes, parameters with all values that any problem may
  /// need, constraints, workspaces. The default configuration is the library's own choice.
  virtual void describe(KernelSpec& spec) const = 0;
  /// What it has for a problem on a device, each once. Opens the device: for a worker. Errors: kUnavailable; the problem is none of the
  /// library's.
  [[nodiscard]] virtual Result<LibrarySpace> space(const DeviceInfo& info, const Problem& problem) const = 0;
};

/// The library's function as an implementation of its operation. Its records belong to this version of the library. Errors: as version();
/// nothing is built in for the operation.
Result<KernelSpec> library_spec(const LibraryKernel& library);

/// The same for one problem: its parameters have the values that occur there, KernelSpec::listed says in which combinations, and what the
/// library suggests is expected to win. As above where the problem is none of the library's.
Result<KernelSpec> library_spec_for(const LibraryKernel& library, const DeviceInfo& info, const Problem& problem);

}  // namespace hone
