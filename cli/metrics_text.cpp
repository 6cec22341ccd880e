#include "cli/metrics_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cli/utf8.hpp"

namespace hone::cli {
namespace {

/// `quotes`: a label's value stands in quotes, a help text does not.
std::string escaped(std::string_view text, bool quotes) {
  std::string out;
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::string_view bytes = text.substr(0, character.bytes);
    text.remove_prefix(character.bytes);
    if (!character.valid) {
      out += "\uFFFD";
    } else if (bytes == "\n") {
      out += "\\n";
    } else {
      out += bytes == "\\" || (quotes && bytes == "\"") ? "\\" : "";
      out += bytes;
    }
  }
  return out;
}

std::string number(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  return std::isinf(value) ? (value > 0.0 ? "+Inf" : "-Inf") : fmt::format("{}", value);
}

}  // namespace

void MetricsText::family(std::string_view name, MetricKind kind, std::string_view help) {
  name_ = name;
  header_ =
      fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, escaped(help, false), name, kind == MetricKind::kCounter ? "counter" : "gauge");
}

void MetricsText::sample(Labels labels, double value) {
  text_ += std::exchange(header_, "") + name_;
  char before = '{';
  for (const auto& [label, text] : labels) {
    text_ += fmt::format("{}{}=\"{}\"", before, label, escaped(text, true));
    before = ',';
  }
  text_ += fmt::format("{} {}\n", labels.size() > 0 ? "}" : "", number(value));
}

}  // namespace hone::cli
