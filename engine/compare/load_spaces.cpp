// Which files are recorded spaces, and which of them the same.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "engine/base/parallel.hpp"
#include "engine/compare/compare.hpp"

namespace hone {
namespace {

namespace fs = std::filesystem;

struct Candidate {
  fs::path file;
  bool named = false;  ///< by the caller, not found in a folder
};

constexpr std::string_view kTwin = ".T4";

std::string without_twin(std::string name) {
  if (const std::size_t at = name.find(kTwin); at != std::string::npos) {
    name.erase(at, kTwin.size());
  }
  return name;
}

Result<std::vector<Candidate>> candidates(const std::vector<fs::path>& paths) {
  std::vector<Candidate> found;
  for (const fs::path& path : paths) {
    std::error_code failed;
    if (!fs::is_directory(path, failed)) {
      found.push_back({path, true});
      continue;
    }
    std::vector<fs::path> inside;
    for (auto entry = fs::recursive_directory_iterator(path, failed); !failed && entry != fs::recursive_directory_iterator();
         entry.increment(failed)) {
      const std::string name = entry->path().filename().string();
      std::error_code unreadable;
      if (!entry->is_directory(unreadable) && (name.ends_with(".json") || name.ends_with(".json.gz"))) {
        inside.push_back(entry->path());
      }
    }
    if (failed) {
      return Error{ErrorCode::kIo, fmt::format("folder '{}' cannot be read: {}", path.string(), failed.message())};
    }
    // A cache before its T4 twin: it says more.
    std::ranges::sort(inside, {}, [](const fs::path& file) {
      const std::string name = file.filename().string();
      return std::tuple(without_twin(name), name != without_twin(name), std::distance(file.begin(), file.end()), file);
    });
    for (const fs::path& file : inside) {
      found.push_back({file, false});
    }
  }
  return found;
}

std::set<std::string> parameter_names(const RecordedSpace& recorded) {
  std::set<std::string> names;
  for (const Parameter& parameter : recorded.space().parameters()) {
    names.insert(parameter.name);
  }
  return names;
}

/// What lies in another folder is another problem or device, whatever its name, unless it is a copy.
bool same(const RecordedSpace& a, const fs::path& of_a, const RecordedSpace& b, const fs::path& of_b) {
  if (a.digest() == b.digest()) {
    return true;
  }
  if (of_a.parent_path() != of_b.parent_path()) {
    return false;
  }
  const std::string_view unknown = "unknown device";
  const bool devices = a.device_name() == b.device_name() || a.device_name() == unknown || b.device_name() == unknown;
  return devices && without_twin(a.name()) == without_twin(b.name()) && a.space().size() == b.space().size() &&
         parameter_names(a) == parameter_names(b);
}

}  // namespace

Result<RecordedSpaces> load_recorded_spaces(const std::vector<fs::path>& paths) {
  HONE_ASSIGN(const std::vector<Candidate> files, candidates(paths));
  std::vector<std::optional<Result<RecordedSpace>>> loaded(files.size());
  parallel_for(0, files.size(), [&](std::size_t i) { loaded[i] = RecordedSpace::load(files[i].file); });
  RecordedSpaces result;
  std::vector<fs::path> sources;  // of each space
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!*loaded[i]) {
      if (files[i].named) {
        return loaded[i]->error();
      }
      result.notes.push_back("skipped: " + loaded[i]->error().message);
      continue;
    }
    RecordedSpace space = std::move(*loaded[i]).value();
    std::size_t twin = 0;
    while (twin < sources.size() && !same(*result.spaces[twin], sources[twin], space, files[i].file)) {
      ++twin;
    }
    if (twin < sources.size()) {
      result.notes.push_back(fmt::format("skipped: '{}' is the same space as {}", files[i].file.string(), result.spaces[twin]->name()));
      continue;
    }
    if (std::ranges::any_of(result.spaces, [&](const auto& other) { return other->name() == space.name(); })) {
      space.rename((files[i].file.parent_path().filename() / space.name()).string());
    }
    result.spaces.push_back(std::make_shared<const RecordedSpace>(std::move(space)));
    sources.push_back(files[i].file);
  }
  if (result.spaces.empty()) {
    std::string where;
    for (const fs::path& path : paths) {
      where += fmt::format("{}'{}'", where.empty() ? "" : ", ", path.string());
    }
    return Error{ErrorCode::kNotFound,
                 fmt::format("no recorded space in {}: give a folder with *.json.gz or *.json files in the format of Kernel Tuner's "
                             "cache or T4",
                             where.empty() ? "no path given" : where)};
  }
  return result;
}

}  // namespace hone
