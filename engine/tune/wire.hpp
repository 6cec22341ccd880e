#pragma once
// Messages between tuner and worker: CBOR objects, each behind its length as 4 little-endian bytes.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hone/device.hpp"
#include "hone/measure.hpp"
#include "hone/problem.hpp"
#include "hone/trial.hpp"

namespace hone::wire {

using Message = nlohmann::json;

std::vector<std::uint8_t> encode(const Message& message);              ///< with the length in front
Message decode(const std::uint8_t* bytes, std::size_t size);           ///< without it; throws nlohmann's parse_error
constexpr std::size_t kHeaderBytes = 4;
std::size_t body_size(const std::uint8_t (&header)[kHeaderBytes]);

Message to_message(const DeviceInfo& info);
DeviceInfo device_from(const Message& message);

Message to_message(const Problem& problem);
Problem problem_from(const Message& message);

Message to_message(const Compiled& compiled);
Compiled compiled_from(const Message& message);

Message to_message(const Error& error);
Error error_from(const Message& message);

Message to_message(const MeasureSettings& settings);
MeasureSettings settings_from(const Message& message);

Message to_message(const Measurement& measurement);
Measurement measurement_from(const Message& message);

/// All of a trial but its configuration and position, which the tuner knows.
Message to_message(const Trial& trial);
void fill_from(const Message& message, Trial& trial);

}  // namespace hone::wire
