#pragma once
// Libraries among the kernels of an operation: they serve where a session of the operation chose them, or people did, and are opened only
// then.

#include <map>
#include <mutex>
#include <vector>

#include "engine/device/library.hpp"
#include "engine/store/operation_lookup.hpp"

namespace hone {

/// The library functions of a device. Thread-safe.
class Libraries {
 public:
  explicit Libraries(std::vector<const LibraryKernel*> kernels) : kernels_(std::move(kernels)) {}

  [[nodiscard]] const std::vector<const LibraryKernel*>& kernels() const { return kernels_; }
  /// One of them as a kernel, which stays where it is. Errors: it is not here.
  Result<const KernelSpec*> spec(const LibraryKernel& kernel);

 private:
  std::vector<const LibraryKernel*> kernels_;
  std::mutex mutex_;
  std::map<const LibraryKernel*, Result<KernelSpec>> specs_;
};

/// As choose() of the operation, and of those of `libraries` that sessions of it chose for any problem, or that have a pinned record of
/// this one. Where one was chosen for this very problem that is not here (or not in that version), the next best kernel serves, and
/// Choice::why says so.
Result<OperationChoice> choose(const Operation& operation, const Problem& problem, const DeviceInfo& device, Store* store,
                               Libraries& libraries, const Lookup& lookup = {});

}  // namespace hone
