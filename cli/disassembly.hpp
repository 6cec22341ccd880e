#pragma once
// The machine code of a configuration as text, and what two of them differ in.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hone/error.hpp"

namespace hone::cli {

/// SASS of a .cubin, by the CUDA toolkit's nvdisasm: in PATH, in $CUDA_HOME, $CUDA_PATH or /usr/local/cuda. Without addresses, so that
/// texts of two configurations can be compared line by line. Errors: kUnavailable, there is no nvdisasm; kIo, it failed (what it said).
Result<std::string> disassemble(const std::filesystem::path& cubin);

/// Instructions by their name with its modifiers ("LDG.E.128"); without those that only fill up.
std::map<std::string, std::int64_t, std::less<>> count_instructions(std::string_view sass);

/// How often an instruction is in the code of two configurations.
struct InstructionDifference {
  std::string name;
  std::int64_t here = 0, there = 0;
};
/// Those that differ in number, the largest difference first.
std::vector<InstructionDifference> instruction_differences(std::string_view here, std::string_view there);

}  // namespace hone::cli
