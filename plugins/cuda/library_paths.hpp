#pragma once
// Where NVIDIA's libraries are: on the loader's path, in toolkits, in the wheels of Python installations.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hone::cuda {

/// The variable's value, empty if it is not set.
std::string environment(const char* variable);

/// Folders of `parent` whose names begin with `prefix`, newest version first by name.
std::vector<std::filesystem::path> folders(const std::filesystem::path& parent, std::string_view prefix);

/// Where pip puts wheels: the site-packages of Python installations.
std::vector<std::filesystem::path> site_packages();

struct LibraryNames {
  const char* variable = nullptr;   ///< names the library's path; then nothing else is looked at
  std::vector<const char*> names;   ///< of the shared object, first choice first; the last without a version
  std::vector<const char*> wheels;  ///< paths below site-packages
};

/// Where a library may be, in order.
std::vector<std::string> library_candidates(const LibraryNames& library);

}  // namespace hone::cuda
