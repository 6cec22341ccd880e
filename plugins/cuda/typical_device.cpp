// One product for each architecture, for compiling where there is no GPU. Limits of a block and a multiprocessor are those of the compute
// capability (CUDA C++ Programming Guide, technical specifications per compute capability); sizes are those of the product (its data
// sheet).

#include <array>
#include <cstdint>

#include "engine/base/names.hpp"
#include "plugins/cuda/device_info.hpp"
#include "plugins/cuda/nvrtc.hpp"

namespace hone::cuda {
namespace {

struct Typical {
  const char *architecture, *product;
  int compute_capability, multiprocessors, threads_per_multiprocessor;
  std::int64_t shared_kib_per_block, shared_kib_per_multiprocessor, l2_mib, memory_gib;
};

constexpr std::array kTypical{
    Typical{"sm_80", "NVIDIA A100-SXM4-80GB", 80, 108, 2048, 163, 164, 40, 80},
    Typical{"sm_86", "NVIDIA A10", 86, 72, 1536, 99, 100, 6, 24},
    Typical{"sm_89", "NVIDIA L40S", 89, 142, 1536, 99, 100, 96, 48},
    Typical{"sm_90a", "NVIDIA H200", 90, 132, 2048, 227, 228, 60, 141},
    Typical{"sm_100a", "NVIDIA B200", 100, 148, 2048, 227, 228, 126, 180},
    Typical{"sm_120a", "NVIDIA GeForce RTX 5090", 120, 170, 1536, 99, 100, 96, 32},
};

}  // namespace

Result<DeviceInfo> typical_device(std::string_view architecture) {
  constexpr std::int64_t kKiB = 1 << 10, kMiB = 1 << 20, kGiB = 1 << 30;
  std::vector<std::string> known;
  for (const Typical& typical : kTypical) {
    if (typical.architecture != architecture) {
      known.emplace_back(typical.architecture);
      continue;
    }
    DeviceInfo info;
    info.id = typical.architecture;
    info.plugin = "cuda";
    info.product = typical.product;
    info.architecture = typical.architecture;
    info.properties = {{"compute_capability", typical.compute_capability},
                       {"l2_bytes", typical.l2_mib * kMiB},
                       {"memory", typical.memory_gib * kGiB},
                       {"multiprocessors", typical.multiprocessors},
                       {"registers_per_multiprocessor", 64 * kKiB},
                       {"shared_memory_per_block", typical.shared_kib_per_block * kKiB},
                       {"shared_memory_per_multiprocessor", typical.shared_kib_per_multiprocessor * kKiB},
                       {"threads_per_block", 1024},
                       {"threads_per_multiprocessor", typical.threads_per_multiprocessor},
                       {"warp_size", 32}};
    if (const Result<const Nvrtc*> compiler = nvrtc()) {
      info.environment["compiler"] = "NVRTC " + (*compiler)->version_text();
    }
    return info;
  }
  return Error{ErrorCode::kNotFound, unknown_name("architecture", architecture, known)};
}

}  // namespace hone::cuda
