#include "cli/listings.hpp"

#include <fmt/format.h>

#include "cli/disassembly.hpp"
#include "cli/output.hpp"
#include "cli/present.hpp"
#include "cli/selection.hpp"
#include "engine/store/lookup.hpp"

namespace hone::cli {
namespace {

namespace fs = std::filesystem;

/// NAME.sass, beside NAME.cubin.
Result<std::string> write_disassembly(const fs::path& cubin, fs::path& file) {
  HONE_ASSIGN(std::string sass, disassemble(cubin));
  file = fs::path(cubin).replace_extension(".sass");
  HONE_TRY(write_file(file, std::string_view(sass)));
  return sass;
}

/// NAME.ptx, compiled anew: a store keeps none.
Result<fs::path> write_ptx(const Exported& exported, const fs::path& cubin) {
  const Target& target = *exported.target;
  HONE_ASSIGN(const auto compiler, target.device.plugin->compiler(target.device.info));
  auto compiled = compiler->compile({.spec = &exported.subject->spec,
                                     .dtype = target.problem.dtype,
                                     .configurations = {exported.plan->choice.configuration},
                                     .intermediate = true,
                                     .shape = target.problem.shape});
  HONE_TRY(compiled.front());
  fs::path file = fs::path(cubin).replace_extension(".ptx");
  HONE_TRY(write_file(file, std::string_view(compiled.front()->intermediate)));
  return file;
}

/// SASS of the configuration and, with --against, of another one, and what differs in number between them.
Result<std::string> write_sass(const cxxopts::ParseResult& arguments, const Exported& exported, const fs::path& code, Json& json) {
  const Subject& subject = *exported.subject;
  const Target& target = *exported.target;
  constexpr std::size_t kMostShown = 20;
  fs::path file;
  HONE_ASSIGN(const std::string sass, write_disassembly(code, file));
  json["sass"] = file.string();
  std::string text = file.string() + "\n";
  if (arguments.count("against") == 0) {
    return text;
  }
  const std::string wanted = without_blanks(arguments["against"].as<std::string>());
  Choice other;
  if (wanted == "default") {
    HONE_ASSIGN(other.configuration, default_for(subject.spec, target.problem, target.device.info));
  } else {
    HONE_ASSIGN(other.configuration, configuration_of(subject.spec, target, wanted));
  }
  HONE_ASSIGN(const LaunchPlan against, make_launch_plan(subject.spec, target.problem, std::move(other), target.device, exported.store));
  const fs::path other_code = fs::path(code).replace_extension(".against.cubin");
  HONE_TRY(write_file(other_code, std::span<const std::byte>(against.code.artifact->bytes)));
  HONE_ASSIGN(const std::string other_sass, write_disassembly(other_code, file));
  json["against"] = {{"file", file.string()},
                     {"config", cli::json(subject.spec.parameters, against.choice.configuration)},
                     {"instructions", Json::array()}};
  std::vector<std::vector<std::string>> rows{{"", "exported", "against"}};
  for (const InstructionDifference& one : instruction_differences(sass, other_sass)) {
    json["against"]["instructions"].push_back({{"name", one.name}, {"exported", one.here}, {"against", one.there}});
    if (rows.size() <= kMostShown) {
      rows.push_back({one.name, std::to_string(one.here), std::to_string(one.there)});
    }
  }
  const bool same = exported.plan->code.artifact->digest == against.code.artifact->digest;
  return text + file.string() + "\n" +
         (same               ? "the code is the same\n"
          : rows.size() == 1 ? "the same instructions in number\n"
                             : table(rows));
}

}  // namespace

void add_listing_options(cxxopts::Options& options) {
  options.add_options()("ptx", "also write the PTX, from which the machine code was made")(
      "sass", "also write the machine code as text (needs the CUDA toolkit's nvdisasm)")(
      "against", "also that of another configuration, 'default' or name=value,..., and in which instructions they differ",
      cxxopts::value<std::string>(), "CONFIG");
}

Result<void> check_listings(const cxxopts::ParseResult& arguments, const DeviceInfo& device) {
  if (arguments.count("ptx") + arguments.count("sass") + arguments.count("against") > 0 && device.plugin != "cuda") {
    return Error{ErrorCode::kInvalidArgument, fmt::format("--ptx, --sass and --against are for code of NVIDIA's GPUs, and this is for {}; "
                                                          "--arch sm_90a compiles for one that need not be here",
                                                          device.id)};
  }
  return {};
}

Result<std::string> write_listings(const cxxopts::ParseResult& arguments, const Exported& exported, const fs::path& code, Json& json) {
  std::string said;
  if (arguments.count("ptx") > 0) {
    HONE_ASSIGN(const fs::path ptx, write_ptx(exported, code));
    json["ptx"] = ptx.string();
    said = ptx.string() + "\n";
  }
  if (arguments.count("sass") + arguments.count("against") > 0) {
    HONE_ASSIGN(const std::string sass, write_sass(arguments, exported, code, json));
    said += sass;
  }
  return said;
}

}  // namespace hone::cli
