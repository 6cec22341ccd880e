#pragma once
// A launch plan as a C header: what hone/plan.h launches.

#include <string>
#include <string_view>

#include "engine/runtime/launch_plan.hpp"

namespace hone::cli {

struct PlanSubject {
  const KernelSpec* spec = nullptr;
  const Problem* problem = nullptr;
  const DeviceInfo* device = nullptr;
};

/// "softmax.bf16.8192x8192.sm_90a" -> "softmax_bf16_8192x8192_sm_90a"
std::string c_identifier(std::string_view name);
/// A header that defines `identifier`, a hone_plan with its code. The device is of cuda.
std::string plan_header(const PlanSubject& subject, const LaunchPlan& plan, const std::string& identifier);

}  // namespace hone::cli
