#pragma once
// The records of a store against today's device: are they still right, and still the fastest.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/store/store.hpp"
#include "engine/tune/session.hpp"

namespace hone {

enum class Standing {
  kOk,
  kStale,         ///< right and not slower, but tuned in another environment (driver, compiler)
  kWrong,         ///< its code fails the validation, is missing or was changed, or cannot be made again
  kSlower,        ///< another configuration is faster, and their intervals part
  kUntrusted,     ///< its code came from elsewhere: it is not launched, not even to look at it (docs/trust.md)
  kNotCheckable,  ///< its source is not known, or its device is another one
};
std::string_view name(Standing standing);

struct VerifyRequest {
  std::vector<KernelSpec> specs;  ///< the sources that are known; a record belongs to one by its hash
  std::string kernel;             ///< records of this kernel only; empty: of all
  Registry::Found device;
  std::size_t rivals = 3;  ///< of the store's trials of the same problem, the fastest besides the record: timed with it
  std::uint64_t seed = 0;  ///< of the inputs
  MeasureSettings measure;
  bool update = false;                                       ///< what is wrong, slower or stale gives way to what was found
  std::function<void(const std::string&)> on_progress = {};  ///< called with the record that is looked at
  std::stop_token stop = {};
};

struct Verified {
  std::string kernel, product;
  Problem problem;
  const KernelSpec* spec = nullptr;            ///< of VerifyRequest::specs; null with kNotCheckable
  std::optional<Configuration> configuration;  ///< of the record
  Standing standing = Standing::kOk;
  std::string detail;  ///< why it is not ok
  std::vector<Staleness> stale;
  std::optional<double> recorded_us;
  std::optional<Measurement> now;  ///< of the record's own code, beside `default_us` and the rivals
  std::optional<double> default_us;
  std::optional<Measured> better;  ///< kSlower: the fastest
  bool updated = false;
};

/// The record's own compiled code is validated and timed, interleaved with the default and the rivals, which are compiled anew. The store
/// is only written with `update`. Errors: no worker, no store to write to, kCancelled.
Result<std::vector<Verified>> verify(const VerifyRequest& request, Store& store);

}  // namespace hone
