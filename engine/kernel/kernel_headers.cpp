#include "engine/kernel/kernel_headers.hpp"

#include <algorithm>
#include <array>

namespace hone {
namespace embedded {
// NOLINTBEGIN(readability-identifier-naming): as the build names them
extern const std::string_view kernel_h, kernel_narrow_h, kernel_hopper_h, kernel_read_h, kernel_cpu_h, kernel_numbers_h, standard_h,
    random_h;
// NOLINTEND(readability-identifier-naming)
}  // namespace embedded

std::span<const KernelHeader> kernel_headers() {
  static const std::array<KernelHeader, 8> headers{{
      {"hone/kernel.h", embedded::kernel_h},
      {"hone/kernel_narrow.h", embedded::kernel_narrow_h},
      {"hone/kernel_hopper.h", embedded::kernel_hopper_h},
      {"hone/kernel_read.h", embedded::kernel_read_h},
      {"hone/kernel_cpu.h", embedded::kernel_cpu_h},
      {"hone/kernel_numbers.h", embedded::kernel_numbers_h},
      {"hone/standard.h", embedded::standard_h},
      {"hone/random.h", embedded::random_h},
  }};
  return headers;
}

std::string_view kernel_header(std::string_view name) {
  const auto headers = kernel_headers();
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const KernelHeader& h) { return h.name == name; });
  return found == headers.end() ? std::string_view{} : found->text;
}

}  // namespace hone
