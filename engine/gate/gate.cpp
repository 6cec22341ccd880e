#include "engine/gate/gate.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hone::gate {
namespace {

constexpr double kLooksSlower = 0.5;  // of the allowance
constexpr int kAgain = 2;             // times as many processes

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

/// Of one process and its control's in the same pass.
struct Sample {
  double us = 0.0, relative = 0.0;
};

Level level_of(const std::vector<Sample>& samples) {
  std::vector<double> us, relative;
  for (const Sample& sample : samples) {
    us.push_back(sample.us);
    relative.push_back(sample.relative);
  }
  return {median(std::move(us)), median(std::move(relative))};
}

class Run {
 public:
  explicit Run(const GateRequest& request)
      : request_(request),
        findings_(request.cases.size()),
        samples_(request.cases.size()),
        control_times_(request.controls.size()),
        last_control_(request.controls.size()) {}

  Result<Report> all() {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < request_.cases.size(); ++i) {
      places.push_back(i);
    }
    HONE_TRY(passes(places, request_.processes));
    allow();
    std::vector<std::size_t> slow;
    for (const std::size_t place : places) {
      compare(place);
      const Finding& finding = findings_[place];
      if (finding.allowance && finding.level && finding.change > kLooksSlower * finding.allowance->slower) {
        slow.push_back(place);
      }
    }
    HONE_TRY(measure_again(slow));
    for (const std::size_t place : places) {
      findings_[place].verdict = verdict(place);
    }
    return Report{std::move(findings_), controls()};
  }

 private:
  /// Those that made them look slow are left out: of many cases some always look slow by chance.
  Result<void> measure_again(const std::vector<std::size_t>& slow) {
    for (const std::size_t place : slow) {
      samples_[place].clear();
      findings_[place].measured_again = true;
    }
    again_ = true;
    HONE_TRY(passes(slow, kAgain * request_.processes));
    for (const std::size_t place : slow) {
      compare(place);
    }
    return {};
  }

  Result<void> passes(const std::vector<std::size_t>& places, int count) {
    for (int pass = 0; pass < count; ++pass) {
      std::ranges::fill(last_control_, std::nullopt);
      for (const std::size_t place : places) {
        if (findings_[place].outcome == Outcome::kOk) {
          HONE_TRY(measure(place));
        }
      }
    }
    return {};
  }

  Result<Trial> run(const Measurable& what, const std::string& name) {
    if (request_.stop.stop_requested()) {
      return Error{ErrorCode::kCancelled, "asked to stop before the suite was done"};
    }
    if (request_.on_progress) {
      request_.on_progress(name);
    }
    return request_.measure(what);
  }

  /// One that fails is tried once more: drivers stumble, too.
  Result<Trial> run_twice(const Measurable& what, const std::string& name) {
    HONE_ASSIGN(Trial trial, run(what, name));
    return trial.outcome == Outcome::kOk || is_wrong(trial.outcome) ? Result<Trial>(std::move(trial)) : run(what, name);
  }

  /// The time of the control in this pass.
  Result<double> control_us(std::size_t control) {
    if (!last_control_[control]) {
      const std::string& name = request_.controls[control];
      HONE_ASSIGN(const Trial trial, run_twice({.is_control = true, .index = control, .again = again_}, name));
      if (trial.outcome != Outcome::kOk) {
        return Error{ErrorCode::kDevice, fmt::format("the control {} ended as {}, so nothing can be compared: {}", name,
                                                     hone::name(trial.outcome), trial.detail)};
      }
      last_control_[control] = trial.measurement.median_us;
      control_times_[control].push_back(trial.measurement.median_us);
    }
    return *last_control_[control];
  }

  Result<void> measure(std::size_t place) {
    const Case& one = request_.cases[place];
    double unit = 1.0;
    if (one.control) {
      HONE_ASSIGN(unit, control_us(*one.control));
    }
    HONE_ASSIGN(const Trial trial, run_twice({.index = place, .again = again_}, one.name));
    Finding& finding = findings_[place];
    finding.outcome = trial.outcome;
    finding.detail = trial.detail;
    finding.resources = trial.resources;
    if (trial.outcome == Outcome::kOk) {
      const double us = trial.measurement.median_us;
      finding.times_us.push_back(us);
      samples_[place].push_back({us, us / unit});
    }
    return {};
  }

  void allow() {
    std::vector<Spread> spreads;
    for (const Case& one : request_.cases) {
      if (one.expected) {
        spreads.push_back(spread_of(one.expected->runs));
      }
    }
    for (const Expectation& other : request_.others) {
      spreads.push_back(spread_of(other.runs));
    }
    const Spread typical = typical_spread(spreads);
    for (std::size_t i = 0; i < findings_.size(); ++i) {
      const std::optional<Expectation>& expected = request_.cases[i].expected;
      if (expected && !expected->runs.empty()) {
        findings_[i].allowance = allowance(expected->runs, typical, request_.least);
      }
    }
  }

  void compare(std::size_t place) {
    Finding& finding = findings_[place];
    if (finding.outcome != Outcome::kOk) {
      finding.level = std::nullopt;
      return;
    }
    const Level level = level_of(samples_[place]);
    finding.level = level;
    if (finding.allowance) {
      finding.change = level.relative / finding.allowance->relative - 1.0;
    }
  }

  [[nodiscard]] std::vector<ControlFinding> controls() const {
    std::vector<std::vector<double>> usual(control_times_.size());
    for (const Case& one : request_.cases) {
      if (one.control && one.expected) {
        for (const Level& recorded : one.expected->runs) {
          usual[*one.control].push_back(recorded.us / recorded.relative);
        }
      }
    }
    const auto median_of = [](const std::vector<double>& values) { return values.empty() ? std::nullopt : std::optional(median(values)); };
    std::vector<ControlFinding> found;
    for (std::size_t i = 0; i < usual.size(); ++i) {
      found.push_back({median_of(control_times_[i]), median_of(usual[i])});
    }
    return found;
  }

  [[nodiscard]] Verdict verdict(std::size_t place) const {
    const Finding& finding = findings_[place];
    const std::optional<Expectation>& expected = request_.cases[place].expected;
    if (is_wrong(finding.outcome)) {
      return Verdict::kWrong;
    }
    if (finding.outcome != Outcome::kOk) {
      return expected && expected->outcome == finding.outcome ? Verdict::kStillFails : Verdict::kFails;
    }
    if (expected && expected->outcome != Outcome::kOk) {
      return Verdict::kWorksAgain;
    }
    if (!finding.allowance) {
      return Verdict::kNotRecorded;
    }
    if (finding.measured_again && finding.change > finding.allowance->slower) {
      return Verdict::kSlower;
    }
    return finding.change < -finding.allowance->slower ? Verdict::kFaster : Verdict::kOk;
  }

  const GateRequest& request_;
  std::vector<Finding> findings_;
  std::vector<std::vector<Sample>> samples_;        ///< of each case: what the comparison is of
  std::vector<std::vector<double>> control_times_;  ///< of each control, all processes
  std::vector<std::optional<double>> last_control_;
  bool again_ = false;  ///< the second look
};

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kFaster:
      return "faster";
    case Verdict::kSlower:
      return "slower";
    case Verdict::kWrong:
      return "wrong";
    case Verdict::kFails:
      return "fails";
    case Verdict::kStillFails:
      return "still fails";
    case Verdict::kWorksAgain:
      return "works again";
    case Verdict::kNotRecorded:
      return "not recorded";
  }
  return "";
}

Result<Report> run_gate(const GateRequest& request) { return Run(request).all(); }

}  // namespace hone::gate
