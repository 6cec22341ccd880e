#include "plugins/cpu/module.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace hone::cpu {
namespace {

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written < 0 ? 0 : written));
  }
  return true;
}

/// The dynamic linker ends the process when a sanitized object arrives in one without the sanitizer's runtime, so this is asked before.
Result<void> check_sanitizer(const Artifact& artifact) {
  const std::string_view text(reinterpret_cast<const char*>(artifact.bytes.data()), artifact.bytes.size());
  if (text.find("__asan_init") != std::string_view::npos && dlsym(RTLD_DEFAULT, "__asan_init") == nullptr) {
    return Error{ErrorCode::kUnavailable,
                 "the kernel was compiled with HONE_CPU_SANITIZE=1, and this process lacks the sanitizer's runtime; start hone with "
                 "LD_PRELOAD=$(g++ -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0, or unset HONE_CPU_SANITIZE"};
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const Module>> Module::load(const Artifact& artifact) {
  HONE_TRY(check_sanitizer(artifact));
  const std::shared_ptr<Module> module(new Module);
  // The file stays open as long as the module: the dynamic linker knows objects by name, and a number used again would be the old object.
  module->file_ = memfd_create("hone-kernel", MFD_CLOEXEC);
  if (module->file_ < 0 || !write_all(module->file_, artifact.bytes)) {
    return Error{ErrorCode::kDevice,
                 fmt::format("cannot hold a compiled kernel of {} bytes in memory: {}", artifact.bytes.size(), std::strerror(errno))};
  }
  module->handle_ = dlopen(fmt::format("/proc/self/fd/{}", module->file_).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module->handle_ == nullptr) {
    return Error{ErrorCode::kLaunch, fmt::format("a compiled kernel cannot be loaded: {}", dlerror())};
  }
  module->bind_ = reinterpret_cast<HoneCpuBind>(module->find("hone_cpu_bind"));
  if (module->bind_ == nullptr) {
    return Error{ErrorCode::kLaunch, "an artifact is not a kernel of the cpu device: it lacks hone_cpu_bind; tune again to replace it"};
  }
  return std::shared_ptr<const Module>(module);
}

Module::~Module() {
  if (handle_ != nullptr) {
    dlclose(handle_);
  }
  if (file_ >= 0) {
    close(file_);
  }
}

void* Module::find(const std::string& symbol) const { return dlsym(handle_, symbol.c_str()); }

}  // namespace hone::cpu
