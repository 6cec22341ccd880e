#pragma once
// A device of sm_90a as far as lookups, spaces and launch plans ask, where there is none.

#include <string>

#include "hone/device_info.hpp"

namespace hone::test {

inline DeviceInfo hopper(const std::string& product) {
  return {.id = "cuda:0",
          .plugin = "cuda",
          .product = product,
          .uuid = {},
          .architecture = "sm_90a",
          .mig_profile = {},
          .properties = {{"compute_capability", 90},
                         {"l2_bytes", 52428800},
                         {"memory", 151'000'000'000},
                         {"multiprocessors", 132},
                         {"registers_per_multiprocessor", 65536},
                         {"shared_memory_per_block", 232448},
                         {"shared_memory_per_multiprocessor", 233472},
                         {"threads_per_block", 1024},
                         {"threads_per_multiprocessor", 2048},
                         {"warp_size", 32}},
          .environment = {}};
}

}  // namespace hone::test
