#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "engine/base/own_folder.hpp"
#include "engine/worker/worker.hpp"

namespace hone {
namespace {

bool is_executable(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
}

/// Beside it, where an installed one is from bin, lib and lib/<architecture>, and where a Python package has it.
void add_places(const std::filesystem::path& folder, std::vector<std::filesystem::path>& places) {
  if (folder.empty()) {
    return;
  }
  const std::filesystem::path installed = std::filesystem::path("libexec") / "hone" / "hone-worker", above = folder.parent_path();
  for (const auto& place : {folder / "hone-worker", above / "bin" / "hone-worker", above / installed, above.parent_path() / installed,
                            folder / "bin" / "hone-worker"}) {
    places.push_back(place);
  }
}

/// A command that was installed somewhere else, of which people have the folder in their PATH.
void add_command(std::vector<std::filesystem::path>& places) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    if (!std::filesystem::path(folder).is_absolute()) {
      continue;  // what lies in the folder at hand is nobody\'s command
    }
    std::error_code failed;
    if (const auto command = std::filesystem::canonical(std::filesystem::path(folder) / "hone", failed);
        !failed && is_executable(command)) {
      add_places(command.parent_path(), places);
    }
  }
}

}  // namespace

Result<std::filesystem::path> find_worker() {
  if (const char* const given = std::getenv("HONE_WORKER"); given != nullptr && *given != '\0') {
    if (is_executable(given)) {
      return std::filesystem::path(given);
    }
    return Error{ErrorCode::kUnavailable, fmt::format("HONE_WORKER is {}, which is no program: set it to hone-worker, or unset it", given)};
  }
  std::vector<std::filesystem::path> places;
  std::error_code ignored;
  add_places(own_folder(), places);
  add_places(std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path(), places);
  places.emplace_back(HONE_WORKER_INSTALLED);
  add_command(places);
  std::vector<std::string> tried;
  for (const std::filesystem::path& place : places) {
    if (is_executable(place)) {
      return place;
    }
    if (std::find(tried.begin(), tried.end(), place.string()) == tried.end()) {
      tried.push_back(place.string());
    }
  }
  return Error{ErrorCode::kUnavailable,
               fmt::format("no hone-worker, the program that runs trials; set HONE_WORKER to it (tried: {})", fmt::join(tried, ", "))};
}

}  // namespace hone
