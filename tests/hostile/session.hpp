#pragma once
// One tuning session of the built command over an honest slow, an honest fast and a hostile configuration, and what is to be said of it.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/hostile/cases.hpp"

namespace hone::hostile {

struct Options {
  std::string hone, kernels, device = "cpu";
  double limit_seconds = 60.0;  ///< of a session; then it is lost
};

/// What became of a case. `verdict` is "held", or how it was not.
struct Ended {
  std::string name, verdict, outcome, detail, winner;
  std::vector<std::string> blamed;  ///< values of `trick` that were not ok
  std::vector<std::pair<std::string, double>> times_us;
  double seconds = 0.0;
  int tries = 1;
  [[nodiscard]] bool held() const { return verdict == "held" || verdict == "listed"; }
};

std::string name_of(const Case& one);
/// A session of the case. On a busy host a session is run again, twice at most, if its winner is honest but not the fastest, or if a
/// hostile one was timed slower than the slow honest one ("far behind"): it was no potential winner, and only those are held to all checks.
Ended run_case(const Case& one, const Options& options);
nlohmann::json to_json(const Case& one, const Ended& ended);

}  // namespace hone::hostile
