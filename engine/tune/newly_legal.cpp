#include "engine/tune/newly_legal.hpp"

namespace hone {

std::vector<Configuration> newly_legal(const KernelSpec& spec, const Configuration& configuration, const Problem& here,
                                       const Problem& there, const DeviceInfo& device) {
  std::vector<Configuration> all;
  for (std::size_t i = 0; i < spec.parameters.size(); ++i) {
    for (const Value& value : spec.parameters[i].values) {
      Configuration other = configuration;
      other.values[i] = value;
      if (other != configuration && valid_for(spec, here, device, other) && !valid_for(spec, there, device, other)) {
        all.push_back(std::move(other));
      }
    }
  }
  return all;
}

}  // namespace hone
