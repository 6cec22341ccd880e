#pragma once
// What a device is.

#include <cstdint>
#include <map>
#include <string>

namespace hone {

/// `product`, `architecture` and the visible resources are part of a record's key.
struct DeviceInfo {
  std::string id;            ///< "cuda:0", "cpu": what the user types
  std::string plugin;        ///< "cuda", "cpu", "replay"
  std::string product;       ///< "NVIDIA H200", "AMD EPYC 9B14"
  std::string uuid;          ///< of the physical device; empty if it has none
  std::string architecture;  ///< "sm_90a", "x86-64-v3"
  std::string mig_profile;   ///< empty without MIG
  std::string share = {};    ///< the part of the device (or of its slice) that this process may use; empty: all
  /// d.* of kernel files: shared_memory_per_block (opt-in limit, bytes), compute_capability (90), multiprocessors, memory, l2_bytes,
  /// registers_per_multiprocessor, threads_per_block, threads_per_multiprocessor, shared_memory_per_multiprocessor, warp_size. All are
  /// always present.
  std::map<std::string, std::int64_t, std::less<>> properties;
  /// If one of these changes, a record is stale: "driver", "compiler", "power_limit_w", ... . Not part of the key.
  std::map<std::string, std::string, std::less<>> environment;
  bool compile_overlaps = true;  ///< compiling on the host's cores does not disturb timing on this device
};

}  // namespace hone
