#include "engine/device/counters.hpp"

#include <algorithm>
#include <array>

namespace hone {
namespace {

using enum CounterUnit;

constexpr std::array<CounterKind, 35> kCounterKinds{{
    {"time_us", "while the counters ran", kMicroseconds},
    {"dram_read_bytes", "read from DRAM", kBytes},
    {"dram_write_bytes", "written to DRAM", kBytes},
    {"dram_share", "of DRAM's peak rate", kShare},
    {"l2_read_bytes", "read from L2", kBytes},
    {"l2_write_bytes", "written to L2", kBytes},
    {"l2_share", "of L2's peak rate", kShare},
    {"l2_hit_rate", "of L2's accesses hit", kShare},
    {"l1_hit_rate", "of L1's accesses hit", kShare},
    {"tensor_pipe", "of the time the tensor cores were busy", kShare},
    {"fma_pipe", "of the time the FMA pipes were busy", kShare},
    {"issue_slots", "of the issue slots were used", kShare},
    {"instructions", "warp instructions executed", kCount},
    {"occupancy", "of the possible warps were resident", kShare},
    {"shared_wavefronts", "wavefronts in shared memory", kCount},
    {"shared_conflicts", "of them more because of bank conflicts", kCount},
    {"stall_selected", "issuing an instruction", kShare},
    {"stall_not_selected", "ready, but another warp issued", kShare},
    {"stall_wait", "waiting for an instruction of fixed latency", kShare},
    {"stall_long_scoreboard", "waiting for global or local memory", kShare},
    {"stall_short_scoreboard", "waiting for shared memory or a special function", kShare},
    {"stall_barrier", "waiting at a barrier", kShare},
    {"stall_gmma", "waiting for warpgroup instructions", kShare},
    {"stall_math_pipe_throttle", "waiting for a busy arithmetic pipe", kShare},
    {"stall_mio_throttle", "waiting for the queue of shared memory and special functions", kShare},
    {"stall_lg_throttle", "waiting for the queue of global and local memory", kShare},
    {"stall_tex_throttle", "waiting for the texture queue", kShare},
    {"stall_membar", "waiting at a memory fence", kShare},
    {"stall_sleeping", "sleeping", kShare},
    {"stall_drain", "waiting for stores before the exit", kShare},
    {"stall_branch_resolving", "waiting for a branch's target", kShare},
    {"stall_no_instruction", "waiting for instructions to be fetched", kShare},
    {"stall_dispatch_stall", "waiting for the dispatcher", kShare},
    {"stall_imc_miss", "waiting for constants", kShare},
    {"stall_misc", "waiting for something else", kShare},
}};

}  // namespace

std::span<const CounterKind> counter_kinds() { return kCounterKinds; }

const CounterKind* find_counter_kind(std::string_view name) {
  const auto found = std::ranges::find(kCounterKinds, name, &CounterKind::name);
  return found == kCounterKinds.end() ? nullptr : &*found;
}

std::optional<double> Counters::find(std::string_view name) const {
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional<double>(found->second);
}

}  // namespace hone
