#pragma once
// What Engine is behind its interface: it looks problems up, loads them and keeps them.

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/runtime/kernel_names.hpp"
#include "engine/runtime/loader.hpp"
#include "engine/runtime/parts.hpp"
#include "engine/runtime/problems.hpp"
#include "engine/runtime/store_access.hpp"
#include "engine/store/library_lookup.hpp"
#include "engine/store/operation_lookup.hpp"

namespace hone {

/// Thread-safe. Locks are taken in the order AskedProblem::loading, device_mutex_; mutex_ is never held while another is asked for.
class EngineCore {
 public:
  static Result<std::shared_ptr<EngineCore>> open(const EngineOptions& options);
  EngineCore(const EngineCore&) = delete;
  EngineCore& operator=(const EngineCore&) = delete;
  ~EngineCore() = default;

  /// What the name means now.
  Result<std::shared_ptr<const NamedOperation>> find(std::string_view name) const { return names_.find(name); }
  Result<void> add_kernel(KernelSpec read) { return names_.add(std::move(read)); }
  /// So that the first lookup of such a problem does not read the portfolios that came with Hone.
  void read_portfolios(const NamedOperation& known, const Problem& like) const;
  /// Where the problem is not loaded, or was tuned since, loads it in the calling thread.
  Result<Kernel> look_up(const std::shared_ptr<const NamedOperation>& known, const Problem& problem);
  /// Whatever is loaded and may serve, at once; `stands_in` says whether something else is being loaded meanwhile.
  Result<Kernel> look_up_at_once(const std::shared_ptr<const NamedOperation>& known, const Problem& problem, bool& stands_in);

  [[nodiscard]] const Origin& origin() const { return origin_; }
  [[nodiscard]] const DeviceInfo& device_info() const { return found_.info; }
  [[nodiscard]] LaunchDevice& device() const { return *device_; }
  [[nodiscard]] Workspaces& workspaces() const { return *workspaces_; }
  [[nodiscard]] std::vector<std::string> warnings() const { return store_->warnings(); }
  /// EngineOptions::generation, else the store's newest; 0 without a store.
  [[nodiscard]] Result<std::int64_t> store_generation() const;
  [[nodiscard]] BackgroundReport report() const;
  /// This process has tuned the problem: later lookups find its record.
  void note_tuned(const NamedOperation& known, const Problem& problem);
  /// Background tuning and checks end with the engine, not with what it handed out.
  void end_background();
  /// What was launched since it was written last; nothing where it is not recorded.
  Result<void> write_workload() { return recorder_ != nullptr ? recorder_->write() : Result<void>(); }
  [[nodiscard]] std::size_t most_problems() const { return most_problems_; }
  /// Rises where something that was found before should be looked up again.
  [[nodiscard]] const std::atomic<std::uint64_t>& generation() const { return generation_; }
  /// Whether the problem may be replaced some day: it was not tuned, and is being tuned in the background.
  [[nodiscard]] bool may_be_tuned(const Prepared& prepared) const;

 private:
  explicit EngineCore(const EngineOptions& options) : most_problems_(options.most_problems), problems_(options.most_problems) {}
  Result<std::shared_ptr<Prepared>> load_choice(const NamedOperation& known, const KernelSpec& spec, const Problem& problem, Choice choice,
                                                Store* from);
  Result<std::shared_ptr<Prepared>> load_other(const OperationChoice& failed, const NamedOperation& known, const Problem& problem,
                                               Store* from, const std::string& why);
  Result<std::shared_ptr<Prepared>> load_default(const NamedOperation& known, const Problem& problem, Store* from, const std::string& why);
  [[nodiscard]] Result<void> check_generation(const std::filesystem::path& path) const;
  Result<std::shared_ptr<Prepared>> load(const NamedOperation& known, const Problem& problem, const std::shared_ptr<Prepared>& standing);
  [[nodiscard]] bool is_current(const std::shared_ptr<Prepared>& standing) const;
  Result<void> refresh(AskedProblem& asked, const NamedOperation& known, const Problem& problem);
  Result<std::shared_ptr<Prepared>> make(const KernelSpec& spec, const Problem& problem, LaunchPlan plan);
  Result<std::shared_ptr<Prepared>> stand_in(const NamedOperation& known, const Problem& problem);
  void load_in_background(const std::string& key, const std::shared_ptr<AskedProblem>& asked,
                          const std::shared_ptr<const NamedOperation>& known, const Problem& problem);
  void want(const std::string& key, const std::shared_ptr<const NamedOperation>& known, const Problem& problem, const Prepared& prepared);
  void start_recording(const std::filesystem::path& file);
  void count_launches(Prepared& prepared, const NamedOperation& known, const Problem& problem) const;
  void supersede(const std::string& key);
  Result<void> start_tuner(const BackgroundTuning& settings, const std::filesystem::path& path, Trust trust);
  Result<void> start_checks(const EngineOptions& options);
  Result<std::shared_ptr<const Prepared>> prepare_standard(const Prepared& served);
  void reject(const Prepared& served, const LaunchCheck& found);
  /// Whether a check found the configuration wrong, of whatever shape.
  [[nodiscard]] bool is_rejected(const OperationChoice& chosen) const;
  /// And no default is launched in its place.
  [[nodiscard]] bool launches_rejected(const Prepared& prepared) const;
  [[nodiscard]] bool is_rejected(std::string_view kernel, const DTypes& dtypes, const std::string& configuration) const;

  Origin origin_;
  FoundDevice found_;
  std::shared_ptr<LaunchDevice> device_;
  std::shared_ptr<Workspaces> workspaces_;
  std::unique_ptr<StoreAccess> store_;
  std::unique_ptr<Libraries> libraries_;
  std::unique_ptr<WorkloadRecorder> recorder_;  ///< null: EngineOptions::record_workload is empty
  StoreView view_;
  double max_error_ = 0.0;
  std::string given_;
  Objective objective_;
  std::size_t most_problems_;
  std::size_t check_one_in_ = 0;
  std::shared_ptr<LaunchChecks> checks_;
  std::atomic<std::uint64_t> generation_{1};
  std::atomic<bool> tunes_{false};
  Problems problems_;
  KernelNames names_;
  std::mutex device_mutex_;         ///< of a device that loads in one thread at a time
  mutable std::mutex mutex_;        ///< of the next two
  std::set<std::string> rejected_;  ///< configurations that a check found wrong
  std::shared_ptr<Background> tuner_;
  Loader loader_;  ///< last: its thread ends before what it uses
};

}  // namespace hone
