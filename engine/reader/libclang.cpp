#include "engine/reader/libclang.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "engine/base/own_folder.hpp"
#include "engine/kernel/kernel_spec.hpp"

namespace hone::kernel {
namespace {

namespace fs = std::filesystem;

constexpr int kNewest = 22, kOldest = 17;
constexpr std::string_view kAdvice =
    "install libclang (apt install libclang1-19 on Debian 12 and Ubuntu 24.04, or pip install libclang), or set HONE_LIBCLANG to its path";

/// A Python wheel keeps its library at PREFIX/lib/pythonX.Y/{site,dist}-packages/clang/native/libclang.so.
void add_wheels(const fs::path& prefix, std::vector<std::string>& candidates) {
  std::error_code ignored;
  for (const auto& python : fs::directory_iterator(prefix / "lib", ignored)) {
    if (!python.path().filename().string().starts_with("python")) {
      continue;
    }
    for (const char* packages : {"site-packages", "dist-packages"}) {
      const auto library = python.path() / packages / "clang/native/libclang.so";
      if (fs::exists(library, ignored)) {
        candidates.push_back(library.string());
      }
    }
  }
}

std::vector<std::string> candidates() {
  std::vector<std::string> result;
  for (int version = kNewest; version >= kOldest; --version) {
    result.push_back(fmt::format("libclang-{}.so.1", version));
    result.push_back(fmt::format("libclang-{}.so.{}", version, version));
    result.push_back(fmt::format("libclang-{}.so", version));
    result.push_back(fmt::format("/usr/lib/llvm-{}/lib/libclang.so.1", version));
    result.push_back(fmt::format("/usr/lib/llvm-{}/lib/libclang.so", version));
  }
  for (int version = kNewest; version >= kOldest; --version) {
    result.push_back(fmt::format("libclang.so.{}", version));
    result.push_back(fmt::format("libclang.so.{}.1", version));
  }
  result.emplace_back("libclang.so");
  result.emplace_back("libclang.so.1");
  if (const fs::path own = own_site_packages(); !own.empty()) {
    result.push_back((own / "clang/native/libclang.so").string());
  }
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const char* prefix = std::getenv(variable)) {
      add_wheels(prefix, result);
      result.push_back(fmt::format("{}/lib/libclang.so", prefix));
    }
  }
  if (const char* home = std::getenv("HOME")) {
    add_wheels(fs::path(home) / ".local", result);
  }
  add_wheels("/usr/local", result);
  add_wheels("/usr", result);
  add_wheels("/usr/lib/python3", result);
  return result;
}

/// Name and number of "Debian clang version 19.1.7 (...)".
std::string short_version(const std::string& text) {
  const auto at = text.find("version ");
  if (at == std::string::npos) {
    return text;
  }
  const auto begin = at + 8;
  return text.substr(begin, text.find_first_of(" (", begin) - begin);
}

std::string path_of(void* symbol, const std::string& fallback) {
  Dl_info info{};
  return dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : fallback;
}

/// Opens one candidate. `why` says what is wrong with a library that is there but cannot be used.
bool open(const std::string& candidate, Libclang& library, std::string& why) {
  void* handle = dlopen(candidate.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    why = dlerror();
    return false;
  }
  const char* missing = nullptr;
#define HONE_LOAD(name)                                                                   \
  library.name = reinterpret_cast<decltype(library.name)>(dlsym(handle, "clang_" #name)); \
  if (library.name == nullptr && missing == nullptr) {                                    \
    missing = "clang_" #name;                                                             \
  }
  HONE_LIBCLANG_FUNCTIONS(HONE_LOAD)
#undef HONE_LOAD
  if (missing != nullptr) {
    why = fmt::format("{} lacks {}: it is older than version {}", candidate, missing, kOldest);
    dlclose(handle);
    return false;
  }
  library.path = path_of(reinterpret_cast<void*>(library.createIndex), candidate);
  library.version = short_version(library.take(library.getClangVersion()));
  return true;
}

Result<Libclang> find() {
  Libclang library;
  std::string why;
  if (const char* chosen = std::getenv("HONE_LIBCLANG"); chosen != nullptr && *chosen != '\0') {
    if (open(chosen, library, why)) {
      return library;
    }
    return Error{ErrorCode::kUnavailable, fmt::format("HONE_LIBCLANG is {}, which is not usable: {}; {}", chosen, why, kAdvice)};
  }
  std::string too_old;
  for (const auto& candidate : candidates()) {
    if (open(candidate, library, why)) {
      return library;
    }
    if (too_old.empty() && why.find("lacks") != std::string::npos) {
      too_old = fmt::format(" ({})", why);
    }
  }
  return Error{ErrorCode::kUnavailable, fmt::format("no libclang of version {} or later was found{}: {}", kOldest, too_old, kAdvice)};
}

}  // namespace

std::string Libclang::take(CXString string) const {
  const char* text = getCString(string);
  std::string result = text == nullptr ? "" : text;
  disposeString(string);
  return result;
}

const Result<Libclang>& libclang() {
  static const Result<Libclang> library = find();
  return library;
}

}  // namespace hone::kernel

namespace hone {

Result<LibclangInfo> find_libclang() {
  const auto& library = kernel::libclang();
  if (!library) {
    return library.error();
  }
  return LibclangInfo{library->path, library->version};
}

}  // namespace hone
