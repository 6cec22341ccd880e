#pragma once
// The part of CUPTI that Hone uses, in our own words: it is opened at run time and optional. Every function takes one struct that begins
// with its size. The sizes here are those of CUDA 12.6, the first that has all of these functions: later versions only add fields at a
// struct's end, and take a smaller size for what it is.

#include <cstddef>
#include <cstdint>

#include "plugins/cuda/driver_api.hpp"

namespace hone::cuda {

using CuptiStatus = int;  ///< CUptiResult

namespace cupti_status {
inline constexpr CuptiStatus kSuccess = 0, kInvalidDevice = 2, kNotCompatible = 14, kNotInitialized = 15, kHardwareBusy = 26,
                             kNotSupported = 27, kVirtualizedNotSupported = 33, kInsufficientPrivileges = 35, kMultipleSubscribers = 39,
                             kVirtualizedInsufficientPrivileges = 40, kConfidentialComputing = 41, kMigNotSupported = 43, kInvalidChip = 46;
}  // namespace cupti_status

struct CuptiHostTag;
struct CuptiRangeTag;
using CuptiHost = CuptiHostTag*;    ///< CUpti_Profiler_Host_Object
using CuptiRange = CuptiRangeTag*;  ///< CUpti_RangeProfiler_Object

inline constexpr int kCuptiRangeProfiler = 0;                                 ///< CUpti_ProfilerType
inline constexpr int kCuptiCounters = 0, kCuptiRatios = 1, kCuptiShares = 2;  ///< CUpti_MetricType
inline constexpr int kCuptiAutoRange = 1, kCuptiUserReplay = 3;               ///< CUpti_ProfilerRange, CUpti_ProfilerReplayMode

struct CuptiInitialize {  ///< CUpti_Profiler_Initialize_Params
  std::size_t struct_size;
  void* reserved;
  static constexpr std::size_t kSize = 16;
};

struct CuptiSupported {  ///< CUpti_Profiler_DeviceSupported_Params
  std::size_t struct_size;
  void* reserved;
  DeviceOrdinal device;
  int supported, architecture, sli, virtual_gpu, confidential_compute, mining, wsl;  ///< CUpti_Profiler_Support_Level: 1 is no
  int api;                                                                           ///< 0: range profiling
  static constexpr std::size_t kSize = 52;
};

struct CuptiChipName {  ///< CUpti_Device_GetChipName_Params
  std::size_t struct_size;
  void* reserved;
  std::size_t device;
  const char* name;
  static constexpr std::size_t kSize = 32;
};

struct CuptiAvailability {  ///< CUpti_Profiler_GetCounterAvailability_Params
  std::size_t struct_size;
  void* reserved;
  ContextHandle context;
  std::size_t size;
  std::uint8_t* image;
  static constexpr std::size_t kSize = 40;
};

struct CuptiHostInitialize {  ///< CUpti_Profiler_Host_Initialize_Params
  std::size_t struct_size;
  void* reserved;
  int type;
  const char* chip;
  const std::uint8_t* availability;
  CuptiHost host;
  static constexpr std::size_t kSize = 48;
};

struct CuptiHostDeinitialize {  ///< CUpti_Profiler_Host_Deinitialize_Params
  std::size_t struct_size;
  void* reserved;
  CuptiHost host;
  static constexpr std::size_t kSize = 24;
};

struct CuptiBaseMetrics {  ///< CUpti_Profiler_Host_GetBaseMetrics_Params
  std::size_t struct_size;
  void* reserved;
  CuptiHost host;
  int type;
  const char** names;
  std::size_t count;
  static constexpr std::size_t kSize = 48;
};

struct CuptiAddMetrics {  ///< CUpti_Profiler_Host_ConfigAddMetrics_Params
  std::size_t struct_size;
  void* reserved;
  CuptiHost host;
  const char** names;
  std::size_t count;
  static constexpr std::size_t kSize = 40;
};

struct CuptiConfigSize {  ///< CUpti_Profiler_Host_GetConfigImageSize_Params
  std::size_t struct_size;
  void* reserved;
  CuptiHost host;
  std::size_t size;
  static constexpr std::size_t kSize = 32;
};

struct CuptiConfig {  ///< CUpti_Profiler_Host_GetConfigImage_Params
  std::size_t struct_size;
  void* reserved;
  CuptiHost host;
  std::size_t size;
  std::uint8_t* image;
  static constexpr std::size_t kSize = 40;
};

struct CuptiPasses {  ///< CUpti_Profiler_Host_GetNumOfPasses_Params
  std::size_t struct_size;
  void* reserved;
  std::size_t config_size;
  std::uint8_t* config;
  std::size_t passes;
  static constexpr std::size_t kSize = 40;
};

struct CuptiEvaluate {  ///< CUpti_Profiler_Host_EvaluateToGpuValues_Params
  std::size_t struct_size;
  void* reserved;
  CuptiHost host;
  const std::uint8_t* data;
  std::size_t data_size, range;
  const char** names;
  std::size_t count;
  double* values;
  static constexpr std::size_t kSize = 72;
};

struct CuptiEnable {  ///< CUpti_RangeProfiler_Enable_Params
  std::size_t struct_size;
  void* reserved;
  ContextHandle context;
  CuptiRange range;
  static constexpr std::size_t kSize = 32;
};

struct CuptiOnRange {  ///< CUpti_RangeProfiler_{Start,Disable}_Params
  std::size_t struct_size;
  void* reserved;
  CuptiRange range;
  static constexpr std::size_t kSize = 24;
};

struct CuptiStop {  ///< CUpti_RangeProfiler_Stop_Params
  std::size_t struct_size;
  void* reserved;
  CuptiRange range;
  std::size_t pass, nesting;
  std::uint8_t all_passes_submitted;
  static constexpr std::size_t kSize = 41;
};

struct CuptiDecode {  ///< CUpti_RangeProfiler_DecodeData_Params
  std::size_t struct_size;
  void* reserved;
  CuptiRange range;
  std::size_t dropped;
  static constexpr std::size_t kSize = 32;
};

struct CuptiDataSize {  ///< CUpti_RangeProfiler_GetCounterDataSize_Params
  std::size_t struct_size;
  void* reserved;
  CuptiRange range;
  const char** names;
  std::size_t count, most_ranges;
  std::uint32_t most_nodes;
  std::size_t size;
  static constexpr std::size_t kSize = 64;
};

struct CuptiDataInitialize {  ///< CUpti_RangeProfiler_CounterDataImage_Initialize_Params
  std::size_t struct_size;
  void* reserved;
  CuptiRange range;
  std::size_t size;
  std::uint8_t* data;
  static constexpr std::size_t kSize = 40;
};

struct CuptiSetConfig {  ///< CUpti_RangeProfiler_SetConfig_Params
  std::size_t struct_size;
  void* reserved;
  CuptiRange range;
  std::size_t config_size;
  const std::uint8_t* config;
  std::size_t data_size;
  std::uint8_t* data;
  int range_mode, replay_mode;
  std::size_t most_ranges;
  std::uint16_t nesting_levels, least_nesting;
  std::size_t pass;
  std::uint16_t nesting;
  static constexpr std::size_t kSize = 90;
};

struct CuptiDataInfo {  ///< CUpti_RangeProfiler_GetCounterDataInfo_Params
  std::size_t struct_size;
  void* reserved;
  const std::uint8_t* data;
  std::size_t size, ranges;
  static constexpr std::size_t kSize = 40;
};

/// CUPTI's functions. Members are named after the exports, less the prefix.
struct CuptiApi {
  CuptiStatus (*get_version)(std::uint32_t*);
  CuptiStatus (*get_result_string)(CuptiStatus, const char**);
  CuptiStatus (*initialize)(CuptiInitialize*);
  CuptiStatus (*device_supported)(CuptiSupported*);
  CuptiStatus (*chip_name)(CuptiChipName*);
  CuptiStatus (*availability)(CuptiAvailability*);
  CuptiStatus (*host_initialize)(CuptiHostInitialize*);
  CuptiStatus (*host_deinitialize)(CuptiHostDeinitialize*);
  CuptiStatus (*base_metrics)(CuptiBaseMetrics*);
  CuptiStatus (*add_metrics)(CuptiAddMetrics*);
  CuptiStatus (*config_size)(CuptiConfigSize*);
  CuptiStatus (*config)(CuptiConfig*);
  CuptiStatus (*passes)(CuptiPasses*);
  CuptiStatus (*evaluate)(CuptiEvaluate*);
  CuptiStatus (*enable)(CuptiEnable*);
  CuptiStatus (*disable)(CuptiOnRange*);
  CuptiStatus (*start)(CuptiOnRange*);
  CuptiStatus (*stop)(CuptiStop*);
  CuptiStatus (*decode)(CuptiDecode*);
  CuptiStatus (*data_size)(CuptiDataSize*);
  CuptiStatus (*data_initialize)(CuptiDataInitialize*);
  CuptiStatus (*set_config)(CuptiSetConfig*);
  CuptiStatus (*data_info)(CuptiDataInfo*);
};

}  // namespace hone::cuda
