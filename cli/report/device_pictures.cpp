// Pictures of where time went and of the device: stages, samples, clocks, sessions side by side.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/report/pictures.hpp"

namespace hone::cli::page {
namespace {

using report::SessionStudy;

constexpr double kPageWidth = 860.0;

std::string general_label(double value) { return fmt::format("{:g}", value); }
std::string seconds_label(double value) { return fmt::format("{:g} s", value); }
std::string times_label(double value) { return fmt::format("{:g}×", value); }
std::string deviation_label(double share) {
  const double percent = std::round(share * 1000.0) / 10.0;
  return percent == 0.0 ? "median" : fmt::format("{:+g} %", percent);
}

/// The middle 98 %: a few samples far out would press the others together.
std::pair<double, double> range_of(std::vector<double> samples) {
  std::ranges::sort(samples);
  const auto cut = samples.size() / 100;
  return {samples[cut], samples[samples.size() - 1 - cut]};
}

/// Where sample i of a strip is: spread over its height, the same each time.
double spread(std::size_t i) { return static_cast<double>((i * 37) % 101) / 100.0; }

/// What fits beside a bar.
std::string label_of(const SessionStudy& study) {
  constexpr std::size_t kMost = 46;
  const std::string title = title_of(study);
  return title.size() <= kMost ? title : fmt::format("{} {}, session {}", study.session.kernel, study.session.dtypes, study.session.id);
}

}  // namespace

std::optional<Svg> stages_picture(const SessionStudy& study) {
  double most = 0.0;
  std::string label = "Seconds of the trials by what came of them:";
  for (const report::StageStudy& stage : study.stages) {
    most = std::max(most, stage.seconds.total());
    label += fmt::format(" {} {};", stage.what, seconds_text(stage.seconds.total()));
  }
  if (most <= 0.0) {
    return std::nullopt;
  }
  constexpr double kLeft = 110.0, kRow = 36.0, kTop = 30.0, kBar = 22.0;
  const double bottom = kTop + kRow * static_cast<double>(study.stages.size());
  Svg svg(kPageWidth, bottom + 22.0, label);
  const Scale x{.low = 0.0, .high = most, .from = kLeft, .to = kPageWidth - 90.0};
  constexpr std::array<std::string_view, 4> kStages{"compile", "validate", "time", "other"}, kLooks{"s0", "s1", "s2", "s3"};
  for (std::size_t s = 0; s < kStages.size(); ++s) {
    const double at = kLeft + 110.0 * static_cast<double>(s);
    svg.rect(at, 4.0, 11.0, 11.0, kLooks.at(s)).text(at + 17.0, 14.0, kStages.at(s), Anchor::kStart, "name");
  }
  svg.x_axis(x, kTop - 6.0, bottom, 6, seconds_label);
  for (std::size_t row = 0; row < study.stages.size(); ++row) {
    const report::StageStudy& stage = study.stages[row];
    const std::array<double, 4> parts{stage.seconds.compile, stage.seconds.validate, stage.seconds.time, stage.seconds.overhead};
    const double y = kTop + kRow * static_cast<double>(row);
    double sum = 0.0;
    for (std::size_t s = 0; s < parts.size(); ++s) {
      const double from = x(sum), to = x(sum + parts.at(s));
      if (to - from > 0.05) {
        svg.rect(from, y, to - from, kBar, kLooks.at(s), fmt::format("{}: {}", kStages.at(s), seconds_text(parts.at(s))));
      }
      sum += parts.at(s);
    }
    svg.text(kLeft - 10.0, y + 15.0, stage.what, Anchor::kEnd, "name")
        .text(x(sum) + 8.0, y + 15.0, seconds_text(sum), Anchor::kStart, "name");
  }
  return svg;
}

std::optional<Svg> samples_picture(const SessionStudy& study) {
  constexpr std::size_t kMostStrips = 5;
  std::vector<std::size_t> rows = finalists_of(study);
  std::erase_if(rows, [&](std::size_t i) { return study.trials[i].measurement.samples_us.size() < 2; });
  rows.resize(std::min(rows.size(), kMostStrips));
  if (rows.empty()) {
    return std::nullopt;
  }
  constexpr double kLeft = 120.0, kRow = 58.0, kTop = 8.0, kStrip = 40.0;
  const double bottom = kTop + kRow * static_cast<double>(rows.size());
  std::string label = "Samples:";
  double low = 0.0, high = 0.0;
  for (const std::size_t i : rows) {
    const Measurement& one = study.trials[i].measurement;
    const auto [from, to] = range_of(one.samples_us);
    low = std::min(low, from / one.median_us - 1.0);
    high = std::max(high, to / one.median_us - 1.0);
    label +=
        fmt::format(" {} {} samples between {} and {};", finalist_name(study, i), one.samples_us.size(), time_text(from), time_text(to));
  }
  Svg svg(kPageWidth, bottom + 22.0, label);
  const double margin = std::max((high - low) * 0.03, 0.002);
  const Scale x{.low = low - margin, .high = high + margin, .from = kLeft, .to = kPageWidth - 30.0};
  svg.x_axis(x, kTop, bottom, 7, deviation_label);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Measurement& one = study.trials[rows[row]].measurement;
    const auto place = [&](double time) { return x(time / one.median_us - 1.0); };
    const double y = kTop + kRow * static_cast<double>(row) + 8.0;
    for (std::size_t i = 0; i < one.samples_us.size(); ++i) {
      svg.circle(place(one.samples_us[i]), y + kStrip * spread(i), 2.0, "p-right");
    }
    svg.rect(place(one.ci95_low_us), y - 4.0, std::max(1.5, place(one.ci95_high_us) - place(one.ci95_low_us)), kStrip + 8.0, "interval");
    svg.line(place(one.median_us), y - 4.0, place(one.median_us), y + kStrip + 4.0, "whisker");
    svg.text(kLeft - 10.0, y + kStrip / 2.0, finalist_name(study, rows[row]), Anchor::kEnd, "name");
    svg.text(kLeft - 10.0, y + kStrip / 2.0 + 15.0, time_text(one.median_us), Anchor::kEnd);
  }
  return svg;
}

std::optional<Svg> clock_picture(const SessionStudy& study, const Detail& detail) {
  if (study.device.readings < 2) {
    return std::nullopt;
  }
  constexpr double kHeight = 170.0, kTop = 10.0, kBottom = 130.0, kLeft = 62.0, kRight = 846.0;
  const report::DeviceStudy& device = study.device;
  Svg svg(kPageWidth, kHeight,
          fmt::format("The clock over the trials, between {:.0f} and {:.0f} MHz.", device.lowest_mhz, device.highest_mhz));
  const Scale x{.low = 0.0, .high = static_cast<double>(study.trials.size()), .from = kLeft, .to = kRight};
  const Scale y{.low = device.lowest_mhz * 0.97, .high = device.highest_mhz * 1.02, .from = kBottom, .to = kTop};
  svg.x_axis(x, kTop, kBottom, 8, general_label).y_axis(y, kLeft, kRight, 4, general_label);
  const std::size_t every = thinning(study, detail);
  for (std::size_t i = 0; i < study.trials.size(); i += every) {
    const Readings& read = study.trials[i].readings;
    if (read.sm_clock_mhz > 0.0) {
      const bool throttled = !report::throttle_words(read.throttle_reasons).empty();
      svg.circle(x(static_cast<double>(i + 1)), y(read.sm_clock_mhz), 2.0, throttled ? "f-bad" : "p-right");
    }
  }
  svg.text(kRight, kHeight - 8.0, "trials", Anchor::kEnd).text(kLeft, kHeight - 8.0, "MHz; red: throttled", Anchor::kStart);
  return svg;
}

std::optional<Svg> sessions_picture(std::span<const SessionStudy> studies) {
  if (studies.size() < 2) {
    return std::nullopt;
  }
  constexpr double kLeft = 330.0, kRow = 34.0, kTop = 8.0, kBar = 20.0;
  const double bottom = kTop + kRow * static_cast<double>(studies.size());
  double most = 1.0;
  std::string label = "Speedup over the default:";
  for (const SessionStudy& study : studies) {
    most = std::max(most, study.speedup_high);
    label += study.speedup > 0.0 ? fmt::format(" {} {};", title_of(study), factor_text(study.speedup)) : "";
  }
  Svg svg(kPageWidth, bottom + 22.0, label);
  const Scale x{.low = 0.0, .high = most * 1.02, .from = kLeft, .to = kPageWidth - 80.0};
  svg.x_axis(x, kTop - 4.0, bottom, 6, times_label);
  for (std::size_t row = 0; row < studies.size(); ++row) {
    const SessionStudy& study = studies[row];
    const double y = kTop + kRow * static_cast<double>(row), middle = y + kBar / 2.0;
    svg.text(kLeft - 10.0, middle + 4.0, label_of(study), Anchor::kEnd, "name");
    if (study.speedup > 0.0) {
      svg.rect(kLeft, y, x(study.speedup) - kLeft, kBar, "bar")
          .line(x(study.speedup_low), middle, x(study.speedup_high), middle, "whisker");
      svg.text(x(study.speedup_high) + 8.0, middle + 4.0, factor_text(study.speedup), Anchor::kStart, "strong");
    }
  }
  svg.line(x(1.0), kTop - 4.0, x(1.0), bottom, "standard");
  return svg;
}

}  // namespace hone::cli::page
