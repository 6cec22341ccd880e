#pragma once
// One instance of a strategy with all that its context points to.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/plugin/guarded.hpp"
#include "engine/plugin/space_view.hpp"
#include "engine/plugin/strategy.hpp"

namespace hone::plugin_host {

hone_observation to_c(const Observation& observation);
/// What a plugin of an older version can be told of an outcome that it does not know.
hone_observation in_terms_of(std::uint32_t abi, hone_observation observation);

/// What a strategy may keep for later sessions. It goes into the store, and from there into every session of the kernel.
constexpr std::size_t kMostModelBytes = std::size_t{1} << 20;

/// Every function returns the failure of the plugin, also one it threw, or nothing.
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
  hone_strategy table_;  ///< a copy: a call that never returns keeps the instance, and not its plugin
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
