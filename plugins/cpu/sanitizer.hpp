#pragma once
// The host compiler's sanitizers: what a kernel is compiled with for them, what a worker needs to run it, and what their reports say.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device.hpp"
#include "plugins/cpu/host_compiler.hpp"

namespace hone::cpu {

inline constexpr std::string_view kSanitizerName = "address,undefined";

/// The compiler's version as it stands in a device's environment, and so in the key of compiled code: sanitized code is other code.
std::string compiler_identity(const HostCompiler& host, bool sanitized);
/// Whether code for this device is sanitized.
bool is_sanitized(const DeviceInfo& info);
/// Whether HONE_CPU_SANITIZE=1 asks for it.
bool sanitize_requested();

/// Errors: kUnavailable, a compiler without the sanitizers' runtime.
Result<Sanitizer> host_sanitizer(const HostCompiler& host, const DeviceInfo& info, const std::filesystem::path& log);
/// "AddressSanitizer: heap-buffer-overflow, READ of size 4, softmax.cu:12 in softmax<float>"; empty if the log holds no report.
std::string read_finding(std::string_view log);

/// Whether AddressSanitizer's runtime is in this process.
bool address_sanitizer_present();
/// Nothing may touch these bytes until they are unpoisoned; no-ops without AddressSanitizer.
void poison(const void* address, std::size_t bytes);
void unpoison(const void* address, std::size_t bytes);

}  // namespace hone::cpu
