// Counters through CUPTI, against a stand-in that keeps to its order of calls: sham_cupti.c. Structs against NVIDIA's headers where they
// are.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <stdlib.h>

#include "../skip.hpp"
#include "plugins/cuda/launch_profiler.hpp"
#include "plugins/cuda/metrics.hpp"

#if __has_include(<cupti_range_profiler.h>)
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#define HONE_HAS_CUPTI_HEADERS 1
#endif

namespace {

using namespace hone;
using cuda::LaunchProfiler;
using cuda::Metric;

// Before the library is opened, for the whole process.
const bool kCountsBySham = setenv("HONE_CUPTI", HONE_SHAM_CUPTI_FILE, 1) == 0;

using ShamKernel = void (*)();
ShamKernel sham_kernel() {
  REQUIRE(kCountsBySham);
  void* const library = dlopen(HONE_SHAM_CUPTI_FILE, RTLD_NOW);
  REQUIRE(library != nullptr);
  return reinterpret_cast<ShamKernel>(dlsym(library, "sham_cupti_kernel"));
}

/// A launch of so many kernels, counted.
struct ShamLaunch {
  int kernels = 1, prepared = 0, launched = 0;
  Result<void> ends = {};
  [[nodiscard]] Result<Counters> count() {
    const ShamKernel kernel = sham_kernel();
    auto profiler = LaunchProfiler::open({});
    if (!profiler) {
      return profiler.error();
    }
    return (*profiler)->count({.prepare = [this, kernel]() -> Result<void> {
                                 ++prepared;
                                 kernel();  // is not counted
                                 return {};
                               },
                               .launch = [this, kernel]() -> Result<void> {
                                 ++launched;
                                 for (int i = 0; i < kernels; ++i) {
                                   kernel();
                                 }
                                 return ends;
                               }});
  }
};

}  // namespace

TEST_CASE("a launch is repeated until CUPTI has what it needs, each time prepared anew") {
  ShamLaunch launch;
  const auto counters = launch.count();
  REQUIRE_MESSAGE(counters.ok(), counters.error().message);
  CHECK(counters->launches == 3);
  CHECK(launch.prepared == 3);
  CHECK(launch.launched == 3);
  CHECK(counters->source == "CUPTI 13.1, SH100");
  CHECK(counters->find("time_us") == 3.0);
  CHECK(counters->find("dram_read_bytes") == 4096.0);  // under the name that this chip has for it
  CHECK(counters->find("dram_share") == 0.2);
  CHECK(counters->find("l2_hit_rate") == 0.75);
  CHECK(counters->find("stall_barrier") == 0.25);
  CHECK_FALSE(counters->find("tensor_pipe").has_value());  // the chip has none
  CHECK_FALSE(counters->find("l2_share").has_value());     // listed, and refused
}

TEST_CASE("the kernels of a launch are added up, and shares weighed by their times") {
  ShamLaunch launch{.kernels = 2};
  const auto counters = launch.count();
  REQUIRE_MESSAGE(counters.ok(), counters.error().message);
  CHECK(counters->find("time_us") == 4.0);
  CHECK(counters->find("dram_read_bytes") == 8192.0);
  CHECK(counters->find("dram_share") == doctest::Approx((3.0 * 0.2 + 0.6) / 4.0));
  CHECK(counters->find("l2_hit_rate") == 0.75);
  CHECK_FALSE(counters->find("occupancy").has_value());  // not a number in one of them
}

TEST_CASE("a machine that refuses is quoted, with what to do") {
  setenv("HONE_SHAM_CUPTI", "35", 1);
  const Error refused = ShamLaunch{}.count().error();
  unsetenv("HONE_SHAM_CUPTI");
  CHECK(refused.code == ErrorCode::kUnavailable);
  CHECK(refused.message.starts_with("CUPTI 13.1: cuptiRangeProfilerEnable: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35): "));
  CHECK(refused.message.find("ERR_NVGPUCTRPERM") != std::string::npos);
  setenv("HONE_SHAM_CUPTI", "999", 1);
  CHECK(ShamLaunch{}.count().error().message == "CUPTI 13.1: cuptiRangeProfilerEnable: CUPTI_ERROR_OF_SHAM (999)");
  unsetenv("HONE_SHAM_CUPTI");
}

TEST_CASE("a launch that fails while it is counted is the kernel's failure") {
  ShamLaunch failing{.ends = Error{ErrorCode::kLaunch, "no such kernel"}};
  CHECK(failing.count().error().code == ErrorCode::kLaunch);
  CHECK(ShamLaunch{}.count().ok());  // and leaves the next alone
}

TEST_CASE("a launch without a kernel, or of too many, is not counted") {
  CHECK(ShamLaunch{.kernels = 0}.count().error().message == "CUPTI 13.1: no kernel was counted");
  CHECK(ShamLaunch{.kernels = 9}.count().error().message.find("more than 64 kernels") != std::string::npos);
}

TEST_CASE("every stall that Hone knows is asked for where the chip counts warps") {
  std::size_t stalls = 0;
  std::set<std::string, std::less<>> bases;
  for (const CounterKind& kind : counter_kinds()) {
    if (kind.name.starts_with("stall_")) {
      ++stalls;
      bases.insert("smsp__warps_issue_stalled_" + std::string(kind.name.substr(6)));
    }
  }
  CHECK(stalls == 19);
  CHECK(cuda::metrics_of(bases).empty());  // a share of nothing
  bases.insert("smsp__warps_active");
  CHECK(cuda::metrics_of(bases).size() == stalls + 1);
}

TEST_CASE("structs are those of NVIDIA's headers") {
#ifdef HONE_HAS_CUPTI_HEADERS
  CHECK(cuda::CuptiInitialize::kSize == CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
  CHECK(cuda::CuptiSupported::kSize == CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_DeviceSupported_Params, api));
  CHECK(cuda::CuptiChipName::kSize == CUpti_Device_GetChipName_Params_STRUCT_SIZE);
  CHECK(cuda::CuptiAvailability::kSize ==
        CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_GetCounterAvailability_Params, pCounterAvailabilityImage));
  CHECK(cuda::CuptiHostInitialize::kSize == CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_Host_Initialize_Params, pHostObject));
  CHECK(cuda::CuptiHostDeinitialize::kSize == CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);
  CHECK(cuda::CuptiBaseMetrics::kSize == CUpti_Profiler_Host_GetBaseMetrics_Params_STRUCT_SIZE);
  CHECK(cuda::CuptiAddMetrics::kSize == CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);
  CHECK(cuda::CuptiConfigSize::kSize == CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE);
  CHECK(cuda::CuptiConfig::kSize == CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE);
  CHECK(cuda::CuptiPasses::kSize == CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE);
  CHECK(cuda::CuptiEvaluate::kSize == CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE);
  CHECK(cuda::CuptiEnable::kSize == CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject));
  CHECK(cuda::CuptiOnRange::kSize == CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
  CHECK(cuda::CuptiOnRange::kSize == CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
  CHECK(cuda::CuptiStop::kSize == CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
  CHECK(cuda::CuptiDecode::kSize == CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
  CHECK(cuda::CuptiDataSize::kSize == CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
  CHECK(cuda::CuptiDataInitialize::kSize == CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
  CHECK(cuda::CuptiSetConfig::kSize == CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
  CHECK(cuda::CuptiDataInfo::kSize == CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE);
  CHECK(offsetof(cuda::CuptiSetConfig, data) == offsetof(CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage));
  CHECK(offsetof(cuda::CuptiSetConfig, replay_mode) == offsetof(CUpti_RangeProfiler_SetConfig_Params, replayMode));
  CHECK(offsetof(cuda::CuptiSetConfig, nesting) == offsetof(CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel));
  CHECK(offsetof(cuda::CuptiDataSize, size) == offsetof(CUpti_RangeProfiler_GetCounterDataSize_Params, counterDataSize));
  CHECK(offsetof(cuda::CuptiStop, all_passes_submitted) == offsetof(CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted));
  CHECK(offsetof(cuda::CuptiSupported, api) == offsetof(CUpti_Profiler_DeviceSupported_Params, api));
  CHECK(offsetof(cuda::CuptiEvaluate, values) == offsetof(CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues));
  CHECK(cuda::kCuptiAutoRange == CUPTI_AutoRange);
  CHECK(cuda::kCuptiUserReplay == CUPTI_UserReplay);
  CHECK(cuda::cupti_status::kInsufficientPrivileges == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
  CHECK(cuda::cupti_status::kMigNotSupported == CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED);
#else
  tests::skip("cupti_headers", "there is nothing to compare with");
#endif
}
