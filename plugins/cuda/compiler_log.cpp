#include "plugins/cuda/compiler_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace hone::cuda {
namespace {

constexpr std::size_t kLongestError = 2000;  // a template backtrace can run to pages

std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The number in front of `unit`: number_before("Used 32 registers, ...", " registers") is 32.
std::int64_t number_before(std::string_view line, std::string_view unit) {
  const std::size_t end = line.find(unit);
  if (end == std::string_view::npos) {
    return 0;
  }
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') {
    --begin;
  }
  std::int64_t number = 0;
  std::from_chars(line.data() + begin, line.data() + end, number);
  return number;
}

std::optional<std::string> entry_function(std::string_view line) {
  constexpr std::string_view kMark = "Compiling entry function '";
  const std::size_t at = line.find(kMark);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  line.remove_prefix(at + kMark.size());
  return std::string(line.substr(0, line.find('\'')));
}

void read_usage(std::string_view line, Resources& resources) {
  if (contains(line, "bytes stack frame")) {
    resources.stack_bytes = std::max(resources.stack_bytes, number_before(line, " bytes stack frame"));
    resources.spill_bytes += number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
  }
  if (contains(line, "Used ") && contains(line, " registers")) {
    resources.registers = number_before(line, " registers");
    resources.shared_bytes = number_before(line, " bytes smem");
    resources.stack_bytes = std::max(resources.stack_bytes, number_before(line, " bytes cumulative stack size"));
  }
}

bool starts_error(std::string_view line) {
  return contains(line, ": error") || contains(line, "error:") || contains(line, "catastrophic error") || line.starts_with("ptxas error") ||
         line.starts_with("ptxas fatal");
}

bool starts_other(std::string_view line) {
  return contains(line, "): warning") || contains(line, "): remark") || line.starts_with("Remark:") || line.starts_with("ptxas") ||
         contains(line, "detected in the compilation of");
}

}  // namespace

std::map<std::string, Resources, std::less<>> parse_resources(std::string_view log) {
  std::map<std::string, Resources, std::less<>> found;
  Resources* current = nullptr;
  while (!log.empty()) {
    const std::string_view line = next_line(log);
    if (const std::optional<std::string> entry = entry_function(line)) {
      current = &found[*entry];
    } else if (current != nullptr) {
      read_usage(line, *current);
    }
  }
  return found;
}

std::string first_errors(std::string_view log, int limit) {
  std::string kept;
  int errors = 0;
  bool keeping = false;
  while (!log.empty()) {
    const std::string_view line = next_line(log);
    if (starts_error(line)) {
      keeping = ++errors <= limit;
    } else if (starts_other(line)) {
      keeping = false;
    }
    if (keeping && !line.empty() && kept.size() < kLongestError) {
      kept += fmt::format("{}{}", kept.empty() ? "" : "\n", line);
    }
  }
  if (errors > limit) {
    kept += fmt::format("\n({} more errors)", errors - limit);
  }
  return kept;
}

}  // namespace hone::cuda
