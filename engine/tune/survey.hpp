#pragma once
// Times configurations of one kernel at one shape after another in the same process, which costs milliseconds each: a session would start
// its processes anew for every shape.

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/tune/session.hpp"
#include "engine/worker/worker_process.hpp"

namespace hone {

inline constexpr std::string_view kSurveyStrategy = "survey";  // of the sessions that surveys are kept as

class Survey {
 public:
  /// `common`: the device, the settings and the seed. Shapes must have the same dtypes and STATIC fields.
  Survey(const TuneRequest& common, const KernelSpec& spec, Store& store);

  /// Compiles what the store lacks, then validates (one run) and times the candidates in their order, as many as `seconds` allow and at
  /// least one. The first that is right is what the others race against. Trials of those that were reached are kept as a session of the
  /// store. A candidate that takes the process down is charged, and the others go on in a new one. Errors: the reference does not compile;
  /// the shape is too large for the device; a store or worker failure; kCancelled.
  Result<std::vector<Trial>> measure(const Problem& problem, const std::vector<Configuration>& candidates, double seconds);

 private:
  Result<void> start(const Problem& problem);
  /// The store's, or compiled for it.
  Result<Compiled> reference(const Problem& problem);
  Result<wire::SurveyResult> ask(const wire::Message& message);
  Result<void> keep(const Problem& problem, std::vector<Trial>& trials, double seconds);
  [[nodiscard]] CompiledKey key_of(const Problem& problem, const std::string& configuration) const;

  const TuneRequest& common_;
  const KernelSpec& spec_;
  Store& store_;
  boost::asio::io_context context_;
  std::unique_ptr<WorkerProcess> worker_;
  std::uint64_t generation_ = 0;  ///< of the process: none draws the inputs of another
};

}  // namespace hone
