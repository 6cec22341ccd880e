#pragma once
// How values of the engine become columns and come back. bind_* and read_* of one kind list the same columns in the same order.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cache/database.hpp"
#include "engine/store/store.hpp"

namespace hone::cache {

using TextMap = std::map<std::string, std::string, std::less<>>;

/// UTC, ISO 8601, to the millisecond: "2025-11-21T05:24:00.123Z".
std::string utc_now();

std::string json_text(const std::vector<std::string>& list);
std::string json_text(const TextMap& map);
std::vector<std::string> read_json_list(std::string_view json);
TextMap read_json_map(std::string_view json);

/// The identity of a device among records: JSON of its resources, and a digest over that, product, architecture, MIG profile and share.
struct DeviceKey {
  std::string digest, properties;
};
DeviceKey device_key(const DeviceInfo& info);
/// DeviceInfo::properties of DeviceKey::properties; a device with them has the same key.
std::map<std::string, std::int64_t, std::less<>> read_device_properties(std::string_view json);

/// input_profile, objective, accuracy_bound, timing_profile
void bind_purpose(Statement& statement, const Purpose& purpose);
Purpose read_purpose(Statement& statement);

/// kernel, source_hash, dtype, layout, alignment, device (its digest), the purpose. The shape is left to the caller.
void bind_key(Statement& statement, const RecordKey& key);
constexpr std::string_view kKeyCondition =
    "kernel = ? AND source_hash = ? AND dtype = ? AND layout = ? AND alignment = ? AND device = (SELECT id FROM device WHERE digest = ?) "
    "AND input_profile = ? AND objective = ? AND accuracy_bound = ? AND timing_profile = ?";
/// Two tables for WITH: the rows of `record` with a key as `bind_key` binds it, then ?11: a shape, or NULL for any; ?12: the newest
/// generation (`asked`), and the same with their states (`stated`).
std::string stated_records();
/// In which order records of a shape are served.
constexpr std::string_view kServedFirst = "state = 'pinned' DESC, generation DESC, id DESC";
/// Errors, kInvalidArgument: a part of the purpose is empty.
Result<void> check_key(const RecordKey& key);

/// Samples as the store keeps them.
std::vector<double> samples_from_bytes(const std::vector<std::byte>& bytes);
/// samples, median_us, ci95_low_us, ci95_high_us, raced_out, by_graph
void bind_measurement(Statement& statement, const Measurement& measurement);
Measurement read_measurement(Statement& statement);

/// energy_j, energy_low_j, energy_high_j
void bind_energy(Statement& statement, const Measurement& measurement);
void read_energy(Statement& statement, Measurement& measurement);

/// sm_clock_mhz, memory_clock_mhz, temperature_c, power_w, throttle_reasons, discarded_samples
void bind_readings(Statement& statement, const Readings& readings);
Readings read_readings(Statement& statement);

/// registers, spill_bytes, stack_bytes, shared_bytes, occupancy
void bind_resources(Statement& statement, const Resources& resources);
Resources read_resources(Statement& statement);

/// compile_seconds, validate_seconds, time_seconds, overhead_seconds
void bind_seconds(Statement& statement, const StageSeconds& seconds);
StageSeconds read_seconds(Statement& statement);

/// dtype, shape. `dtypes`: the first column as it stands; what this Hone does not know is left at its default.
Result<Problem> read_problem(Statement& statement, std::string& dtypes);

/// Decimal text of an unsigned number. Errors: anything else.
Result<Count> parse_count(std::string_view text);

}  // namespace hone::cache
