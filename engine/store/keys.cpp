#include <fmt/format.h>

#include "engine/base/digest.hpp"
#include "engine/kernel/static_fields.hpp"
#include "engine/store/store.hpp"

namespace hone {

std::string dtypes_text(const RecordKey& key) { return key.dtypes.empty() ? name(key.problem.dtype) : key.dtypes; }

Purpose purpose_within(double max_error, std::string_view given, const Objective& objective) {
  Purpose purpose;
  purpose.objective = name(objective);
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

RecordKey operation_key(const std::string& operation, const Problem& problem, const DeviceInfo& device, const Purpose& purpose) {
  RecordKey key;
  key.kernel = operation;
  key.problem = problem;
  key.purpose = purpose;
  key.device = device;
  return key;
}

CompiledKey compiled_key(const KernelSpec& spec, const Problem& problem, std::string configuration, const DeviceInfo& device) {
  const auto compiler = device.environment.find("compiler");
  // A judge's reference is its code, which may change while the kernel's own stays.
  const bool judged = spec.judge != nullptr && configuration == "reference";
  const std::string code = code_hash(spec, problem);
  return {judged ? digest(code + spec.judge->source_hash) : code, problem.dtype, std::move(configuration), device.architecture,
          compiler == device.environment.end() ? "" : compiler->second};
}

}  // namespace hone
