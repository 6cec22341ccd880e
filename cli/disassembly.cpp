#include "cli/disassembly.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>

extern char** environ;

namespace hone::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDisassembler = "nvdisasm";

std::optional<fs::path> find_disassembler() {
  std::vector<fs::path> folders;
  const char* const variable = std::getenv("PATH");
  for (std::string_view left = variable == nullptr ? "" : variable; !left.empty();) {
    const std::string_view folder = left.substr(0, left.find(':'));
    left.remove_prefix(std::min(left.size(), folder.size() + 1));
    folders.emplace_back(folder);
  }
  for (const char* const root :
       {static_cast<const char*>(std::getenv("CUDA_HOME")), static_cast<const char*>(std::getenv("CUDA_PATH")), "/usr/local/cuda"}) {
    if (root != nullptr) {
      folders.push_back(fs::path(root) / "bin");
    }
  }
  for (const fs::path& folder : folders) {
    if (const fs::path program = folder / kDisassembler; ::access(program.c_str(), X_OK) == 0) {
      return program;
    }
  }
  return std::nullopt;
}

/// What a program prints on both of its outputs, and how it ended.
struct Printed {
  std::string text;
  bool ok = false;
};

Result<Printed> run_program(const fs::path& program, std::vector<std::string> arguments) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Error{ErrorCode::kIo, fmt::format("no pipe to {}: {}", program.string(), std::strerror(errno))};
  }
  std::string name = program.string();
  std::vector<char*> words{name.data()};
  std::ranges::transform(arguments, std::back_inserter(words), [](std::string& one) { return one.data(); });
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t child = -1;
  const int failed = ::posix_spawn(&child, name.c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  Printed printed;
  char piece[1 << 14];
  for (ssize_t had = 1; failed == 0 && had != 0;) {
    had = ::read(ends[0], piece, sizeof(piece));
    if (had < 0 && errno != EINTR) {
      break;
    }
    printed.text.append(piece, static_cast<std::size_t>(std::max<ssize_t>(had, 0)));
  }
  ::close(ends[0]);
  if (failed != 0) {
    return Error{ErrorCode::kIo, fmt::format("{} cannot be started: {}", name, std::strerror(failed))};
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  printed.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return printed;
}

std::string_view trimmed_left(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? "" : text.substr(first);
}

/// "        /*0010*/                   S2R R2, SR_TID.X ;": what is behind the address; nothing for other lines.
std::optional<std::string_view> instruction_of(std::string_view line) {
  line = trimmed_left(line);
  const std::size_t end = line.find("*/");
  const bool address = line.starts_with("/*") && end != std::string_view::npos && end > 2 &&
                       line.substr(2, end - 2).find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return address ? std::optional(trimmed_left(line.substr(end + 2))) : std::nullopt;
}

template <class Each>
void for_lines(std::string_view text, const Each& each) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    each(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string without_addresses(std::string_view sass) {
  std::string text;
  for_lines(sass, [&](std::string_view line) {
    const std::optional<std::string_view> instruction = instruction_of(line);
    text += instruction ? fmt::format("    {}\n", *instruction) : fmt::format("{}\n", line);
  });
  return text;
}

}  // namespace

Result<std::string> disassemble(const fs::path& cubin) {
  const std::optional<fs::path> program = find_disassembler();
  if (!program) {
    return Error{ErrorCode::kUnavailable,
                 "there is no nvdisasm in PATH, $CUDA_HOME/bin or /usr/local/cuda/bin: it comes with the CUDA toolkit, and alone with "
                 "pip install nvidia-cuda-nvdisasm"};
  }
  HONE_ASSIGN(const Printed printed, run_program(*program, {"-c", cubin.string()}));
  if (!printed.ok) {
    return Error{ErrorCode::kIo, fmt::format("{} failed on {}: {}", program->string(), cubin.string(), printed.text)};
  }
  return without_addresses(printed.text);
}

std::map<std::string, std::int64_t, std::less<>> count_instructions(std::string_view sass) {
  std::map<std::string, std::int64_t, std::less<>> counts;
  for_lines(sass, [&](std::string_view line) {
    if (!line.ends_with(';') && line.find(" ;") == std::string_view::npos) {
      return;  // a label or a directive
    }
    line = trimmed_left(line);
    if (line.starts_with('@')) {  // a predicate
      line = trimmed_left(line.substr(std::min(line.find(' '), line.size())));
    }
    const std::string_view name = line.substr(0, line.find_first_of(" ;"));
    if (!name.empty() && name != "NOP") {
      ++counts[std::string(name)];
    }
  });
  return counts;
}

std::vector<InstructionDifference> instruction_differences(std::string_view here, std::string_view there) {
  const auto left = count_instructions(here), right = count_instructions(there);
  std::set<std::string, std::less<>> names;
  for (const auto* const counts : {&left, &right}) {
    for (const auto& [name, count] : *counts) {
      names.insert(name);
    }
  }
  std::vector<InstructionDifference> differences;
  for (const std::string& name : names) {
    const auto count_in = [&](const auto& counts) { return counts.contains(name) ? counts.at(name) : std::int64_t{0}; };
    if (count_in(left) != count_in(right)) {
      differences.push_back({name, count_in(left), count_in(right)});
    }
  }
  std::ranges::stable_sort(differences, std::ranges::greater(), [](const auto& one) { return std::abs(one.here - one.there); });
  return differences;
}

}  // namespace hone::cli
