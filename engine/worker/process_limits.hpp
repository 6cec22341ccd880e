#pragma once
// What a compiler, a reader or a strategy may take of the host: what explodes costs itself.

#include <cstddef>

namespace hone {

constexpr std::size_t kCompilerMemory = std::size_t{4} << 30;  // NVRTC takes a few hundred MiB, a host compiler on a large template two GiB
constexpr std::size_t kPluginMemory = std::size_t{4} << 30;    // a strategy's model of a search
constexpr std::size_t kReaderMemory = std::size_t{1} << 30;    // libclang takes about 200 MiB

/// What counts as memory: all addresses, or only what can be written. The runtime of a GPU reserves hundreds of GiB of addresses without
/// using them, so a plugin's process is held to the second.
enum class CountedMemory { kAddresses, kWritable };

/// Limits this process and each of its children to so much memory (less on a small host) and to files of some hundred MiB. What is beyond
/// the limit of a file is an error of its writer, not a signal. Under a sanitizer, whose shadow counts as memory, only files are limited.
void limit_this_process(std::size_t memory, CountedMemory counted = CountedMemory::kAddresses);

}  // namespace hone
