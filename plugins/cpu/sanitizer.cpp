#include "plugins/cpu/sanitizer.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <system_error>

#include "plugins/cpu/process.hpp"

namespace hone::cpu {
namespace {

constexpr std::string_view kSuffix = " with -fsanitize=address,undefined";

using Region = void (*)(const volatile void* address, std::size_t bytes);

Region hook(const char* symbol) { return reinterpret_cast<Region>(dlsym(RTLD_DEFAULT, symbol)); }

/// The line of `log` that holds `what`, from it on.
std::string_view line_from(std::string_view log, std::string_view what) {
  const std::size_t at = log.find(what);
  return at == std::string_view::npos ? "" : log.substr(at, log.find('\n', at) - at);
}

std::string_view without_directories(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// "softmax.cu:12" of the first frame in a source that is none of Hone's own headers: `load` and `store` are not where the mistake is.
std::string place(std::string_view log) {
  for (std::size_t at = log.find(" in "); at != std::string_view::npos; at = log.find(" in ", at + 1)) {
    const std::string_view line = log.substr(at, log.find('\n', at) - at);
    const std::size_t space = line.rfind(' ');
    const std::string_view location = line.substr(space + 1);
    if (location.find(':') == std::string_view::npos || location.starts_with("(") ||
        location.find("hone/kernel") != std::string_view::npos || location.find("hone-configurations") != std::string_view::npos) {
      continue;
    }
    const std::string_view function = line.substr(4, space - 4);
    return fmt::format("{} in {}", without_directories(location), function.substr(0, function.find('(')));
  }
  return "";
}

}  // namespace

bool sanitize_requested() {
  const char* variable = std::getenv("HONE_CPU_SANITIZE");
  return variable != nullptr && std::string_view(variable) == "1";
}

std::string compiler_identity(const HostCompiler& host, bool sanitized) { return host.version + (sanitized ? std::string(kSuffix) : ""); }

bool is_sanitized(const DeviceInfo& info) {
  const auto compiler = info.environment.find("compiler");
  return compiler != info.environment.end() && compiler->second.ends_with(kSuffix);
}

Result<Sanitizer> host_sanitizer(const HostCompiler& host, const DeviceInfo& info, const std::filesystem::path& log) {
  HONE_ASSIGN(const ProcessResult asked, run_process({host.path, "-print-file-name=libasan.so"}));
  const std::filesystem::path runtime = asked.output.substr(0, asked.output.find('\n'));
  std::error_code failed;
  if (!asked.succeeded || !runtime.is_absolute() || !std::filesystem::exists(runtime, failed)) {
    return Error{
        ErrorCode::kUnavailable,
        fmt::format("{} has no AddressSanitizer as a shared library (libasan.so); the sanitizers need g++: install it, or name it in "
                    "HONE_CXX",
                    host.path)};
  }
  Sanitizer sanitizer;
  sanitizer.name = kSanitizerName;
  sanitizer.device = info;
  sanitizer.device.environment["compiler"] = compiler_identity(host, true);
  // Two configurations are two objects with the same names, and fibers leave frames behind that never return.
  sanitizer.environment = {
      {"LD_PRELOAD", runtime.string()},
      {"ASAN_OPTIONS",
       "detect_leaks=0:halt_on_error=1:detect_odr_violation=0:detect_stack_use_after_return=0:redzone=2048:"
       "max_redzone=2048:quarantine_size_mb=16:handle_abort=1:handle_sigill=1:handle_sigfpe=1"},
      {"UBSAN_OPTIONS", "print_stacktrace=0:halt_on_error=1"},
      {"HONE_WORKER_LOG", log.string() + ".text"}};  // the two runtimes share no log_path, but they share standard error
  return sanitizer;
}

std::string read_finding(std::string_view log) {
  constexpr std::string_view kUndefined = "runtime error: ";
  if (const std::size_t at = log.find(kUndefined); at != std::string_view::npos) {
    const std::size_t begin = log.rfind('\n', at) == std::string_view::npos ? 0 : log.rfind('\n', at) + 1;
    std::string_view where = log.substr(begin, at - begin);
    where = without_directories(where.substr(0, where.find_last_not_of(": ") + 1));
    const std::string_view what = line_from(log, kUndefined).substr(kUndefined.size());
    return fmt::format("UndefinedBehaviorSanitizer: {}, {}", what, where);
  }
  constexpr std::string_view kAddress = "ERROR: AddressSanitizer: ";
  const std::string_view error = line_from(log, kAddress);
  if (error.empty()) {
    return "";
  }
  const std::string_view kind = error.substr(kAddress.size(), error.find(' ', kAddress.size()) - kAddress.size());
  std::string finding = fmt::format("AddressSanitizer: {}", kind);
  for (const std::string_view access : {"READ of size ", "WRITE of size "}) {
    if (const std::string_view line = line_from(log, access); !line.empty()) {
      finding += fmt::format(", {}", line.substr(0, line.find(' ', access.size())));
    }
  }
  const std::string where = place(log);
  return where.empty() ? finding : fmt::format("{}, {}", finding, where);
}

bool address_sanitizer_present() {
  static const bool present = dlsym(RTLD_DEFAULT, "__asan_init") != nullptr;
  return present;
}

void poison(const void* address, std::size_t bytes) {
  static const Region found = hook("__asan_poison_memory_region");
  if (found != nullptr) {
    found(address, bytes);
  }
}

void unpoison(const void* address, std::size_t bytes) {
  static const Region found = hook("__asan_unpoison_memory_region");
  if (found != nullptr) {
    found(address, bytes);
  }
}

}  // namespace hone::cpu
