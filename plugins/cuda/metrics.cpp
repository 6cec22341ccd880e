#include "plugins/cuda/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace hone::cuda {
namespace {

using Over = Metric::Over;

constexpr double kSectorBytes = 32.0;
constexpr std::string_view kTime = "time";
constexpr std::string_view kSum = ".sum";
constexpr std::string_view kShareOfElapsed = ".avg.pct_of_peak_sustained_elapsed", kShareOfActive = ".avg.pct_of_peak_sustained_active";

struct Choice {
  std::string_view key;
  std::array<std::string_view, 2> bases;  ///< the first that the chip has
  std::string_view rollup;
  Over over = Over::kSum;
};
constexpr std::array<Choice, 18> kChoices{{
    {kTime, {"gpu__time_duration"}, kSum},
    {"dram_read", {"dram__bytes_read", "dram__bytes_op_read"}, kSum},
    {"dram_write", {"dram__bytes_write", "dram__bytes_op_write"}, kSum},
    {"dram_share", {"dram__bytes"}, ".sum.pct_of_peak_sustained_elapsed", Over::kMean},
    {"l2_read", {"lts__t_sectors_op_read"}, kSum},
    {"l2_write", {"lts__t_sectors_op_write"}, kSum},
    {"l2_share", {"lts__t_sectors"}, kShareOfElapsed, Over::kMean},
    {"l2_hit", {"lts__t_sectors_lookup_hit"}, kSum},
    {"l2_miss", {"lts__t_sectors_lookup_miss"}, kSum},
    {"l1_hit", {"l1tex__t_sectors_lookup_hit"}, kSum},
    {"l1_miss", {"l1tex__t_sectors_lookup_miss"}, kSum},
    {"tensor", {"sm__pipe_tensor_cycles_active"}, kShareOfElapsed, Over::kMean},
    {"fma", {"sm__pipe_fma_cycles_active"}, kShareOfElapsed, Over::kMean},
    {"issue", {"smsp__issue_active"}, kShareOfElapsed, Over::kMean},
    {"instructions", {"smsp__inst_executed"}, kSum},
    {"occupancy", {"sm__warps_active"}, kShareOfActive, Over::kMean},
    {"wavefronts", {"l1tex__data_pipe_lsu_wavefronts_mem_shared"}, kSum},
    {"conflicts", {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared"}, kSum},
}};
constexpr std::string_view kWarps = "warps", kWarpsBase = "smsp__warps_active";
constexpr std::string_view kStall = "stall_", kStallBase = "smsp__warps_issue_stalled_";

/// Values of a launch by the keys of metrics.
class Values {
 public:
  Values(const std::vector<Metric>& metrics, const std::vector<std::vector<double>>& ranges) {
    const auto time = std::ranges::find(metrics, kTime, &Metric::key);
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      double sum = 0.0, weights = 0.0;
      for (const std::vector<double>& range : ranges) {
        const double weight = metrics[m].over == Over::kSum ? 1.0
                              : time == metrics.end()       ? 1.0
                                                            : range[static_cast<std::size_t>(time - metrics.begin())];
        sum += weight * range[m];
        weights += weight;
      }
      const double value = metrics[m].over == Over::kSum ? sum : sum / weights;
      if (std::isfinite(value) && !ranges.empty()) {
        values_[std::string(metrics[m].key)] = value;
      }
    }
  }
  [[nodiscard]] std::optional<double> find(std::string_view key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? std::nullopt : std::optional<double>(found->second);
  }

 private:
  std::map<std::string, double, std::less<>> values_;
};

}  // namespace

std::vector<Metric> metrics_of(const std::set<std::string, std::less<>>& available) {
  std::vector<Metric> metrics;
  const auto add = [&](std::string_view key, std::string_view base, std::string_view rollup, Over over) {
    if (available.contains(base)) {
      metrics.push_back({key, std::string(base) + std::string(rollup), over});
      return true;
    }
    return false;
  };
  for (const Choice& choice : kChoices) {
    std::ranges::any_of(choice.bases, [&](std::string_view base) { return add(choice.key, base, choice.rollup, choice.over); });
  }
  if (add(kWarps, kWarpsBase, kSum, Over::kSum)) {
    for (const CounterKind& kind : counter_kinds()) {
      if (kind.name.starts_with(kStall)) {
        add(kind.name, std::string(kStallBase) + std::string(kind.name.substr(kStall.size())), kSum, Over::kSum);
      }
    }
  }
  return metrics;
}

std::map<std::string, double, std::less<>> counters_of(const std::vector<Metric>& metrics, const std::vector<std::vector<double>>& ranges) {
  const Values values(metrics, ranges);
  std::map<std::string, double, std::less<>> counters;
  const auto scaled = [&](std::string_view name, std::string_view key, double factor) {
    if (const auto value = values.find(key)) {
      counters[std::string(name)] = *value * factor;
    }
  };
  const auto share = [&](std::string_view name, std::string_view part, std::initializer_list<std::string_view> whole) {
    double sum = 0.0;
    for (const std::string_view key : whole) {
      sum += values.find(key).value_or(0.0);
    }
    if (const auto value = values.find(part); value && sum > 0.0) {
      counters[std::string(name)] = *value / sum;
    }
  };
  constexpr double kMicro = 1e-3, kPercent = 1e-2;
  scaled("time_us", kTime, kMicro);
  scaled("dram_read_bytes", "dram_read", 1.0);
  scaled("dram_write_bytes", "dram_write", 1.0);
  scaled("dram_share", "dram_share", kPercent);
  scaled("l2_read_bytes", "l2_read", kSectorBytes);
  scaled("l2_write_bytes", "l2_write", kSectorBytes);
  scaled("l2_share", "l2_share", kPercent);
  share("l2_hit_rate", "l2_hit", {"l2_hit", "l2_miss"});
  share("l1_hit_rate", "l1_hit", {"l1_hit", "l1_miss"});
  scaled("tensor_pipe", "tensor", kPercent);
  scaled("fma_pipe", "fma", kPercent);
  scaled("issue_slots", "issue", kPercent);
  scaled("instructions", "instructions", 1.0);
  scaled("occupancy", "occupancy", kPercent);
  scaled("shared_wavefronts", "wavefronts", 1.0);
  scaled("shared_conflicts", "conflicts", 1.0);
  for (const CounterKind& kind : counter_kinds()) {
    if (kind.name.starts_with(kStall)) {
      share(kind.name, kind.name, {kWarps});
    }
  }
  return counters;
}

}  // namespace hone::cuda
