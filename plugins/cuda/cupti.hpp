#pragma once
// CUPTI, NVIDIA's profiling library, opened on first use.

#include <string>
#include <string_view>
#include <vector>

#include "hone/error.hpp"
#include "plugins/cuda/cupti_api.hpp"

namespace hone::cuda {

struct Cupti {
  CuptiApi api{};
  std::string path;     ///< of the shared object that was opened
  std::string version;  ///< "13.0"
};

/// The library of this process. Errors, kUnavailable: where it was looked for and how to get it. Thread-safe.
Result<const Cupti*> cupti();

/// Where cupti() looks, in order; $HONE_CUPTI comes first.
std::vector<std::string> cupti_candidates();

/// Why a call failed, kUnavailable: "CUPTI 13.0: cuptiRangeProfilerEnable: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35): ...", and what to do
/// about it where that is known.
Error cupti_error(const Cupti& library, CuptiStatus status, std::string_view call);

}  // namespace hone::cuda
