// Recorded spaces (Kernel Tuner's caches, T4 files, Hone's own) and described ones: reading them and building the space.

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/replay/recorded_space.hpp"
#include "engine/space/space_description.hpp"
#include "tests/fuzz/mutate.hpp"

namespace {

using hone::Count;
using hone::SearchSpace;
using hone::fuzz::require;

/// Described spaces are built up to this many combinations: a larger one may take seconds, which others tests are for.
constexpr std::uint64_t kMostCombinations = 4096;
constexpr std::size_t kMostNodes = 300;

/// Every position leads to a configuration that leads back.
void walk(const SearchSpace& space) {
  require(space.size() >= 1, "a space that was built holds a configuration");
  for (Count i = 0; i < std::min<Count>(space.size(), 16); ++i) {
    const Count valid = space.next_valid(i);
    const auto back = space.index(space.at(valid));
    require(back.has_value() && *back == valid, "a position's configuration has that position");
    static_cast<void>(space.neighbours(valid, hone::Neighbourhood::kHamming));
    static_cast<void>(space.nearest(hone::Digits(space.parameters().size(), 0)));
  }
}

void check_recorded(std::string_view text) {
  const auto recorded = hone::RecordedSpace::parse(std::string(text), "fuzz.json");
  if (!recorded) {
    require(!recorded.error().message.empty(), "an error says what is wrong");
    return;
  }
  walk(recorded->space());
  for (Count i = 0; i < recorded->space().size(); ++i) {
    const hone::RecordedTrial* trial = recorded->find(i);
    require(trial != nullptr, "each position has its trial");
    // What was too slow may be recorded without a time.
    if (trial->outcome == hone::Outcome::kOk || !trial->samples_us.empty()) {
      require(has_time(trial->outcome), "a failure has no samples");
      require(trial->time_us > 0.0 && std::isfinite(trial->time_us) && !trial->samples_us.empty(), "a trial with samples has a time");
      require(std::ranges::all_of(trial->samples_us, [](double us) { return us > 0.0 && std::isfinite(us); }), "samples are times");
    }
  }
  require(recorded->find(recorded->space().size()) == nullptr, "there is nothing behind the last position");
  require(!std::isnan(recorded->best_us()) && !std::isnan(recorded->best_time_us()), "the best is a time");
}

bool is_small(const hone::SpaceDescription& described) {
  std::uint64_t combinations = 1;
  for (const hone::Parameter& parameter : described.parameters) {
    combinations *= std::min<std::uint64_t>(parameter.values.size(), kMostCombinations);
    if (combinations > kMostCombinations) {
      return false;
    }
  }
  std::size_t nodes = 0;
  for (const hone::Constraint& constraint : described.constraints) {
    nodes += constraint.condition.serialize().size();
  }
  return nodes <= 8 * kMostNodes && described.parameters.size() <= 64;
}

void check_described(std::string_view text) {
  const auto described = hone::parse_space_descriptions(std::string(text), "fuzz.json");
  if (!described) {
    return;
  }
  for (const hone::SpaceDescription& one : *described) {
    if (!is_small(one)) {
      continue;
    }
    const auto space = SearchSpace::build(one.parameters, one.constraints, {});
    if (!space) {
      continue;
    }
    walk(*space);
    for (Count i = 0; i < std::min<Count>(space->size(), 16); ++i) {
      const hone::Bindings bound = hone::bindings(one.parameters, space->at(i));
      for (const hone::Constraint& constraint : one.constraints) {
        const auto met = constraint.condition.evaluate(bound);
        require(met.ok() && met->boolean(), "a configuration of the space meets the constraints", constraint.text);
      }
    }
  }
}

constexpr std::array<std::string_view, 49> kWords{"tune_params_keys",
                                                  "tune_params",
                                                  "cache",
                                                  "device_name",
                                                  "defaults",
                                                  "time",
                                                  "times",
                                                  "__error__",
                                                  "compile_time",
                                                  "registers",
                                                  "shared_bytes",
                                                  "occupancy",
                                                  "results",
                                                  "configuration",
                                                  "measurements",
                                                  "value",
                                                  "invalidity",
                                                  "correct",
                                                  "compile",
                                                  "timeout",
                                                  "metadata",
                                                  "timeunit",
                                                  "ms",
                                                  "us",
                                                  "runtimes",
                                                  "compilation",
                                                  "validation",
                                                  "parameters",
                                                  "constraints",
                                                  "name",
                                                  "valid",
                                                  "General",
                                                  "BenchmarkName",
                                                  "ConfigurationSpace",
                                                  "TuningParameters",
                                                  "Name",
                                                  "Values",
                                                  "Conditions",
                                                  "Expression",
                                                  "[1, 2, 4]",
                                                  "block",
                                                  "tile",
                                                  "block * tile <= 64",
                                                  "block % tile == 0 and tile in [1, 2]",
                                                  "min(block, tile) ** 2 // 3 > -1",
                                                  "InvalidConfig",
                                                  "RuntimeFailedConfig",
                                                  "wrong_result",
                                                  "too_slow"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = hone::fuzz::text_of(data, size);
  check_recorded(text);
  check_described(text);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  hone::fuzz::Random random(seed);
  return hone::fuzz::mutate_json_text(random, kWords, data, size, max_size, 5);
}
