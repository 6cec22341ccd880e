// What lets a connection read a store of an older version with the queries of today's.

#include <array>

#include "cache/migrations.hpp"

namespace hone::cache {
namespace {

// Temporary views through which a connection reads an older version as today's; they take precedence over the tables of the same name.
// Entry i is what version i + 1 lacks. Where the file is upgraded meanwhile, the first column of a name is the table's own.
constexpr const char* kLikeVersion2 = R"sql(
CREATE TEMP VIEW model AS SELECT '' AS kernel, '' AS strategy, x'' AS bytes, '' AS updated_at WHERE 0;
)sql";
constexpr const char* kLikeVersion3 = R"sql(
CREATE TEMP VIEW trial AS SELECT *, 0 AS by_graph FROM main.trial;
CREATE TEMP VIEW final_measurement AS SELECT *, 0 AS by_graph FROM main.final_measurement;
)sql";
constexpr const char* kLikeVersion4 = R"sql(
CREATE TEMP VIEW device AS SELECT *, '' AS share FROM main.device;
CREATE TEMP VIEW session AS SELECT *, 'default' AS input_profile, 'time' AS objective, 'none' AS accuracy_bound FROM main.session;
CREATE TEMP VIEW record AS SELECT *, 0 AS by_graph, 'default' AS input_profile, 'time' AS objective, 'none' AS accuracy_bound,
  '' AS content, '' AS code_digest, '' AS seal FROM main.record;
CREATE TEMP VIEW compiled AS SELECT *, '' AS content, '' AS code_digest, '' AS seal FROM main.compiled;
)sql";
constexpr const char* kLikeVersion5 = "";  // it holds more, in the same columns
constexpr const char* kLikeVersion6 = R"sql(
CREATE TEMP VIEW operation_record AS SELECT '' AS operation, '' AS dtype, '' AS layout, 1 AS alignment, 0 AS device, '' AS input_profile,
  '' AS objective, '' AS accuracy_bound, '' AS timing_profile, '' AS shape, '' AS kernel, '' AS source_hash, 0 AS session,
  '' AS created_at, 0 AS generation WHERE 0;
)sql";
constexpr const char* kLikeVersion7 = R"sql(
DROP VIEW IF EXISTS temp.record;
CREATE TEMP VIEW record AS SELECT *, 0 AS by_graph, 'default' AS input_profile, 'time' AS objective, 'none' AS accuracy_bound,
  '' AS content, '' AS code_digest, '' AS seal, 0 AS generation FROM main.record;
CREATE TEMP VIEW IF NOT EXISTS operation_record AS SELECT *, 0 AS generation FROM main.operation_record;
CREATE TEMP VIEW record_state AS SELECT 0 AS record, 0 AS generation, '' AS state WHERE 0;
CREATE TEMP VIEW change AS SELECT 0 AS generation, '' AS what, '' AS created_at WHERE 0;
)sql";
constexpr const char* kLikeVersion8 = R"sql(
CREATE TEMP VIEW portfolio AS SELECT '' AS operation, '' AS dtype, '' AS device, '' AS statics, '' AS shapes, '' AS input_profile,
  '' AS objective, '' AS accuracy_bound, '' AS timing_profile, 0 AS generation, '' AS text, '' AS created_at WHERE 0;
)sql";
constexpr const char* kLikeVersion9 = R"sql(
DROP VIEW IF EXISTS temp.trial;
DROP VIEW IF EXISTS temp.final_measurement;
CREATE TEMP VIEW trial AS SELECT *, 0 AS by_graph, NULL AS elapsed_seconds, '' AS device, 1.0 AS factor FROM main.trial;
CREATE TEMP VIEW final_measurement AS SELECT *, 0 AS by_graph, '' AS device FROM main.final_measurement;
CREATE TEMP VIEW control AS SELECT 0 AS id, 0 AS session, '' AS device, x'' AS samples, 0.0 AS median_us, 0.0 AS ci95_low_us,
  0.0 AS ci95_high_us, 0 AS raced_out, 0 AS by_graph, 0.0 AS sm_clock_mhz, 0.0 AS memory_clock_mhz, 0.0 AS temperature_c, 0.0 AS power_w,
  0 AS throttle_reasons, 0 AS discarded_samples, 1.0 AS factor, '' AS departure WHERE 0;
)sql";
constexpr const char* kLikeVersion10 = R"sql(
DROP VIEW IF EXISTS temp.trial;
DROP VIEW IF EXISTS temp.final_measurement;
DROP VIEW IF EXISTS temp.record;
CREATE TEMP VIEW trial AS SELECT *, 0 AS by_graph, NULL AS elapsed_seconds, '' AS device, 1.0 AS factor, NULL AS energy_j,
  NULL AS energy_low_j, NULL AS energy_high_j FROM main.trial;
CREATE TEMP VIEW final_measurement AS SELECT *, 0 AS by_graph, '' AS device, NULL AS energy_j, NULL AS energy_low_j, NULL AS energy_high_j
  FROM main.final_measurement;
CREATE TEMP VIEW record AS SELECT *, 0 AS by_graph, 'default' AS input_profile, 'time' AS objective, 'none' AS accuracy_bound,
  '' AS content, '' AS code_digest, '' AS seal, 0 AS generation, NULL AS energy_j, NULL AS energy_low_j, NULL AS energy_high_j
  FROM main.record;
)sql";
constexpr const char* kLikeVersion11 = "";  // what it has more is read on servers alone
constexpr std::array kLikeNext{kLikeVersion2, kLikeVersion3, kLikeVersion4, kLikeVersion5,  kLikeVersion6,
                               kLikeVersion7, kLikeVersion8, kLikeVersion9, kLikeVersion10, kLikeVersion11};

}  // namespace

Result<void> read_as_current(const SqliteDatabase& database, std::uint32_t version) {
  for (std::size_t i = version == 0 ? 0 : version - 1; i < kLikeNext.size(); ++i) {
    HONE_TRY(database.execute(kLikeNext.at(i), "read an older schema"));
  }
  return {};
}

}  // namespace hone::cache
