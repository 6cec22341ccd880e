// The page of a comparison: curves as SVG, tables, no scripts.
#include "cli/compare_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/report/svg.hpp"

namespace hone::cli {
namespace {

using page::escaped;

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --page: #f9f9f7; --card: #fff; --ink: #16161a; --quiet: #63636b; --line: #e2e2de; --random: #85858c;
  --c0: #2a63d8; --c1: #d1651a; --c2: #178a5b; --c3: #a23bbd; --c4: #c02f45; --c5: #0c8ba3; --c6: #8a6d0b; --c7: #6a5ae0; }
@media (prefers-color-scheme: dark) { :root {
  --page: #131316; --card: #1c1c20; --ink: #ececf0; --quiet: #a0a0aa; --line: #34343a; --random: #8e8e97;
  --c0: #78a2ff; --c1: #f2985a; --c2: #4cc793; --c3: #d48aea; --c4: #f27a8a; --c5: #4cc4dc; --c6: #d9b63f; --c7: #a99dff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 78rem; padding: 1.5rem 1rem 4rem; background: var(--page); color: var(--ink);
font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p, li { color: var(--quiet); max-width: 62rem; } ul { padding-left: 1.2rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .75rem; }
.scroll { overflow-x: auto; } .grid { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr)); }
.grid h3 { font-size: .85rem; margin: 0 0 .25rem; font-weight: 600; } svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--quiet); font: 11px system-ui, sans-serif; } .axis { stroke: var(--line); stroke-width: 1; }
polyline { fill: none; stroke-width: 2; stroke-linejoin: round; vector-effect: non-scaling-stroke; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; width: 100%; }
th, td { padding: .3rem .7rem; text-align: right; border-bottom: 1px solid var(--line); } th { font-weight: 600; color: var(--quiet); }
th:first-child, td:first-child { text-align: left; } small { color: var(--quiet); } .best { font-weight: 700; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; padding: .4rem 0 0; }
.legend span { display: inline-flex; align-items: center; gap: .4rem; }
.swatch { width: 1.6rem; flex: none; }
)";

constexpr std::array<std::string_view, 3> kDashes{"", "7 3", "2 3"};
constexpr std::size_t kColours = 8;

/// The look of a strategy, the same everywhere; after eight colours lines are dashed.
std::string stroke(std::size_t place) {
  return fmt::format("stroke=\"var(--c{})\" stroke-dasharray=\"{}\"", place % kColours,
                     kDashes[std::min(place / kColours, kDashes.size() - 1)]);
}
constexpr std::string_view kRandomStroke = "stroke=\"var(--random)\" stroke-dasharray=\"1 4\" stroke-linecap=\"round\"";

struct Line {
  std::string label, look;
  const std::vector<double>* values = nullptr;
};

/// A chart of fractions over cost, cost by its logarithm.
class Chart {
 public:
  Chart(double width, double height, const CompareReport& report, std::string unit)
      : width_(width), height_(height), report_(report), unit_(std::move(unit)) {}

  [[nodiscard]] std::string draw(const std::vector<Line>& lines) {
    lowest_ = floor_of(lines);
    std::string svg =
        fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"fraction of the optimum over {}\">", width_, height_, unit_);
    svg += grid();
    for (const Line& line : lines) {
      svg += fmt::format("<polyline {} points=\"", line.look);
      for (std::size_t i = first(); i < line.values->size(); ++i) {
        if ((*line.values)[i] >= lowest_) {
          svg += fmt::format("{:.1f},{:.1f} ", x(report_.curve_at[i]), y((*line.values)[i]));
        }
      }
      svg += fmt::format("\"><title>{}</title></polyline>", escaped(line.label));
    }
    return svg + "</svg>\n";
  }

 private:
  static constexpr double kLeft = 38.0, kRight = 12.0, kTop = 8.0, kBottom = 32.0;

  /// The start of a search, where little is found, would press everything else together: charts begin at a quarter of the first budget.
  [[nodiscard]] std::size_t first() const {
    const auto at = std::ranges::lower_bound(report_.curve_at, report_.budgets.front() / 4.0) - report_.curve_at.begin();
    return static_cast<std::size_t>(std::min<std::ptrdiff_t>(at, std::ssize(report_.curve_at) - 1));
  }

  [[nodiscard]] double floor_of(const std::vector<Line>& lines) const {
    double lowest = 0.95;
    for (const Line& line : lines) {
      lowest = std::min(lowest, (*line.values)[first()]);
    }
    return std::max(0.0, std::floor(lowest * 10.0) / 10.0);
  }

  [[nodiscard]] double x(double cost) const {
    const double from = report_.curve_at[first()], to = report_.curve_at.back();
    return kLeft + (to > from ? std::log(cost / from) / std::log(to / from) : 0.0) * (width_ - kLeft - kRight);
  }
  [[nodiscard]] double y(double fraction) const { return kTop + (1.0 - fraction) / (1.0 - lowest_) * (height_ - kTop - kBottom); }

  [[nodiscard]] std::string grid() const {
    std::string svg;
    const double step = 1.0 - lowest_ > 0.5 ? 0.2 : 1.0 - lowest_ > 0.2 ? 0.1 : 0.02;
    for (double at = 1.0; at > lowest_ - 1e-9; at -= step) {
      svg += fmt::format(
          "<line class=\"axis\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text x=\"{}\" y=\"{:.1f}\" "
          "text-anchor=\"end\">{:.{}f}</text>",
          kLeft, width_ - kRight, y(at), y(at), kLeft - 5.0, y(at) + 4.0, at, step < 0.1 ? 2 : 1);
    }
    for (const double budget : report_.budgets) {
      svg += fmt::format(
          "<line class=\"axis\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/><text x=\"{0:.1f}\" y=\"{3}\" "
          "text-anchor=\"middle\">{4}</text>",
          x(budget), kTop, height_ - kBottom, height_ - kBottom + 14.0, budget);
    }
    return svg + fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"start\">{}</text>", kLeft, height_ - 4.0, unit_);
  }

  double width_, height_, lowest_ = 0.0;
  const CompareReport& report_;
  std::string unit_;
};

/// Random first: the others are drawn over it.
template <class OfStrategy>
std::vector<Line> lines_of(const CompareReport& report, const std::vector<std::size_t>& order, const std::vector<double>& baseline,
                           const OfStrategy& curve) {
  std::vector<Line> lines{{"calculated random", std::string(kRandomStroke), &baseline}};
  for (std::size_t i = order.size(); i-- > 0;) {
    lines.push_back({report.strategies[order[i]].label, stroke(i), &curve(report.strategies[order[i]])});
  }
  return lines;
}

std::string swatch(const std::string& look) {
  return fmt::format("<svg class=\"swatch\" viewBox=\"0 0 26 8\"><polyline {} points=\"1,4 25,4\"/></svg>", look);
}

std::string legend(const CompareReport& report, const std::vector<std::size_t>& order) {
  std::string html = "<div class=\"legend\">";
  for (std::size_t i = 0; i < order.size(); ++i) {
    html += fmt::format("<span>{}{}</span>", swatch(stroke(i)), escaped(report.strategies[order[i]].label));
  }
  return html + fmt::format("<span>{}calculated random</span></div>\n", swatch(std::string(kRandomStroke)));
}

std::string header(const CompareReport& report, std::string_view first, const std::vector<std::string_view>& more) {
  std::string html = fmt::format("<tr><th>{}</th>", first);
  for (const double budget : report.budgets) {
    html += fmt::format("<th>at {}</th>", budget);
  }
  for (const std::string_view column : more) {
    html += fmt::format("<th>{}</th>", column);
  }
  return html + "</tr>\n";
}

std::string overall_table(const CompareReport& report, const std::vector<std::size_t>& order) {
  std::string html = "<div class=\"card scroll\"><table>" +
                     header(report, "strategy", {"score", "evaluations to 95 %", "us / ask", "99th percentile", "repeated", "faults"});
  for (std::size_t i = 0; i < order.size(); ++i) {
    const StrategyResult& strategy = report.strategies[order[i]];
    html += fmt::format("<tr><td>{}</td>", escaped(strategy.label));
    for (const Estimate& estimate : strategy.fractions) {
      html += fmt::format("<td>{:.4f} <small>{:.4f}–{:.4f}</small></td>", estimate.mean, estimate.low, estimate.high);
    }
    const StrategyFaults& faults = strategy.faults;
    html += fmt::format("<td>{:.3f}</td><td>{:.1f}</td><td>{:.1f}</td><td>{:.1f}</td><td>{}</td><td>{}</td></tr>\n", strategy.score,
                        strategy.evaluations_to_95, strategy.ask_us_mean, strategy.ask_us_p99, faults.repeated,
                        faults.invalid + faults.failed + faults.stalled + faults.crashed + faults.idle);
  }
  html += "<tr><td>calculated random</td>";
  for (const double fraction : report.baseline) {
    html += fmt::format("<td>{:.4f}</td>", fraction);
  }
  return html + "<td>0</td><td></td><td></td><td></td><td></td><td></td></tr></table></div>\n";
}

/// One row a space, one column a strategy, at the middle budget; the best and those level with it are bold.
std::string space_table(const CompareReport& report, const std::vector<std::size_t>& order) {
  const std::size_t middle = report.budgets.size() / 2;
  std::string html = "<div class=\"card scroll\"><table><tr><th>space</th><th>configurations</th><th>failed</th>";
  for (const std::size_t place : order) {
    html += fmt::format("<th>{}</th>", escaped(report.strategies[place].label));
  }
  html += "<th>calculated random</th></tr>\n";
  for (std::size_t s = 0; s < report.spaces.size(); ++s) {
    const ComparedSpace& space = report.spaces[s];
    html += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td>", escaped(space.name), space.size, space.failed);
    for (const std::size_t place : order) {
      const auto& best = report.wins[middle][s];
      const bool won = std::ranges::find(best, report.strategies[place].label) != best.end();
      html += fmt::format("<td{}>{:.4f}</td>", won ? " class=\"best\"" : "", report.strategies[place].per_space[s].fractions[middle].mean);
    }
    html += fmt::format("<td>{:.4f}</td></tr>\n", space.baseline[middle]);
  }
  return html + "</table></div>\n";
}

std::string small_multiples(const CompareReport& report, const std::vector<std::size_t>& order, const std::string& unit) {
  std::string html = "<div class=\"grid\">";
  for (std::size_t s = 0; s < report.spaces.size(); ++s) {
    const auto lines = lines_of(report, order, report.spaces[s].baseline_curve,
                                [s](const StrategyResult& strategy) -> const std::vector<double>& { return strategy.per_space[s].curve; });
    html += fmt::format("<div class=\"card\"><h3>{}</h3>{}</div>\n", escaped(report.spaces[s].name),
                        Chart(360.0, 220.0, report, unit).draw(lines));
  }
  return html + "</div>\n";
}

}  // namespace

std::string comparison_html(const CompareRequest& request, const CompareReport& report) {
  const std::vector<std::size_t> order = ranking(report);
  const std::string unit(name(request.unit));
  const double middle = report.budgets[report.budgets.size() / 2];
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">"
      "<title>Hone: strategies compared</title><style>{}</style></head><body>\n<h1>Search strategies on {} recorded spaces</h1>\n"
      "<p>{} repeats, seed {}, transfer {}. Fraction of the optimum: best possible time / best time found after so many {}, 0 while "
      "nothing was found; "
      "beside it the 95 % bootstrap interval. Score: 0 is the calculated random search, 1 the optimum at once (Willemsen et al., FGCS 159, "
      "2024).</p>\n",
      kStyle, report.spaces.size(), request.repeats, request.seed, name(request.transfer), unit);
  const auto lines = lines_of(report, order, report.baseline_curve,
                              [](const StrategyResult& strategy) -> const std::vector<double>& { return strategy.curve; });
  html +=
      "<h2>Over all spaces</h2>\n<div class=\"card\">" + Chart(900.0, 400.0, report, unit).draw(lines) + legend(report, order) + "</div>\n";
  html += "<h2>In figures</h2>\n" + overall_table(report, order);
  html += "<h2>Each space</h2>\n" + small_multiples(report, order, unit);
  html += fmt::format("<h2>Each space at {} {}</h2>\n<p>Bold: the highest mean, and those whose interval reaches its interval.</p>\n",
                      middle, unit);
  html += space_table(report, order);
  if (!report.notes.empty()) {
    html += "<h2>Notes</h2>\n<ul>";
    for (const std::string& note : report.notes) {
      html += fmt::format("<li>{}</li>", escaped(note));
    }
    html += "</ul>\n";
  }
  return html + "</body></html>\n";
}

}  // namespace hone::cli
