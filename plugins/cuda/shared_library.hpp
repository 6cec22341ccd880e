#pragma once
// A shared object opened at run time. It stays open until the process ends: its code may be needed by static destructors.

#include <dlfcn.h>

#include <string>
#include <vector>

namespace hone::cuda {

class SharedLibrary {
 public:
  /// The first of `candidates` that opens; `opened()` is false if none does.
  explicit SharedLibrary(const std::vector<std::string>& candidates) {
    for (const std::string& candidate : candidates) {
      handle_ = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) {
        name_ = candidate;
        return;
      }
      if (const char* text = dlerror(); text != nullptr && reason_.empty()) {
        reason_ = text;
      }
    }
  }

  [[nodiscard]] bool opened() const { return handle_ != nullptr; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }    ///< why the first candidate did not open
  [[nodiscard]] const std::string& missing() const { return missing_; }  ///< the first symbol that bind() did not find

  /// Sets `function` to the symbol's address.
  template <class Function>
  void bind(Function*& function, const char* symbol) {
    function = reinterpret_cast<Function*>(dlsym(handle_, symbol));
    if (function == nullptr && missing_.empty()) {
      missing_ = symbol;
    }
  }
  /// The same of what one can do without: null where it is not there.
  template <class Function>
  void bind_if_there(Function*& function, const char* symbol) {
    function = reinterpret_cast<Function*>(dlsym(handle_, symbol));
  }

 private:
  void* handle_ = nullptr;
  std::string name_, reason_, missing_;
};

}  // namespace hone::cuda
