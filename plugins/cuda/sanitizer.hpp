#pragma once
// NVIDIA's compute-sanitizer: where it is, how a worker runs under it, and what it reports.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device.hpp"

namespace hone::cuda {

/// memcheck first: it sees reads and writes out of bounds.
std::vector<std::string> compute_sanitizer_tools();

/// Errors: kUnavailable, compute-sanitizer is nowhere here (the places are named); kNotFound, it has no such tool.
Result<Sanitizer> compute_sanitizer(const DeviceInfo& info, std::string_view tool, const std::filesystem::path& log);

/// "compute-sanitizer: Invalid __global__ read of size 4 bytes, softmax.cu:12"; empty if the log reports nothing.
std::string read_finding(std::string_view log);

/// Whether code for this device tells which line of the source each instruction is of.
bool has_lines(const DeviceInfo& info);

/// Whether this process runs under memcheck.
bool under_memcheck();

}  // namespace hone::cuda
