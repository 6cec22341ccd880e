#pragma once
// Times configurations of one kernel at one shape after another in the same process, which costs milliseconds each: a session would start
// its processes anew for every shape.

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/tune/session.hpp"
#include "engine/worker/worker_process.hpp"

namespace hone {

inline constexpr std::string_view kSurveyStrategy = "survey";  // of the sessions that surveys are kept as

/// What a survey holds its candidates to.
enum class Gate : std::uint8_t {
  kOneRun,  ///< one run at the problem itself
  kFull,    ///< all that is asked of what wins a session: also small problems, inputs that provoke and repeated launches
};

struct Surveyed {
  std::vector<Trial> trials;  ///< of the candidates that were reached
  Result<void> ended;         ///< why no more were
};

class Survey {
 public:
  /// `common`: the device, the settings and the seed. Shapes must have the same dtypes and STATIC fields.
  Survey(const TuneRequest& common, const KernelSpec& spec, Store& store);

  /// Makes what measure() of the problem begins with: buffers, inputs and the reference's answer. Surveys of several kernels may do so side
  /// by side, while none measures. What fails here fails there, and is said there.
  void prepare(const Problem& problem, Gate gate = Gate::kOneRun);
  /// Compiles what the store lacks, then validates and times the candidates in their order, as many as `seconds` allow and at
  /// least one. The first that is right is what the others race against. Trials of those that were reached are kept as a session of the
  /// store, whatever ended it. A candidate that takes the process down is charged, and the others go on in a new one. Errors: the reference
  /// does not compile; the shape is too large for the device; a store or worker failure; kCancelled.
  Surveyed measure(const Problem& problem, const std::vector<Configuration>& candidates, double seconds, Gate gate = Gate::kOneRun);

 private:
  Result<void> start(const Problem& problem);
  /// The store's, or compiled for it.
  Result<Compiled> reference(const Problem& problem);
  /// Adds to `trials`.
  Result<void> reach(const Problem& problem, const std::vector<Configuration>& candidates, double seconds, Gate gate,
                     std::vector<Trial>& trials);
  /// The code of the default, by which it is seen what candidates are not to be held to: nothing where it does not compile.
  Result<std::optional<Compiled>> standard(const Problem& problem);
  template <class Reply>
  Result<Reply> ask(const wire::Message& message, Result<Reply> (*read)(const wire::Message&));
  Result<void> keep(const Problem& problem, std::vector<Trial>& trials, double seconds);
  [[nodiscard]] CompiledKey key_of(const Problem& problem, const std::string& configuration) const;

  const TuneRequest& common_;
  const KernelSpec& spec_;
  Store& store_;
  boost::asio::io_context context_;
  std::unique_ptr<WorkerProcess> worker_;
  double prepared_seconds_ = 0.0;  ///< since the last survey
  std::uint64_t generation_ = 0;   ///< of the process: none draws the inputs of another
};

}  // namespace hone
