#include <fmt/format.h>
#include <sqlite3.h>

#include "cli/options.hpp"
#include "cli/present.hpp"
#include "cli/registry.hpp"
#include "cli/verbs.hpp"
#include "engine/device/library.hpp"
#include "engine/store/store_server.hpp"
#include "engine/tune/session.hpp"
#include "engine/worker/worker.hpp"
#include "hone/version.h"

namespace hone::cli {
namespace {

/// One part of the machine: found or missing, and what a missing one costs.
struct Finding {
  std::string part;
  bool found = false;
  std::string what, cost;
};

Finding finding(std::string part, const Result<std::string>& result, std::string cost) {
  return {std::move(part), result.ok(), result ? *result : result.error().message, std::move(cost)};
}

Result<std::string> device_names(std::string_view plugin_name) {
  for (const auto& plugin : registry().devices()) {
    if (plugin->name() == plugin_name) {
      HONE_ASSIGN(const auto infos, plugin->enumerate());
      std::string names;
      for (const DeviceInfo& info : infos) {
        names += fmt::format("{}{}: {} ({})", names.empty() ? "" : ", ", info.id, info.product, info.architecture);
      }
      return names;
    }
  }
  return Error{ErrorCode::kUnavailable, "not built in"};
}

/// A plugin's own report of its compiler.
Result<std::string> compiler_of(std::string_view plugin_name) {
  for (const auto& plugin : registry().devices()) {
    if (plugin->name() == plugin_name) {
      return plugin->compiler_version();
    }
  }
  return Error{ErrorCode::kUnavailable, "not built in"};
}

Result<std::string> libclang() {
  HONE_ASSIGN(const LibclangInfo info, find_libclang());
  return fmt::format("{} ({})", info.version, info.path);
}

Result<std::string> worker() {
  HONE_ASSIGN(const std::filesystem::path path, find_worker());
  return path.string();
}

Result<std::string> store(const std::filesystem::path& path) {
  if (!may_have_store(path)) {
    return fmt::format("{} (made by the first hone tune)", path.string());
  }
  Result<std::unique_ptr<Store>> found = open_store(path, StoreMode::kReadOnly);
  if (!found && found.error().code == ErrorCode::kNotFound) {
    return fmt::format("{} (made by the first hone tune)", store_name(path));
  }
  HONE_ASSIGN(const auto opened, std::move(found));
  HONE_ASSIGN(const auto sessions, opened->sessions());
  HONE_TRY(check_store_writable(path));
  return fmt::format("{} ({} sessions)", store_name(path), sessions.size());
}

/// Libraries that implement operations.
void examine_libraries(std::vector<Finding>& findings) {
  for (const auto& plugin : registry().devices()) {
    for (const LibraryKernel* const library : plugin->libraries()) {
      const Result<LibraryVersion> version = library->version();
      findings.push_back(
          finding(std::string(library->name()),
                  version ? Result<std::string>(fmt::format("{} ({})", version->number, version->path)) : version.error(),
                  fmt::format("{} is tuned without it; where a store says it won, the next best kernel serves", library->operation())));
    }
  }
}

/// What a plugin brought: its devices, else why there are none, and its compiler.
void examine_plugged_devices(std::vector<Finding>& findings) {
  for (const auto& plugin : registry().devices()) {
    if (!plugin->file().empty()) {
      findings.push_back(finding(fmt::format("{} device", plugin->name()), device_names(plugin->name()), "nothing runs on it"));
      findings.push_back(finding(fmt::format("{} compiler", plugin->name()), compiler_of(plugin->name()), "nothing new compiles for it"));
    }
  }
}

std::vector<Finding> examine(const cxxopts::ParseResult& arguments) {
  std::vector<Finding> findings{
      finding("GPU", device_names("cuda"), "kernels cannot run on a GPU here; compiling for one works if NVRTC is found"),
      finding("NVRTC", compiler_of("cuda"), "no candidate can be compiled for a GPU; kernels whose cubin is in the store still launch"),
      finding("cpu device", device_names("cpu"), "nothing can be tuned or tested without a GPU"),
      finding("host compiler", compiler_of("cpu"), "the cpu device cannot compile kernels"),
      finding("libclang", libclang(), "your own kernel files cannot be read; built-in kernels do not need it"),
      finding("worker", worker(), "no trial can run"),
      finding("SQLite", fmt::format("{}", sqlite3_libversion()), ""),
      finding("store", store(store_path(arguments)), "results cannot be read or stored"),
  };
  examine_libraries(findings);
  examine_plugged_devices(findings);
  return findings;
}

}  // namespace

int doctor(int argc, char** argv) {
  cxxopts::Options options("hone doctor", "Reports what was found on this machine, what is missing, and what that costs.");
  add_store_option(options);
  add_plugin_option(options);
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    HONE_TRY(load_plugins(arguments));
    Output output{.json = {{"version", HONE_VERSION}, {"findings", Json::array()}}, .text = ""};
    std::vector<std::vector<std::string>> rows;
    for (const Finding& entry : examine(arguments)) {
      output.json["findings"].push_back(
          {{"part", entry.part}, {"found", entry.found}, {"what", entry.what}, {"cost", entry.found ? "" : entry.cost}});
      rows.push_back({entry.found ? "ok" : "--", entry.part, entry.what});
      if (!entry.found) {
        rows.push_back({"", "", "so: " + entry.cost});
      }
    }
    output.text = table(rows);
    return output;
  });
}

}  // namespace hone::cli
