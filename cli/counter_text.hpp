#pragma once
// A device's counters for people and for programs.

#include <string>

#include "cli/run_verb.hpp"
#include "engine/device/counters.hpp"

namespace hone::cli {

/// An object of the values by their names.
Json json(const Counters& counters);
/// "12.3 kB", "4.56 GB": of powers of ten, as rates are.
std::string bytes_text(double bytes);
/// A value in its counter's unit: "1.23 GB", "45.6 %".
std::string value_text(const CounterKind& kind, double value);
/// Lines with a label each, in the columns of `hone run`.
std::string counter_lines(const Counters& counters);

}  // namespace hone::cli
