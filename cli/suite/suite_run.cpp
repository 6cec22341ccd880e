#include "cli/suite/suite_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace hone::cli::suite {
namespace {

using gate::Finding;
using gate::Verdict;

constexpr std::size_t kMostRecorded = 12;  // runs of a case: older ones tell of older machines
constexpr std::size_t kSourceDigits = 12;

Result<void> prepare_all(const Surroundings& around, const OnProgress& on_progress, SuiteRun& run) {
  for (const Entry& entry : run.file.controls) {
    HONE_ASSIGN(run.controls.emplace_back(), prepare(entry, around));
    if (const std::optional<Trial>& failed = run.controls.back().failed) {
      return Error{ErrorCode::kBadKernel, fmt::format("the control {} fails, so nothing can be compared: {}", entry.name, failed->detail)};
    }
  }
  for (const Entry& entry : run.file.cases) {
    if (on_progress) {
      on_progress(entry.name);
    }
    HONE_ASSIGN(run.cases.emplace_back(), prepare(entry, around));
  }
  return {};
}

gate::Expectation expectation_of(const ExpectedCase& recorded) {
  gate::Expectation expectation{.outcome = recorded.outcome, .runs = {}};
  for (const RecordedRun& one : recorded.runs) {
    expectation.runs.push_back(one.level);
  }
  return expectation;
}

/// What counts for the case as the suite defines it now.
std::optional<gate::Expectation> expectation_of(SuiteRun& run, std::size_t place) {
  const std::string& name = run.file.cases[place].name;
  const ExpectedCase* const recorded = run.expected ? run.expected->find(name) : nullptr;
  const Prepared& prepared = run.cases[place];
  if (recorded == nullptr) {
    return std::nullopt;
  }
  // Of a kernel that cannot be read nobody knows what it would be, now or when it was recorded.
  const bool known = !prepared.what.empty() && !recorded->what.empty();
  if ((known && recorded->what != prepared.what) || recorded->control != run.control_of(place)) {
    run.changed.push_back(name);
    return std::nullopt;
  }
  return expectation_of(*recorded);
}

void record(const SuiteRun& run, std::size_t place, bool update, Expectations& into) {
  const Finding& finding = run.findings[place];
  const std::string& name = run.file.cases[place].name;
  if (!is_recorded(finding.verdict, update)) {
    return;
  }
  ExpectedCase now{.name = name, .what = run.cases[place].what, .control = run.control_of(place), .outcome = finding.outcome, .runs = {}};
  const auto before = std::ranges::find(into.cases, name, &ExpectedCase::name);
  if (before != into.cases.end() && now.what.empty()) {
    now.what = before->what;
  }
  if (before != into.cases.end() && finding.verdict == Verdict::kOk) {  // else it is at another level now
    now.runs = before->runs;
  }
  if (finding.level) {
    const auto driver = run.device.environment.find("driver");
    now.runs.push_back({*finding.level, run.date, driver == run.device.environment.end() ? "" : driver->second, machine_of(run.device)});
  }
  if (now.runs.size() > kMostRecorded) {
    now.runs.erase(now.runs.begin(), now.runs.end() - kMostRecorded);
  }
  if (before != into.cases.end()) {
    *before = std::move(now);
  } else {
    into.cases.push_back(std::move(now));
  }
}

}  // namespace

std::string SuiteRun::control_of(std::size_t place) const {
  const std::optional<std::size_t> control = file.cases[place].control;
  if (!control) {
    return "";
  }
  const Prepared& prepared = controls[*control];
  return fmt::format("{} ({})", prepared.what, prepared.request.spec.source_hash.substr(0, kSourceDigits));
}
bool SuiteRun::alarm() const { return !changed.empty() || std::ranges::any_of(findings, gate::is_alarm, &Finding::verdict); }

Result<void> measure_all(const Surroundings& around, const OnProgress& on_progress, SuiteRun& run) {
  HONE_TRY(prepare_all(around, on_progress, run));
  gate::GateRequest request{.controls = {}, .cases = {}, .processes = run.file.processes, .least = run.file.slower, .measure = {}};
  for (const Entry& control : run.file.controls) {
    request.controls.push_back(control.name);
  }
  for (std::size_t place = 0; place < run.file.cases.size(); ++place) {
    request.cases.push_back({run.file.cases[place].name, run.file.cases[place].control, expectation_of(run, place)});
  }
  for (const ExpectedCase& one : run.expected ? run.expected->cases : std::vector<ExpectedCase>()) {
    if (std::ranges::find(run.file.cases, one.name, &Entry::name) == run.file.cases.end()) {
      request.others.push_back(expectation_of(one));
    }
  }
  // A search that had bad luck is not a slow kernel: what looks slower is searched for once more.
  Surroundings other_search = around;
  ++other_search.seed;
  std::set<std::size_t> searched_again;
  request.measure = [&](const gate::Measurable& what) -> Result<Trial> {
    if (what.is_control) {
      return measure(run.controls[what.index], around);
    }
    const Entry& entry = run.file.cases[what.index];
    if (what.again && entry.budget && searched_again.insert(what.index).second) {
      HONE_ASSIGN(Prepared found, prepare(entry, other_search));
      found.what = run.cases[what.index].what;
      run.cases[what.index] = std::move(found);
    }
    return measure(run.cases[what.index], around);
  };
  request.on_progress = on_progress;
  request.stop = around.stop;
  HONE_ASSIGN(gate::Report report, gate::run_gate(request));
  run.findings = std::move(report.cases);
  run.control_findings = std::move(report.controls);
  return {};
}

bool is_recorded(Verdict verdict, bool update) {
  return verdict == Verdict::kOk || verdict == Verdict::kNotRecorded || verdict == Verdict::kWorksAgain ||
         (update && (verdict == Verdict::kFaster || verdict == Verdict::kSlower || verdict == Verdict::kFails));
}

Expectations recorded(const SuiteRun& run, bool update, const SuiteFile& whole) {
  Expectations expectations = run.expected.value_or(Expectations{.product = run.device.product, .cases = {}});
  for (std::size_t place = 0; place < run.findings.size(); ++place) {
    record(run, place, update, expectations);
  }
  if (update) {  // cases that the suite has no more
    std::erase_if(expectations.cases,
                  [&](const ExpectedCase& one) { return std::ranges::find(whole.cases, one.name, &Entry::name) == whole.cases.end(); });
  }
  return expectations;
}

PastRun past_run(const SuiteRun& run) {
  PastRun past{.date = run.date, .product = run.device.product, .cases = {}};
  for (std::size_t place = 0; place < run.findings.size(); ++place) {
    const Finding& finding = run.findings[place];
    past.cases.push_back({run.file.cases[place].name, finding.verdict, finding.level ? finding.level->us : 0.0, finding.change,
                          finding.allowance ? finding.allowance->slower : 0.0});
  }
  return past;
}

}  // namespace hone::cli::suite
