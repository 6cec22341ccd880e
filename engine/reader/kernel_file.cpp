#include "engine/reader/kernel_file.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace hone {

Result<void> check_kernel_file(const std::filesystem::path& file) {
  constexpr std::uintmax_t kMostBytes = std::uintmax_t{4} << 20;
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::status(file, failed);
  if (!std::filesystem::exists(status)) {
    return Error{ErrorCode::kNotFound, fmt::format("no kernel file at {}", file.string())};
  }
  if (!std::filesystem::is_regular_file(status)) {  // a device or a pipe would be read for ever
    return Error{ErrorCode::kInvalidArgument, fmt::format("{} is not a kernel file: it is {}", file.string(),
                                                          std::filesystem::is_directory(status) ? "a directory" : "a device or a pipe")};
  }
  const std::uintmax_t size = std::filesystem::file_size(file, failed);
  if (failed || size > kMostBytes) {
    return Error{ErrorCode::kInvalidArgument,
                 failed ? fmt::format("the kernel file {} cannot be read: {}", file.string(), failed.message())
                        : fmt::format("{} has {} MiB; a kernel file has at most {}", file.string(), size >> 20U, kMostBytes >> 20U)};
  }
  return {};
}

}  // namespace hone
