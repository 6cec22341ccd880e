#pragma once
// Which of CUPTI's metrics make Hone's counters.

#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/counters.hpp"

namespace hone::cuda {

/// A value that CUPTI measures for each kernel.
struct Metric {
  std::string_view key;                    ///< what Hone calls it
  std::string name;                        ///< CUPTI's: "dram__bytes_read.sum"
  enum class Over { kSum, kMean } over{};  ///< of several kernels: their sum, or the mean weighted by their times
};

/// Those that a chip has, by the names of its metrics without what follows the dot: chips call some of them differently and lack others.
std::vector<Metric> metrics_of(const std::set<std::string, std::less<>>& available);

/// The counters of a launch; `ranges` holds of each of its kernels the values of `metrics`, in their order.
std::map<std::string, double, std::less<>> counters_of(const std::vector<Metric>& metrics, const std::vector<std::vector<double>>& ranges);

}  // namespace hone::cuda
