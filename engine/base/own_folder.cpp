#include "engine/base/own_folder.hpp"

#include <dlfcn.h>

namespace hone {

namespace fs = std::filesystem;

fs::path own_folder() {
  Dl_info info{};
  std::error_code failed;
  static const char kOwn = 0;
  // Of a program the name is what it was called by, which is no path where PATH led to it.
  if (::dladdr(&kOwn, &info) != 0 && info.dli_fname != nullptr && fs::path(info.dli_fname).is_absolute()) {
    if (const auto file = fs::canonical(info.dli_fname, failed); !failed) {
      return file.parent_path();
    }
  }
  return {};
}

fs::path own_site_packages() {
  std::error_code failed;
  fs::path folder = own_folder();
  if (folder.empty()) {
    folder = fs::read_symlink("/proc/self/exe", failed).parent_path();
  }
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    if (folder.filename() == "site-packages" || folder.filename() == "dist-packages") {
      return folder;
    }
  }
  return {};
}

}  // namespace hone
