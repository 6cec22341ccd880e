#pragma once
// How things look: JSON pieces and human units that several verbs print.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.hpp"
#include "engine/device/trial.hpp"
#include "engine/roofline/occupancy.hpp"
#include "engine/roofline/peaks.hpp"
#include "engine/space/search_space.hpp"
#include "hone/source.hpp"

namespace hone::cli {

/// A number where JSON readers keep it exact, else a string of digits.
Json json(Count count);
Json json(const Shape& shape);
Json json(const std::vector<Parameter>& parameters, const Configuration& configuration);
Json json(const Resources& resources);
/// How far a configuration is from what the device allows; null for what is not known.
Json json(const std::optional<roofline::Place>& place);
Json json(const std::optional<roofline::Occupancy>& occupancy);
Json json(const roofline::Peak& peak);
/// A count for each outcome that a trial can have, 0 included.
Json json(const std::map<Outcome, std::int64_t>& outcomes);
/// Those that trials had: "12 ok 3 too_slow".
std::string outcomes_text(const std::map<Outcome, std::int64_t>& outcomes);
/// "12.3 us", "4.56 ms", "1.20 s".
std::string duration(double microseconds);
/// What a measurement reached of an objective: its time, or "4.56 mJ (12.3 us)"; a value alone, in the units of Objective::of.
std::string reached_text(const Objective& objective, const Measurement& measurement);
std::string reached_text(const Objective& objective, double value);
/// Adds energy_j and energy_ci95_j where it was measured; objective_value and objective_ci95 unless the objective is time.
void add_reached(Json& object, const Objective& objective, const Measurement& measurement);
/// Of one run of a kernel that takes so long: "12.3 GFLOP/s, 45.6 GB/s", without what its cost says nothing of.
struct Rates {
  double gflops = 0.0, gbytes_per_second = 0.0;
};
Rates rates(const KernelSpec& spec, const Problem& problem, double microseconds);
std::string rate_text(const Rates& rates);

/// What a portfolio's rule expects, and how sure it is.
Json json(const Prediction& prediction);
std::string prediction_text(const Prediction& prediction);

/// Columns padded to their widest cell.
std::string table(const std::vector<std::vector<std::string>>& rows);

}  // namespace hone::cli
