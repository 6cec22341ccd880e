#pragma once
// What hone export writes beside the code, for people to read: PTX, machine code, and what another configuration's differs in.

#include <filesystem>
#include <string>

#include "cli/options.hpp"
#include "engine/runtime/launch_plan.hpp"

namespace hone::cli {

/// --ptx, --sass, --against.
void add_listing_options(cxxopts::Options& options);
/// Errors: such an option for a device without PTX.
Result<void> check_listings(const cxxopts::ParseResult& arguments, const DeviceInfo& device);

struct Exported {
  const Subject* subject = nullptr;
  const Target* target = nullptr;
  const LaunchPlan* plan = nullptr;
  Store* store = nullptr;  ///< compiled code of the other configuration; may be null
};

/// Writes what is asked for beside `code`, the cubin that was written, and adds the paths to `json`; text for people. Errors: the
/// configuration of --against is none; those of disassemble(); a file that cannot be written.
Result<std::string> write_listings(const cxxopts::ParseResult& arguments, const Exported& exported, const std::filesystem::path& code,
                                   Json& json);

}  // namespace hone::cli
