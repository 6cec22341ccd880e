#include "cli/report/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/utf8.hpp"

namespace hone::cli::page {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string_view anchor_name(Anchor anchor) {
  constexpr std::array<std::string_view, 3> kNames{"start", "middle", "end"};
  return kNames.at(static_cast<std::size_t>(anchor));
}

/// Places in a picture to a tenth: more is not seen, and makes pages large.
std::string place(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) {
    text.resize(text.size() - 2);
  }
  return text == "-0" ? "0" : text;
}

std::string points_text(const std::vector<std::pair<double, double>>& points) {
  std::string text;
  for (const auto& [x, y] : points) {
    text += (text.empty() ? "" : " ") + place(x) + "," + place(y);
  }
  return text;
}

std::vector<double> linear_ticks(double low, double high, std::size_t about) {
  const double raw = (high - low) / static_cast<double>(std::max<std::size_t>(about, 1));
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double step = power * (raw / power <= 1.0 ? 1.0 : raw / power <= 2.0 ? 2.0 : raw / power <= 5.0 ? 5.0 : 10.0);
  std::vector<double> ticks;
  for (double at = std::ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) {
    ticks.push_back(std::abs(at) < step * 1e-9 ? 0.0 : at);
  }
  return ticks;
}

/// 1, 2, 5 of each power of ten, or the powers alone; within less than a few of them, as on a linear scale.
std::vector<double> logarithmic_ticks(double low, double high, std::size_t about) {
  std::vector<double> ticks;
  for (const bool all : {true, false}) {
    ticks.clear();
    for (double power = std::pow(10.0, std::floor(std::log10(low))); power <= high; power *= 10.0) {
      for (const double digit : {1.0, 2.0, 5.0}) {
        const double at = digit * power;
        if ((all || digit == 1.0) && at >= low * (1.0 - 1e-9) && at <= high * (1.0 + 1e-9)) {
          ticks.push_back(at);
        }
      }
    }
    if (ticks.size() <= 2 * about) {
      break;
    }
  }
  return ticks.size() < 3 ? linear_ticks(low, high, about) : ticks;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const Character one = first_character(text);
    const char c = text.front();
    const bool control = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
    if (!one.valid || control || c == 0x7F) {
      safe += kReplacement;
    } else if (c == '<') {
      safe += "&lt;";
    } else if (c == '>') {
      safe += "&gt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else if (c == '"') {
      safe += "&quot;";
    } else if (c == '\'') {
      safe += "&#39;";
    } else {
      safe += text.substr(0, one.bytes);
    }
    text.remove_prefix(one.bytes);
  }
  return safe;
}

std::string time_text(double microseconds) {
  const auto digits = [](double value) {
    return fmt::format("{:.{}f}", value, value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0);
  };
  return microseconds < 999.95     ? digits(microseconds) + " µs"
         : microseconds < 999.95e3 ? digits(microseconds / 1e3) + " ms"
                                   : digits(microseconds / 1e6) + " s";
}

std::string seconds_text(double seconds) {
  if (seconds < 60.0) {
    return fmt::format("{:.{}f} s", seconds, seconds < 1.0 ? 2 : 1);
  }
  const auto whole = static_cast<long>(std::lround(seconds));
  return whole < 3600 ? fmt::format("{} min {} s", whole / 60, whole % 60) : fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string factor_text(double factor) { return fmt::format("{:.{}f}×", factor, factor < 9.995 ? 2 : factor < 99.95 ? 1 : 0); }

std::string percent_text(double share) {
  const double percent = 100.0 * share;
  return percent > 0.0 && percent < 0.1 ? "< 0.1 %" : fmt::format("{:.1f} %", percent);
}

double Scale::operator()(double value) const {
  const double clamped = std::clamp(value, low, high);
  const double part = logarithmic ? std::log(clamped / low) / std::log(high / low) : (clamped - low) / (high - low);
  return high > low ? from + part * (to - from) : from;
}

std::vector<double> Scale::ticks(std::size_t about) const {
  if (!(high > low)) {
    return {low};
  }
  return logarithmic ? logarithmic_ticks(low, high, about) : linear_ticks(low, high, about);
}

Svg& Svg::shape(std::string start, std::string_view look, std::string_view title) {
  body_ += start;
  if (!look.empty()) {
    body_ += fmt::format(" class=\"{}\"", look);
  }
  if (title.empty()) {
    body_ += "/>";
  } else {
    const std::string name = start.substr(1, start.find(' ') - 1);
    body_ += fmt::format("><title>{}</title></{}>", escaped(title), name);
  }
  return *this;
}

Svg& Svg::line(double x1, double y1, double x2, double y2, std::string_view look) {
  return shape(fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"", place(x1), place(y1), place(x2), place(y2)), look, "");
}

Svg& Svg::rect(double x, double y, double width, double height, std::string_view look, std::string_view title) {
  return shape(fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", place(x), place(y), place(width), place(height)), look,
               title);
}

Svg& Svg::circle(double x, double y, double radius, std::string_view look, std::string_view title) {
  return shape(fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"", place(x), place(y), place(radius)), look, title);
}

Svg& Svg::cross(double x, double y, double arm, std::string_view look, std::string_view title) {
  return shape(fmt::format("<path d=\"M{0} {1}l{2} {2}m0 -{2}l-{2} {2}\"", place(x - arm), place(y - arm), place(2.0 * arm)), look, title);
}

Svg& Svg::triangle(double x, double y, double arm, std::string_view look, std::string_view title) {
  return shape(fmt::format("<path d=\"M{} {}l{} {}h-{}z\"", place(x), place(y - arm), place(arm), place(2.0 * arm), place(2.0 * arm)), look,
               title);
}

Svg& Svg::text(double x, double y, std::string_view text, Anchor anchor, std::string_view look) {
  body_ += fmt::format("<text x=\"{}\" y=\"{}\"", place(x), place(y));
  if (anchor != Anchor::kStart) {
    body_ += fmt::format(" text-anchor=\"{}\"", anchor_name(anchor));
  }
  if (!look.empty()) {
    body_ += fmt::format(" class=\"{}\"", look);
  }
  body_ += fmt::format(">{}</text>", escaped(text));
  return *this;
}

Svg& Svg::polyline(const std::vector<std::pair<double, double>>& points, std::string_view look) {
  return shape(fmt::format("<polyline points=\"{}\"", points_text(points)), look, "");
}

Svg& Svg::steps(const std::vector<std::pair<double, double>>& points, std::string_view look) {
  std::vector<std::pair<double, double>> corners;
  for (const auto& point : points) {
    if (!corners.empty()) {
      corners.emplace_back(point.first, corners.back().second);
    }
    corners.push_back(point);
  }
  return polyline(corners, look);
}

Svg& Svg::x_axis(const Scale& scale, double top, double bottom, std::size_t ticks, std::string (*label)(double)) {
  for (const double at : scale.ticks(ticks)) {
    line(scale(at), top, scale(at), bottom, "grid").text(scale(at), bottom + 15.0, label(at), Anchor::kMiddle);
  }
  return *this;
}

Svg& Svg::y_axis(const Scale& scale, double left, double right, std::size_t ticks, std::string (*label)(double)) {
  for (const double at : scale.ticks(ticks)) {
    line(left, scale(at), right, scale(at), "grid").text(left - 6.0, scale(at) + 4.0, label(at), Anchor::kEnd);
  }
  return *this;
}

std::string Svg::element() const {
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">{}</svg>\n", place(width_), place(height_), escaped(label_),
                     body_);
}

std::string Svg::file() const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">\n<title>{2}</title>\n"
      "<style>{3}</style>\n<rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n{4}\n</svg>\n",
      place(width_), place(height_), escaped(label_), picture_style(), body_);
}

std::string_view picture_style() {
  return R"(
:root { color-scheme: light dark; --page: #f7f7f4; --card: #fff; --ink: #17171c; --quiet: #5d5d67; --line: #e0e0da;
  --best: #1f5fd0; --soft: #c9dbfb; --right: #3f7ae0; --raced: #8b8b95; --slow: #b4650c; --bad: #c0263f; --good: #14794f; --random: #74747d;
  --s0: #1f5fd0; --s1: #0f8577; --s2: #b4650c; --s3: #8a8a94; }
@media screen and (prefers-color-scheme: dark) { :root { --page: #121216; --card: #1b1b21; --ink: #ededf2; --quiet: #a6a6b2; --line: #33333c;
  --best: #7fabff; --soft: #274272; --right: #6f9ff5; --raced: #83838f; --slow: #f0a050; --bad: #f5788b; --good: #4cc793; --random: #96969f;
  --s0: #7fabff; --s1: #43c4b0; --s2: #f0a050; --s3: #8e8e99; } }
svg text { fill: var(--quiet); font: 11.5px system-ui, sans-serif; font-variant-numeric: tabular-nums; }
svg text.strong { fill: var(--ink); font-weight: 600; } svg text.name { fill: var(--ink); }
.paper { fill: var(--card); } .grid { stroke: var(--line); stroke-width: 1; }
polyline { fill: none; stroke-linejoin: round; }
.best { stroke: var(--best); stroke-width: 2; } .random { stroke: var(--random); stroke-width: 1.75; stroke-dasharray: 5 4; }
.standard { stroke: var(--quiet); stroke-width: 1.25; stroke-dasharray: 2 3; } .whisker { stroke: var(--ink); stroke-width: 1.5; }
.trend { stroke: var(--slow); stroke-width: 1.5; }
.bar { fill: var(--best); } .bar-soft { fill: var(--soft); } .bar-standard { fill: var(--raced); } .bar-faint { fill: var(--line); } .band { fill: var(--bad); opacity: .07; }
.s0 { fill: var(--s0); } .s1 { fill: var(--s1); } .s2 { fill: var(--s2); } .s3 { fill: var(--s3); }
.f-right { fill: var(--right); } .f-raced { fill: var(--raced); } .f-slow { fill: var(--slow); } .f-bad { fill: var(--bad); }
.p-right { fill: var(--right); fill-opacity: .55; } .p-raced { fill: none; stroke: var(--raced); } .p-slow { fill: none; stroke: var(--slow); }
.p-bad { fill: none; stroke: var(--bad); stroke-width: 1.5; } .p-win { fill: var(--good); stroke: var(--card); stroke-width: 1.5; }
.p-mean { fill: var(--slow); } .interval { fill: var(--ink); fill-opacity: .14; }
)";
}

}  // namespace hone::cli::page
