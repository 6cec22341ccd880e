#pragma once
// One instance of a strategy and everything that its context points to.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/plugin/guarded.hpp"
#include "engine/plugin/space_view.hpp"
#include "engine/plugin/strategy.hpp"

namespace hone::plugin_host {

hone_observation to_c(const Observation& observation);
/// Replaces an outcome that an older plugin does not know by one that it knows.
hone_observation in_terms_of(std::uint32_t abi, hone_observation observation);

/// The size limit of a saved model. It is written to the store and passed to every later session of the kernel.
constexpr std::size_t kMostModelBytes = std::size_t{1} << 20;

/// Every function returns the failure or exception of the plugin, or nothing.
class Instance {
 public:
  Instance(const hone_strategy& table, std::uint32_t abi, StrategyContext context, std::vector<double> parameters);
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance();

  std::optional<Failure> create();
  std::optional<Failure> ask(std::size_t wanted, std::vector<Count>& positions);
  std::optional<Failure> tell(std::vector<hone_observation> observations);
  std::optional<Failure> save(std::string& model);

 private:
  hone_strategy table_;  ///< a copy, because a call that never returns keeps the instance but not its plugin
  std::uint32_t abi_;
  StrategyContext context_;
  std::vector<double> parameters_;
  SpaceView space_;
  hone_position first_{};
  std::vector<std::vector<hone_observation>> prior_observations_;
  std::vector<hone_prior> priors_;
  hone_strategy_context c_context_{};
  void* handle_ = nullptr;
};

}  // namespace hone::plugin_host
