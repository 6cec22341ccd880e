#include "plugins/cuda/cupti.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "plugins/cuda/library_paths.hpp"
#include "plugins/cuda/shared_library.hpp"

namespace hone::cuda {
namespace {

namespace fs = std::filesystem;

Result<Cupti> open_cupti() {
  SharedLibrary library(cupti_candidates());
  if (!library.opened()) {
    return Error{ErrorCode::kUnavailable,
                 fmt::format("no CUPTI, which reads the counters: {}. Install the CUDA toolkit or `pip install nvidia-cuda-cupti`, or set "
                             "HONE_CUPTI to the path of libcupti.so",
                             library.reason())};
  }
  Cupti opened;
  opened.path = library.name();
  CuptiApi& api = opened.api;
  library.bind(api.get_version, "cuptiGetVersion");
  library.bind(api.get_result_string, "cuptiGetResultString");
  library.bind(api.initialize, "cuptiProfilerInitialize");
  library.bind(api.device_supported, "cuptiProfilerDeviceSupported");
  library.bind(api.chip_name, "cuptiDeviceGetChipName");
  library.bind(api.availability, "cuptiProfilerGetCounterAvailability");
  library.bind(api.host_initialize, "cuptiProfilerHostInitialize");
  library.bind(api.host_deinitialize, "cuptiProfilerHostDeinitialize");
  library.bind(api.base_metrics, "cuptiProfilerHostGetBaseMetrics");
  library.bind(api.add_metrics, "cuptiProfilerHostConfigAddMetrics");
  library.bind(api.config_size, "cuptiProfilerHostGetConfigImageSize");
  library.bind(api.config, "cuptiProfilerHostGetConfigImage");
  library.bind(api.passes, "cuptiProfilerHostGetNumOfPasses");
  library.bind(api.evaluate, "cuptiProfilerHostEvaluateToGpuValues");
  library.bind(api.enable, "cuptiRangeProfilerEnable");
  library.bind(api.disable, "cuptiRangeProfilerDisable");
  library.bind(api.start, "cuptiRangeProfilerStart");
  library.bind(api.stop, "cuptiRangeProfilerStop");
  library.bind(api.decode, "cuptiRangeProfilerDecodeData");
  library.bind(api.data_size, "cuptiRangeProfilerGetCounterDataSize");
  library.bind(api.data_initialize, "cuptiRangeProfilerCounterDataImageInitialize");
  library.bind(api.set_config, "cuptiRangeProfilerSetConfig");
  library.bind(api.data_info, "cuptiRangeProfilerGetCounterDataInfo");
  if (!library.missing().empty()) {
    return Error{ErrorCode::kUnavailable, fmt::format("the CUPTI at {} lacks {}; Hone needs that of CUDA 12.6 or later, HONE_CUPTI names "
                                                      "another",
                                                      opened.path, library.missing())};
  }
  std::uint32_t version = 0;  // 130000 for CUDA 13.0; before CUDA 13 a number of its own
  api.get_version(&version);
  opened.version = version >= 100000 ? fmt::format("{}.{}", version / 10000, version % 10000 / 100) : std::to_string(version);
  return opened;
}

/// What to do about it; empty if nobody knows.
std::string_view advice(CuptiStatus status) {
  using namespace cupti_status;
  switch (status) {
    case kInsufficientPrivileges:
    case kVirtualizedInsufficientPrivileges:
      return "the driver lets administrators alone read counters (ERR_NVGPUCTRPERM). Run as root, in a container with --cap-add=SYS_ADMIN, "
             "or "
             "have the nvidia module loaded with NVreg_RestrictProfilingToAdminUsers=0 "
             "(https://developer.nvidia.com/ERR_NVGPUCTRPERM)";
    case kHardwareBusy:
    case kMultipleSubscribers:
      return "another profiler has the counters: end it (ncu, nsys), or pause it (dcgmi profile --pause)";
    case kNotInitialized:
      return "libnvperf_host.so and libnvperf_target.so, which come with it, must be in the same folder";
    case kInvalidChip:
      return "this GPU is younger than this CUPTI: HONE_CUPTI names another";
    case kInvalidDevice:
    case kNotCompatible:
    case kNotSupported:
    case kVirtualizedNotSupported:
    case kConfidentialComputing:
    case kMigNotSupported:
      return "this GPU's counters cannot be read here: a virtual GPU, a MIG slice, confidential computing, WSL or a sandbox may keep them "
             "back; another machine may have them";
    default:
      return "";
  }
}

}  // namespace

std::vector<std::string> cupti_candidates() {
  const LibraryNames names{.variable = "HONE_CUPTI",
                           .names = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"},
                           .wheels = {"nvidia/cu13/lib/libcupti.so.13", "nvidia/cuda_cupti/lib/libcupti.so.12"}};
  std::vector<std::string> candidates = library_candidates(names);
  if (!environment(names.variable).empty()) {
    return candidates;
  }
  std::vector<fs::path> toolkits = folders("/usr/local", "cuda");
  for (const char* variable : {"CUDA_PATH", "CUDA_HOME"}) {
    if (const std::string toolkit = environment(variable); !toolkit.empty()) {
      toolkits.insert(toolkits.begin(), toolkit);
    }
  }
  for (const fs::path& toolkit : toolkits) {
    std::error_code ignored;
    if (const fs::path path = toolkit / "extras/CUPTI/lib64/libcupti.so"; fs::exists(path, ignored)) {
      candidates.push_back(path.string());
    }
  }
  return candidates;
}

Result<const Cupti*> cupti() {
  static const Result<Cupti> opened = open_cupti();
  if (!opened) {
    return opened.error();
  }
  return &opened.value();
}

Error cupti_error(const Cupti& library, CuptiStatus status, std::string_view call) {
  const char* text = nullptr;
  const bool known = library.api.get_result_string(status, &text) == cupti_status::kSuccess && text != nullptr;
  const std::string_view todo = advice(status);
  return {ErrorCode::kUnavailable,
          fmt::format("CUPTI {}: {}: {} ({}){}{}", library.version, call, known ? text : "error", status, todo.empty() ? "" : ": ", todo)};
}

}  // namespace hone::cuda
