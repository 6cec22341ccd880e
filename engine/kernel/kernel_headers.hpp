#pragma once
// The headers a kernel file may include, embedded in the library: an installed Hone compiles kernels without any file of its own.

#include <span>
#include <string_view>

namespace hone {

/// A header by the name it is included as ("hone/kernel.h") and its text.
struct KernelHeader {
  std::string_view name, text;
};

/// kernel.h, kernel_narrow.h, kernel_hopper.h, kernel_read.h, kernel_cpu.h and random.h.
std::span<const KernelHeader> kernel_headers();

/// The text of one of them; empty if there is no header of that name.
std::string_view kernel_header(std::string_view name);

}  // namespace hone
