#pragma once
// Calls through a device's table, and owners of the handles it returns.

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "engine/plugin/guarded.hpp"
#include "hone/dtype.hpp"
#include "hone/plugin.h"

namespace hone::plugin_host {

static_assert(static_cast<int>(DType::kF32) == HONE_F32 && static_cast<int>(DType::kBF16) == HONE_BF16 &&
              static_cast<int>(DType::kI32) == HONE_I32 && static_cast<int>(DType::kI8) == HONE_I8 &&
              static_cast<int>(DType::kBool) == HONE_BOOL && static_cast<int>(DType::kU4x2) == HONE_U4X2);

inline Error device_error(const hone_device& table, std::string_view function, ErrorCode code, std::string_view what) {
  return Error{code, fmt::format("device {}: {}: {}", table.name, function, what)};
}

/// `code` is used for failures after which the device still works.
template <class Call>
Result<void> call(const hone_device& table, std::string_view function, ErrorCode code, const Call& made) {
  if (const std::optional<Failure> failure = guarded(made)) {
    return device_error(table, function, failure->status == HONE_LOST ? ErrorCode::kDevice : code, failure->message);
  }
  return {};
}

/// A handle created by a function of the table.
template <class Call>
Result<void*> make(const hone_device& table, std::string_view function, ErrorCode code, const Call& made) {
  void* handle = nullptr;
  HONE_TRY(call(table, function, code, [&](hone_message* message) { return made(&handle, message); }));
  if (handle == nullptr) {
    return device_error(table, function, ErrorCode::kPlugin, "it succeeded but returned null");
  }
  return handle;
}

/// An open device. Every object created from it keeps it open.
class OpenDevice {
 public:
  OpenDevice(const hone_device& table, void* handle) : table_(table), handle_(handle) {}
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;
  ~OpenDevice() {
    guarded_end([this] { table_.close(handle_); });
  }

  [[nodiscard]] const hone_device& table() const { return table_; }
  [[nodiscard]] void* handle() const { return handle_; }

 private:
  const hone_device table_;
  void* handle_;
};

}  // namespace hone::plugin_host
