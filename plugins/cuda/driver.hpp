#pragma once
// The NVIDIA driver, opened on first use, and RAII for what it hands out.

#include <memory>
#include <string>
#include <string_view>

#include "hone/error.hpp"
#include "plugins/cuda/driver_api.hpp"

namespace hone::cuda {

/// The driver, initialized. Errors, kUnavailable: no driver, one that is too old, or one that cannot be initialized. Thread-safe.
Result<const DriverApi*> driver();

/// "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered"
std::string status_text(const DriverApi& api, Status status);

/// A failure that ends the process's use of the device: every later call fails too.
bool is_sticky(Status status);

/// The Error of a failed call: kDevice if the failure is sticky, else `otherwise`.
Error driver_error(const DriverApi& api, Status status, std::string_view what, ErrorCode otherwise = ErrorCode::kDevice);

/// A device's primary context, retained; shared with CUDA's runtime library in the same process.
class PrimaryContext {
 public:
  static Result<std::shared_ptr<PrimaryContext>> retain(DeviceOrdinal device);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  [[nodiscard]] const DriverApi& api() const { return *api_; }
  [[nodiscard]] DeviceOrdinal device() const { return device_; }
  [[nodiscard]] ContextHandle handle() const { return handle_; }

 private:
  PrimaryContext(const DriverApi* api, DeviceOrdinal device, ContextHandle handle) : api_(api), device_(device), handle_(handle) {}
  const DriverApi* api_;
  DeviceOrdinal device_;
  ContextHandle handle_;
};

/// Makes a context current for a scope and restores the thread's own afterwards: an application's current device must not change.
class ContextScope {
 public:
  explicit ContextScope(const PrimaryContext& context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  [[nodiscard]] Status status() const { return status_; }

 private:
  const DriverApi& api_;
  Status status_;
};

/// Lets the thread allocate and load code in a scope while it or another one captures: in the mode that captures have by default, that
/// would fail and spoil them.
class BesideCaptures {
 public:
  explicit BesideCaptures(const DriverApi& api) : api_(api) { exchange(); }
  ~BesideCaptures() { exchange(); }
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  void exchange() {
    if (api_.thread_exchange_stream_capture_mode != nullptr) {
      api_.thread_exchange_stream_capture_mode(&mode_);
    }
  }

  const DriverApi& api_;
  int mode_ = 2;  ///< relaxed; then that of the thread
};

/// Code loaded from a cubin, usable in every context; unloaded on destruction.
class Library {
 public:
  static Result<std::shared_ptr<Library>> load(std::shared_ptr<PrimaryContext> context, const void* cubin);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] Result<KernelHandle> kernel(const std::string& symbol) const;
  /// A variable in the current context. Errors, kLaunch: there is none, or it has fewer bytes.
  [[nodiscard]] Result<Address> variable(const std::string& symbol, std::size_t bytes) const;

 private:
  Library(std::shared_ptr<PrimaryContext> context, LibraryHandle handle) : context_(std::move(context)), handle_(handle) {}
  std::shared_ptr<PrimaryContext> context_;
  LibraryHandle handle_;
};

}  // namespace hone::cuda
