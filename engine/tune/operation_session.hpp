#pragma once
// A session of an operation: all kernels of it that are legal, one budget, one winner.

#include "engine/kernel/operation.hpp"
#include "engine/tune/session.hpp"

namespace hone {

struct OperationRequest {
  const Operation* operation = nullptr;
  Problem problem;     ///< in the order of the operation's definition
  TuneRequest common;  ///< what holds for all kernels: all but spec and problem; without a restriction
};

/// What became of a kernel.
enum class Part {
  kWon,
  kFinalist,  ///< in the final round, and slower
  kBehind,    ///< stopped early, by itself or with the session
  kFailed,    ///< its default is wrong, does not compile, or could not be run
  kIllegal,   ///< not for the dtype, the problem or the device
};
std::string_view name(Part part);

struct KernelReport {
  const KernelSpec* spec = nullptr;
  Part part = Part::kIllegal;
  std::string why;                                ///< kFailed, kIllegal
  std::optional<TuneReport> tuned;                ///< of what was started
  std::optional<double> best_us;                  ///< of its trials, or of the final round
  std::optional<Measurement> beside_others = {};  ///< of its winner in the final round of all kernels, which `best_us` is of then
};

struct OperationReport {
  std::vector<KernelReport> kernels;  ///< all of the operation's, in its order
  std::optional<std::size_t> winner;  ///< of these; nothing if no configuration of any was right
  bool interrupted = false;
  double seconds = 0.0;
  std::int64_t trials = 0;
  double default_us = 0.0;  ///< of the kernel that would serve without any tuning, in its default configuration; 0 if it failed
  double speedup = 0.0;     ///< that / the winner's
  std::vector<std::string> notes;
};

/// Runs or resumes a session of the operation. Its kernels' sessions are those of tune(), in turns on one device: each gets its default and
/// a first share, then the one that may still end up fastest, and one that cannot catch up stops. The fastest go through a final round each
/// and are then timed in turns. Each finalist's winner becomes the record of its kernel, and the store knows which of them serves. Errors:
/// no kernel is legal; all fail, the error of the first; as tune().
Result<OperationReport> tune(const OperationRequest& request, Store& store, const Registry& registry);

}  // namespace hone
