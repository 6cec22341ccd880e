#pragma once
// A kernel file before it is read.

#include <filesystem>

#include "hone/error.hpp"

namespace hone {

/// Whether there is a file that can hold a kernel: a regular one of a bounded size. Errors: kNotFound, kInvalidArgument, kIo.
Result<void> check_kernel_file(const std::filesystem::path& file);

}  // namespace hone
