#include "engine/tune/newly_legal.hpp"

#include <algorithm>
#include <iterator>

#include "engine/device/validity.hpp"

namespace hone {

std::vector<Configuration> legal_neighbours(const KernelSpec& spec, const Configuration& configuration, const Problem& problem,
                                            const DeviceInfo& device) {
  std::vector<Configuration> all;
  Validity is_valid(spec, problem, device);
  for (std::size_t i = 0; i < spec.parameters.size(); ++i) {
    for (const Value& value : spec.parameters[i].values) {
      Configuration other = configuration;
      other.values[i] = value;
      if (other != configuration && is_valid(other)) {
        all.push_back(std::move(other));
      }
    }
  }
  return all;
}

std::vector<Configuration> likely_neighbours(const KernelSpec& spec, const Configuration& configuration, const Problem& problem,
                                             const DeviceInfo& device) {
  std::vector<Configuration> legal = legal_neighbours(spec, configuration, problem, device), likely;
  Validity is_likely(spec, spec.expectations, problem, device);
  std::ranges::copy_if(legal, std::back_inserter(likely), [&](const Configuration& other) { return is_likely(other); });
  return likely.empty() ? legal : likely;
}

std::vector<Configuration> newly_legal(const KernelSpec& spec, const Configuration& configuration, const Problem& here,
                                       const Problem& there, const DeviceInfo& device) {
  std::vector<Configuration> all = legal_neighbours(spec, configuration, here, device);
  Validity is_valid_there(spec, there, device);
  std::erase_if(all, [&](const Configuration& other) { return is_valid_there(other); });
  return all;
}

}  // namespace hone
