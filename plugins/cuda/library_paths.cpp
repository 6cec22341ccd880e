#include "plugins/cuda/library_paths.hpp"

#include <algorithm>
#include <cstdlib>

#include "engine/base/own_folder.hpp"

namespace hone::cuda {
namespace fs = std::filesystem;
namespace {

void add_if_there(std::vector<std::string>& candidates, const fs::path& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored)) {
    candidates.push_back(path.string());
  }
}

}  // namespace

std::string environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

std::vector<fs::path> folders(const fs::path& parent, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (fs::directory_iterator entry(parent, ignored), end; entry != end; entry.increment(ignored)) {
    if (entry->path().filename().string().starts_with(prefix) && entry->is_directory(ignored)) {
      found.push_back(entry->path());
    }
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  return found;
}

std::vector<fs::path> site_packages() {
  std::vector<fs::path> prefixes;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string prefix = environment(variable); !prefix.empty()) {
      prefixes.push_back(fs::path(prefix) / "lib");
    }
  }
  if (const std::string home = environment("HOME"); !home.empty()) {
    prefixes.push_back(fs::path(home) / ".local/lib");
  }
  prefixes.emplace_back("/usr/local/lib");
  prefixes.emplace_back("/usr/lib");
  std::vector<fs::path> sites;
  if (const fs::path own = own_site_packages(); !own.empty()) {
    sites.push_back(own);
  }
  for (const fs::path& prefix : prefixes) {
    for (const fs::path& python : folders(prefix, "python3")) {
      sites.push_back(python / "site-packages");
      sites.push_back(python / "dist-packages");
    }
  }
  return sites;
}

std::vector<std::string> library_candidates(const LibraryNames& library) {
  if (const std::string named = environment(library.variable); !named.empty()) {
    return {named};  // no silent second choice behind an explicit one
  }
  std::vector<std::string> candidates(library.names.begin(), library.names.end());
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string toolkit = environment(variable); !toolkit.empty()) {
      add_if_there(candidates, fs::path(toolkit) / "lib64" / library.names.back());
    }
  }
  for (const fs::path& toolkit : folders("/usr/local", "cuda")) {
    for (const char* name : library.names) {
      add_if_there(candidates, toolkit / "lib64" / name);
    }
  }
  for (const fs::path& site : site_packages()) {
    for (const char* wheel : library.wheels) {
      add_if_there(candidates, site / wheel);
    }
  }
  return candidates;
}

}  // namespace hone::cuda
