// What a run of a suite says.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/present.hpp"
#include "cli/suite/suite_run.hpp"

namespace hone::cli::suite {
namespace {

using gate::Finding;
using gate::Verdict;

constexpr double kHundred = 100.0;
constexpr double kWorthCatching = 0.05;  // a case that may lose more unnoticed is named

/// The time that is expected on this machine today: the recorded one by what its control takes now.
std::optional<double> expected_us(const Finding& finding) {
  if (!finding.allowance || !finding.level) {
    return std::nullopt;
  }
  return finding.allowance->relative * finding.level->us / finding.level->relative;
}

Json finding_json(const SuiteRun& run, std::size_t place) {
  const Finding& finding = run.findings[place];
  const Prepared& prepared = run.cases[place];
  const std::optional<double> expected = expected_us(finding);
  Json object{{"name", run.file.cases[place].name},
              {"verdict", gate::name(finding.verdict)},
              {"what", prepared.what},
              {"outcome", hone::name(finding.outcome)},
              {"detail", finding.detail},
              {"time_us", finding.level ? Json(finding.level->us) : Json()},
              {"usual_us", expected ? Json(*expected) : Json()},
              {"change", expected ? Json(finding.change) : Json()},
              {"allowed", finding.allowance ? Json(finding.allowance->slower) : Json()},
              {"measured_again", finding.measured_again},
              {"processes_us", finding.times_us}};
  if (!prepared.failed) {
    object["config"] = json(prepared.request.spec.parameters, prepared.configuration);
  }
  return object;
}

Json control_json(const SuiteRun& run, std::size_t place) {
  const gate::ControlFinding& control = run.control_findings[place];
  return {{"name", run.file.controls[place].name},
          {"time_us", control.us ? Json(*control.us) : Json()},
          {"usual_us", control.usual_us ? Json(*control.usual_us) : Json()},
          {"change", control.us && control.usual_us ? Json(control.change()) : Json()},
          {"has_changed", control.has_changed()}};
}

/// Each control beside what it took when the cases were recorded.
std::string controls_text(const SuiteRun& run) {
  std::string text;
  for (std::size_t place = 0; place < run.control_findings.size(); ++place) {
    const gate::ControlFinding& control = run.control_findings[place];
    if (!control.us) {
      continue;
    }
    text += fmt::format("control {}: {}", run.file.controls[place].name, duration(*control.us));
    text += control.usual_us ? fmt::format(", recorded {}, {:+.1f} %", duration(*control.usual_us), kHundred * control.change()) : "";
    text += control.has_changed() ? ": the control changed, by more than clocks do; its cases may have changed as much unnoticed\n" : "\n";
  }
  return text;
}

std::vector<std::string> row_of(const SuiteRun& run, std::size_t place) {
  const Finding& finding = run.findings[place];
  const std::optional<double> expected = expected_us(finding);
  std::vector<std::string> row{std::string(gate::name(finding.verdict)), run.file.cases[place].name};
  row.push_back(finding.level ? duration(finding.level->us) : std::string(hone::name(finding.outcome)));
  row.push_back(expected ? fmt::format("expected {}", duration(*expected)) : "");
  row.push_back(expected ? fmt::format("{:+.1f} % (allowed {:.1f} %)", kHundred * finding.change, kHundred * finding.allowance->slower)
                         : "");
  row.push_back(finding.measured_again && finding.verdict != Verdict::kSlower ? "looked slower at first" : "");
  if (!finding.detail.empty()) {
    row.back() += "\n    " + finding.detail;
  }
  return row;
}

std::string summary_text(const SuiteRun& run) {
  std::map<Verdict, int> counts;
  std::size_t insensitive = 0;
  double widest = 0.0;
  for (const Finding& finding : run.findings) {
    ++counts[finding.verdict];
    if (finding.allowance && finding.allowance->slower > kWorthCatching) {
      ++insensitive;
      widest = std::max(widest, finding.allowance->slower);
    }
  }
  std::string text = fmt::format("{} case{} on {}:", run.findings.size(), run.findings.size() == 1 ? "" : "s", run.device.product);
  for (const auto& [verdict, count] : counts) {
    text += fmt::format("{} {} {}", verdict == counts.begin()->first ? "" : ",", count, gate::name(verdict));
  }
  text += "\n";
  if (insensitive > 0) {
    text += fmt::format(
        "{} of them may become more than 5 % slower unnoticed (up to {:.1f} %): their runs differ too much, or too few are "
        "recorded (--record adds one)\n",
        insensitive, kHundred * widest);
  }
  if (counts.contains(Verdict::kFaster)) {
    text += "what is faster is expected with --update; --record leaves it out\n";
  }
  for (const std::string& name : run.changed) {
    text += fmt::format("{}: the case or its control is not what was recorded, so it was not compared; --record begins anew\n", name);
  }
  return text;
}

}  // namespace

Json run_json(const SuiteRun& run) {
  Json object{{"suite", run.file.path.string()},
              {"device", run.device.id},
              {"product", run.device.product},
              {"expected_file", run.expectations_file.string()},
              {"recorded", run.expected.has_value()},
              {"one_other_machine", run.expected && is_of_one_other_machine(*run.expected, run.device)},
              {"alarm", run.alarm()},
              {"changed", run.changed},
              {"cases", Json::array()},
              {"controls", Json::array()},
              {"files", Json::array()},
              {"failures", Json::array()}};
  for (std::size_t place = 0; place < run.findings.size(); ++place) {
    object["cases"].push_back(finding_json(run, place));
  }
  for (std::size_t place = 0; place < run.control_findings.size(); ++place) {
    object["controls"].push_back(control_json(run, place));
  }
  return object;
}

std::string run_text(const SuiteRun& run) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t place = 0; place < run.findings.size(); ++place) {
    rows.push_back(row_of(run, place));
  }
  std::string lines = table(rows) + controls_text(run) + summary_text(run);
  if (run.expected && is_of_one_other_machine(*run.expected, run.device)) {
    lines += "all recorded runs are of one machine, and this is another: how much machines differ is not known; --record on several\n";
  }
  if (!run.expected) {
    lines += fmt::format("nothing was recorded for {}: --record writes {}\n", run.device.product, run.expectations_file.string());
  }
  return lines;
}

}  // namespace hone::cli::suite
