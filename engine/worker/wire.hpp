#pragma once
// Messages between tuner and worker: CBOR objects, each behind its length as 4 little-endian bytes.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/device/counters.hpp"
#include "engine/device/device.hpp"
#include "engine/device/trial.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/measure/measure.hpp"

namespace hone::wire {

using Message = nlohmann::json;

std::vector<std::uint8_t> encode(const Message& message);  ///< with the length in front
constexpr std::size_t kHeaderBytes = 4;
std::size_t body_size(const std::uint8_t (&header)[kHeaderBytes]);
/// A message without its length. Errors: not CBOR of the kind that encode() writes, or nested deeper than any message is.
Result<Message> decode(const std::uint8_t* bytes, std::size_t size);

// to_message() and the reader of what it makes. A reader takes nothing for granted: numbers are finite and in their range, texts are UTF-8.

Message to_message(const DeviceInfo& info);
Result<DeviceInfo> read_device(const Message& message);

Message to_message(const Problem& problem);
Result<Problem> read_problem(const Message& message);

Message to_message(const Compiled& compiled);
Result<Compiled> read_compiled(const Message& message);

Message to_message(const Error& error);
Result<void> read_error(const Message& message, Error& error);

Message to_message(const MeasureSettings& settings);
Message to_message(const Incumbent& incumbent);
Result<MeasureSettings> read_settings(const Message& message);
Result<Incumbent> read_incumbent(const Message& message);

/// All of a trial but its configuration and position, which the tuner knows.
Message to_message(const Trial& trial);
Result<void> fill_from(const Message& message, Trial& trial);

Message to_message(const Counters& counters);
Result<Counters> read_counters(const Message& message);

// For the worker, whose requests come from the tuner: a ContractError if one has another shape.
inline DeviceInfo device_from(const Message& message) { return read_device(message).value(); }
inline Problem problem_from(const Message& message) { return read_problem(message).value(); }
inline Compiled compiled_from(const Message& message) { return read_compiled(message).value(); }
inline Incumbent incumbent_from(const Message& message) { return read_incumbent(message).value(); }
inline MeasureSettings settings_from(const Message& message) { return read_settings(message).value(); }

}  // namespace hone::wire
