#pragma once
// The text that Prometheus reads: https://prometheus.io/docs/instrumenting/exposition_formats/ (version 0.0.4).

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace hone::cli {

enum class MetricKind {
  kCounter,  ///< only grows while the process runs; its name ends in _total
  kGauge,
};

/// Metrics in the order in which they are added: each family with its HELP and TYPE, then its samples. A family without samples is left
/// out.
class MetricsText {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  /// What the next samples belong to. `name`, with its base unit (seconds, bytes, ratio): letters, digits and _.
  void family(std::string_view name, MetricKind kind, std::string_view help);
  /// Bytes of a label's value that are not UTF-8 become U+FFFD.
  void sample(Labels labels, double value);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string name_, header_, text_;
};

}  // namespace hone::cli
