#pragma once
// The passes of a launch with all expressions evaluated, and what cannot launch.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/tensor_map.hpp"
#include "engine/device/trial.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "hone/device_info.hpp"

namespace hone {

/// d.NAME, for expressions.
Bindings bindings(const DeviceInfo& info);

/// Names for d.*; a kernel file may use no other.
std::span<const std::string_view> device_property_names();

/// An argument that is copied to constant memory, on the stream of the launch.
struct ConstantCopy {
  int argument = 0;    ///< of the spec: the address to copy from
  std::string symbol;  ///< the variable's name in the source
  std::int64_t bytes = 0;
};

/// The geometry of one pass with all expressions evaluated.
struct PassLaunch {
  std::array<std::int64_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::int64_t shared_bytes = 0;
  bool cooperative = false;
  bool overlap = false;        ///< begin while what was launched before it runs; never on devices without dependent launches
  std::vector<int> arguments;  ///< as in Pass; of one that repeats, those of this run
  std::vector<std::array<int, 2>> exchanged = {};  ///< what differs from Pass::arguments: the argument there, and that of this run
  std::int32_t run_index = 0;                      ///< which run of its pass it is: the value of kRunIndexParameter
  std::vector<TensorMap> tensor_maps;              ///< as in Pass
  std::size_t symbol = 0;                          ///< index into Compiled::symbols
  std::vector<std::int64_t> problem;               ///< the Problem by value; empty: its fields are longs in their order
  std::vector<std::int64_t> fields;                ///< what it was made of: the values of all fields that are not STATIC
  std::vector<ConstantCopy> constants;             ///< copied before the pass: all of a launch before its first
  std::int64_t extent = 0;  ///< of a reference's pass: it is called for [0, extent), in a geometry of the device's own
};

/// How often a pass can run: each run is a launch of its own, and a number beyond is a mistake.
inline constexpr std::int64_t kMostRepeats = 4096;

/// Evaluates a kernel's launch expressions and tensor maps; disabled passes are left out, and so are those without a block (a grid of 0);
/// one that repeats is there as often. All that a launch needs besides code and addresses. Errors: an expression that fails, a dimension or
/// number of runs below 1 (of the grid below 0, of runs above kMostRepeats), a tensor map that the hardware does not have.
Result<std::vector<PassLaunch>> plan_launch(const KernelSpec& spec, const Problem& problem, const Configuration& configuration,
                                            const DeviceInfo& info);

/// What an AnswerCode launches, in its order.
struct AnswerPlan {
  std::vector<PassLaunch> reference, generators, acceptances;
  std::vector<PassLaunch> originals;  ///< of in-place arguments: into what the reference goes on with
  std::vector<PassLaunch> fills;      ///< of inputs that their marks describe
};
/// What has an extent of 0 is left out. Errors: an extent that fails, or is below 0.
Result<AnswerPlan> plan_answer(const KernelSpec& spec, const Problem& problem);
/// The reference's part of it. Errors: an extent that fails, or is below 0.
Result<std::vector<PassLaunch>> plan_reference(const KernelSpec& spec, const Problem& problem);

/// Whether the device can launch this at all: the static gate. Returns the reason, empty if it can.
std::string static_reject(const std::vector<PassLaunch>& plan, const Resources& resources, const DeviceInfo& info);

}  // namespace hone
