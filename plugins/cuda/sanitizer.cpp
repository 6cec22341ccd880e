#include "plugins/cuda/sanitizer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace hone::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProgram = "compute-sanitizer";
constexpr std::string_view kLines = " with -lineinfo";
constexpr const char* kVariable = "HONE_COMPUTE_SANITIZER";  // the tool's name, in a worker's environment
// Between two allocations: who reads past the end of one must not land in the next.
constexpr int kPaddingBytes = 4096;

/// Folders that may hold it, in the order they are tried.
std::vector<fs::path> places() {
  std::vector<fs::path> folders;
  const char* variable = std::getenv("PATH");
  for (std::string_view left = variable == nullptr ? "" : variable; !left.empty();) {
    const std::string_view folder = left.substr(0, left.find(':'));
    left.remove_prefix(std::min(left.size(), folder.size() + 1));
    folders.emplace_back(folder);
  }
  for (const char* root :
       {static_cast<const char*>(std::getenv("CUDA_HOME")), static_cast<const char*>(std::getenv("CUDA_PATH")), "/usr/local/cuda"}) {
    if (root != nullptr) {
      folders.push_back(fs::path(root) / "bin");
      folders.push_back(fs::path(root) / "compute-sanitizer");
    }
  }
  return folders;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(" \r") - first + 1);
}

/// The next line of the log without "=========", and whether it was indented: such lines explain the one before.
struct Line {
  std::string_view text;
  bool indented = false;
};
Line take_line(std::string_view& log) {
  constexpr std::string_view kMark = "=========";
  std::string_view line = log.substr(0, log.find('\n'));
  log.remove_prefix(std::min(log.size(), line.size() + 1));
  line = line.starts_with(kMark) ? line.substr(kMark.size()) : line;
  return {trimmed(line), line.starts_with("  ")};
}

bool is_report(std::string_view line) {
  constexpr std::array<std::string_view, 9> kBeginnings{"Invalid",       "Uninitialized", "Barrier error", "Error: Race", "Warning: Race",
                                                        "Race reported", "Misaligned",    "Out-of-range",  "Address"};
  return std::ranges::any_of(kBeginnings, [&](std::string_view beginning) { return line.starts_with(beginning); });
}

/// "softmax.cu:12" of "at softmax(...)+0x120 in /tmp/softmax.cu:12"; empty if the line names no source.
std::string place_in(std::string_view line) {
  const std::size_t at = line.rfind(" in ");
  const std::string_view file = at == std::string_view::npos ? "" : line.substr(at + 4);
  return file.find(':') == std::string_view::npos ? "" : std::string(file.substr(file.rfind('/') + 1));
}

}  // namespace

std::vector<std::string> compute_sanitizer_tools() { return {"memcheck", "racecheck", "synccheck", "initcheck"}; }

Result<Sanitizer> compute_sanitizer(const DeviceInfo& info, std::string_view tool, const fs::path& log) {
  const std::vector<std::string> known = compute_sanitizer_tools();
  if (std::ranges::find(known, tool) == known.end()) {
    return Error{ErrorCode::kNotFound, fmt::format("compute-sanitizer has no tool '{}'", tool)};
  }
  for (const fs::path& folder : places()) {
    const fs::path program = folder / kProgram;
    if (::access(program.c_str(), X_OK) != 0) {
      continue;
    }
    Sanitizer sanitizer;
    sanitizer.name = tool;
    sanitizer.device = info;
    sanitizer.device.environment["compiler"] += kLines;
    sanitizer.command = {program.string(), "--tool", std::string(tool), "--log-file", log.string() + ".%p", "--launch-timeout", "120"};
    if (tool == "memcheck") {
      sanitizer.command.insert(sanitizer.command.end(), {"--padding", std::to_string(kPaddingBytes), "--report-api-errors", "no"});
    }
    sanitizer.environment = {{kVariable, std::string(tool)}};
    return sanitizer;
  }
  return Error{ErrorCode::kUnavailable,
               "compute-sanitizer is neither in PATH nor in $CUDA_HOME or /usr/local/cuda; it comes with the CUDA toolkit"};
}

std::string read_finding(std::string_view log) {
  while (!log.empty()) {
    const Line line = take_line(log);
    if (line.indented || !is_report(line.text)) {
      continue;
    }
    std::string finding = fmt::format("{}: {}", kProgram, line.text);
    for (std::string_view rest = log; !rest.empty();) {
      const Line detail = take_line(rest);
      if (!detail.indented) {
        break;
      }
      if (const std::string place = place_in(detail.text); !place.empty()) {
        return fmt::format("{}, {}", finding, place);
      }
    }
    return finding;
  }
  return "";
}

bool has_lines(const DeviceInfo& info) {
  const auto compiler = info.environment.find("compiler");
  return compiler != info.environment.end() && compiler->second.ends_with(kLines);
}

bool under_memcheck() {
  const char* tool = std::getenv(kVariable);
  return tool != nullptr && std::string_view(tool) == "memcheck";
}

}  // namespace hone::cuda
