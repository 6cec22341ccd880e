#pragma once
// What a store has served: generations, states of records, history.

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "hone/error.hpp"
#include "hone/problem.hpp"

namespace hone {

/// What people decided about a record. A new one is a candidate.
enum class RecordState {
  kCandidate,  ///< the winner of a session: served, unless only approved records are asked for
  kApproved,
  kPinned,     ///< approved, and served although newer records exist
  kWithdrawn,  ///< not served, and its configuration does not become a record of its problem again
};
std::string_view name(RecordState state);
/// Errors, kInvalidArgument: no such state.
Result<RecordState> parse_record_state(std::string_view text);

/// Which records a store gives out. Every change of what it serves (a record, a state, a roll-back) has a generation: a number that grows.
struct StoreView {
  static constexpr std::int64_t kNewest = std::numeric_limits<std::int64_t>::max();
  std::int64_t generation = kNewest;  ///< what was served then, whatever was written since
  bool approved_only = false;         ///< no candidates
};

/// A record as people see it, without its code.
struct RecordInfo {
  std::int64_t id = 0, generation = 0;
  RecordState state = RecordState::kCandidate;
  bool served = false;  ///< what a lookup of its problem finds
  std::string kernel, source_hash, dtypes;
  Shape shape;
  std::string accuracy_bound;  ///< Purpose::accuracy_bound
  std::string input_profile;   ///< Purpose::input_profile
  std::string product, configuration;
  double median_us = 0.0, default_us = 0.0;  ///< 0: not measured
  std::int64_t session = 0;
  std::string created_at;  ///< UTC, ISO 8601
};

/// A generation and what it changed.
struct Change {
  std::int64_t generation = 0;
  std::string what, created_at;
};

}  // namespace hone
