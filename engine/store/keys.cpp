#include <fmt/format.h>

#include "engine/kernel/static_fields.hpp"
#include "engine/store/store.hpp"

namespace hone {

std::string dtypes_text(const RecordKey& key) { return key.dtypes.empty() ? name(key.problem.dtype) : key.dtypes; }

Purpose purpose_within(double max_error, std::string_view given) {
  Purpose purpose;
  if (!given.empty()) {
    purpose.input_profile = fmt::format("given:{}", given);
  }
  if (max_error > 0.0) {
    purpose.accuracy_bound = fmt::format("{:g}", max_error);
  }
  return purpose;
}

RecordKey record_key(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, const Purpose& purpose) {
  RecordKey key;
  key.kernel = spec.name;
  key.source_hash = spec.source_hash;
  key.problem = problem;
  key.purpose = purpose;
  key.device = device;
  return key;
}

CompiledKey compiled_key(const KernelSpec& spec, const Problem& problem, std::string configuration, const DeviceInfo& device) {
  const auto compiler = device.environment.find("compiler");
  return {code_hash(spec, problem), problem.dtype, std::move(configuration), device.architecture,
          compiler == device.environment.end() ? "" : compiler->second};
}

}  // namespace hone
