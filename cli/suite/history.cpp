#include "cli/suite/history.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/output.hpp"

namespace hone::cli::suite {
namespace {

using Json = nlohmann::ordered_json;
using gate::Verdict;
using page::Scale;
using page::Svg;

constexpr std::array kVerdicts{Verdict::kOk,    Verdict::kFaster,     Verdict::kSlower,     Verdict::kWrong,
                               Verdict::kFails, Verdict::kStillFails, Verdict::kWorksAgain, Verdict::kNotRecorded};
constexpr std::size_t kMostRuns = 100;
constexpr double kLeastRange = 0.05;  // of a strip: noise is not drawn as if it were much
constexpr double kMostRange = 0.5;
constexpr double kBeyond = 5.0;  // the first and the last point: their bands end before the words

PastRun run_of(const Json& json) {
  PastRun run{json.at("date"), json.at("product"), {}};
  for (const Json& one : json.at("cases")) {
    const auto verdict =
        std::ranges::find_if(kVerdicts, [&](Verdict known) { return one.at("verdict").get<std::string>() == gate::name(known); });
    run.cases.push_back(
        {one.at("name"), verdict == kVerdicts.end() ? Verdict::kNotRecorded : *verdict, one.at("us"), one.at("change"), one.at("allowed")});
  }
  return run;
}

std::string_view look_of(const PastCase& one) {
  return gate::is_alarm(one.verdict) ? "f-bad" : one.verdict == Verdict::kFaster ? "p-win" : "f-right";
}

/// Names in the order of the latest run that has them.
std::vector<std::string> names_of(std::span<const PastRun> runs) {
  std::vector<std::string> names;
  for (std::size_t i = runs.size(); i-- > 0;) {
    for (const PastCase& one : runs[i].cases) {
      if (std::ranges::find(names, one.name) == names.end()) {
        names.push_back(one.name);
      }
    }
  }
  return names;
}

struct Strip {
  std::string name;
  std::vector<std::pair<std::size_t, PastCase>> points;  ///< with the number of their run

  [[nodiscard]] double range() const {
    double most = kLeastRange;
    for (const auto& [run, one] : points) {
      most = std::max({most, std::abs(one.change) * 1.1, one.allowed * 1.1});
    }
    return std::min(most, kMostRange);
  }
};

Strip strip_of(std::span<const PastRun> runs, const std::string& name) {
  Strip strip{name, {}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto found = std::ranges::find(runs[i].cases, name, &PastCase::name);
    if (found != runs[i].cases.end()) {
      strip.points.emplace_back(i, *found);
    }
  }
  return strip;
}

std::string title_of_point(const PastRun& run, const PastCase& one) {
  return fmt::format("{}: {}{}", run.date, gate::name(one.verdict),
                     one.us > 0.0 ? fmt::format(", {}, {:+.1f} %", page::time_text(one.us), 100.0 * one.change) : "");
}

void draw(Svg& svg, const Strip& strip, std::span<const PastRun> runs, const Scale& x, double top, double bottom) {
  const double range = strip.range();
  const Scale y{.low = -range, .high = range, .from = bottom, .to = top};
  for (const auto& [run, one] : strip.points) {
    const double half = runs.size() > 1 ? (x(1.0) - x(0.0)) / 2.0 : 10.0, at = x(static_cast<double>(run));
    if (one.allowed > 0.0) {
      const double from = std::max(at - half, x.from - kBeyond), to = std::min(at + half, x.to + kBeyond);
      svg.rect(from, y(one.allowed), to - from, y(-one.allowed) - y(one.allowed), "interval");
    }
  }
  svg.line(x.from, y(0.0), x.to, y(0.0), "standard");
  for (const auto& [run, one] : strip.points) {
    const double at = x(static_cast<double>(run));
    if (one.us > 0.0) {
      svg.circle(at, y(one.change), 3.0, look_of(one), title_of_point(runs[run], one));
    } else {
      svg.cross(at, y(0.0), 4.0, "p-bad", title_of_point(runs[run], one));
    }
  }
  const PastCase& last = strip.points.back().second;
  svg.text(8.0, top + 12.0, strip.name, page::Anchor::kStart, "name");
  svg.text(x.to + 8.0, (top + bottom) / 2.0, last.us > 0.0 ? page::time_text(last.us) : std::string(gate::name(last.verdict)));
  svg.text(x.to + 8.0, (top + bottom) / 2.0 + 14.0,
           last.us > 0.0 && last.allowed > 0.0 ? fmt::format("{:+.1f} %", 100.0 * last.change) : "");
}

std::string label_of(std::span<const PastRun> runs) {
  std::vector<std::string> alarms;
  for (const PastCase& one : runs.back().cases) {
    if (gate::is_alarm(one.verdict)) {
      alarms.push_back(fmt::format("{} {}", one.name, gate::name(one.verdict)));
    }
  }
  return fmt::format("Changes of {} cases over {} runs; the last one, of {}: {}", runs.back().cases.size(), runs.size(), runs.back().date,
                     alarms.empty() ? "no alarm" : fmt::format("{}", fmt::join(alarms, ", ")));
}

}  // namespace

Result<void> append_run(const std::filesystem::path& path, const PastRun& run) {
  Json line{{"date", run.date}, {"product", run.product}, {"cases", Json::array()}};
  for (const PastCase& one : run.cases) {
    line["cases"].push_back(
        {{"name", one.name}, {"verdict", gate::name(one.verdict)}, {"us", one.us}, {"change", one.change}, {"allowed", one.allowed}});
  }
  std::ifstream before(path, std::ios::ate | std::ios::binary);
  bool cut = false;  // its last line was not written to the end: this one must not be lost with it
  if (before && before.tellg() > 0) {
    before.seekg(-1, std::ios::end);
    cut = before.get() != '\n';
  }
  HONE_TRY(check_target(path));
  std::ofstream out(path, std::ios::app | std::ios::binary);
  out << (cut ? "\n" : "") << dump(line) << '\n';
  out.flush();
  return out ? Result<void>() : Error{ErrorCode::kIo, fmt::format("{} cannot be written", path.string())};
}

Result<std::vector<PastRun>> read_runs(const std::filesystem::path& path, const std::string& product) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return Error{ErrorCode::kIo, fmt::format("{} cannot be read", path.string())};
  }
  std::vector<PastRun> runs;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    try {
      PastRun run = run_of(Json::parse(line));
      if (run.product == product) {
        runs.push_back(std::move(run));
      }
    } catch (const nlohmann::json::exception& wrong) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("{}:{} is no run of hone bench: {}", path.string(), number, wrong.what())};
    }
  }
  return runs;
}

Svg trend_picture(const std::vector<PastRun>& all) {
  constexpr double kWidth = 860.0, kLeft = 20.0, kRight = 770.0, kStrip = 64.0, kName = 18.0;
  const std::span<const PastRun> runs = std::span(all).last(std::min(all.size(), kMostRuns));
  if (runs.empty()) {
    return Svg(kWidth, kStrip, "No runs");
  }
  const std::vector<std::string> names = names_of(runs);
  const double bottom = kStrip * static_cast<double>(names.size()) + 6.0;
  Svg svg(kWidth, bottom + 22.0, label_of(runs));
  const double last = std::max(1.0, static_cast<double>(runs.size() - 1));
  const Scale x{.low = 0.0, .high = last, .from = kLeft, .to = kRight};
  double top = 4.0;
  for (const std::string& name : names) {
    draw(svg, strip_of(runs, name), runs, x, top + kName, top + kStrip - 4.0);
    svg.line(8.0, top + kStrip, kWidth - 8.0, top + kStrip, "grid");
    top += kStrip;
  }
  svg.text(kLeft, bottom + 14.0, runs.front().date);
  svg.text(kRight, bottom + 14.0, runs.back().date, page::Anchor::kEnd);
  return svg;
}

}  // namespace hone::cli::suite
