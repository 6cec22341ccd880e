#include "bench/lookup/hot.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <functional>
#include <thread>

#include "bench/lookup/cold.hpp"
#include "bench/lookup/driver_launch.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/plugin/registry.hpp"

namespace hone::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRounds = 50, kLookups = 2000, kLaunches = 200;

double ns(Clock::duration spent) { return std::chrono::duration<double, std::nano>(spent).count(); }

/// The best round of `calls` calls, in nanoseconds a call.
double best_round(int calls, const std::function<void(int)>& round, const std::function<void()>& between) {
  double best = 1e30;
  for (int i = 0; i < kRounds; ++i) {
    const Clock::time_point begin = Clock::now();
    round(calls);
    best = std::min(best, ns(Clock::now() - begin) / calls);
    between();
  }
  return best;
}

/// The slowest thread's best round.
double at_threads(int threads, const std::function<bool(int)>& lookup) {
  std::barrier start(threads);
  std::vector<double> best(static_cast<std::size_t>(threads), 0.0);
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      lookup(0);
      start.arrive_and_wait();
      best[static_cast<std::size_t>(t)] = best_round(
          kLookups,
          [&](int calls) {
            for (int i = 0; i < calls; ++i) {
              lookup(i);
            }
          },
          [] {});
    });
  }
  for (std::thread& thread : running) {
    thread.join();
  }
  return *std::ranges::max_element(best);
}

/// A kernel's arguments in device memory.
struct Operands {
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<void*> addresses;  ///< one for each argument, null of a scalar
  std::vector<void*> passed;     ///< without workspaces and scalars
  std::vector<void*> values;     ///< what LoadedKernel::launch takes
  float one = 1.0F;              ///< every scalar
};

Result<std::unique_ptr<Operands>> operands(Engine& engine, const LaunchPlan& plan) {
  auto all = std::make_unique<Operands>();
  for (const LaunchArgument& argument : plan.arguments) {
    HONE_ASSIGN(auto buffer, engine.memory().allocate(std::max<std::size_t>(argument.bytes, 16)));
    HONE_TRY(engine.memory().fill(buffer->address(), buffer->bytes(), 0));
    const bool scalar = argument.direction == Direction::kScalar;
    all->addresses.push_back(scalar ? nullptr : buffer->address());
    if (!scalar && argument.direction != Direction::kWorkspace) {
      all->passed.push_back(buffer->address());
    }
    all->buffers.push_back(std::move(buffer));
  }
  for (void*& address : all->addresses) {
    all->values.push_back(address == nullptr ? static_cast<void*>(&all->one) : static_cast<void*>(&address));
  }
  return all;
}

/// How the driver, or the loaded code itself, launches.
Result<std::function<void(void*)>> direct(const FoundDevice& device, const LaunchPlan& plan, const Problem& problem,
                                          const Operands& arguments, bool cuda) {
  if (cuda) {
    HONE_ASSIGN(std::shared_ptr<DriverLaunch> launch, DriverLaunch::prepare(plan, arguments.values));
    return std::function<void(void*)>([launch](void* stream) { static_cast<void>(launch->launch(stream).value()); });
  }
  HONE_ASSIGN(std::shared_ptr<LaunchDevice> opened, device.plugin->open_to_launch(device.info));
  HONE_ASSIGN(std::shared_ptr<LoadedKernel> loaded, opened->load(plan.code, plan.passes, problem));
  return std::function<void(void*)>(
      [opened, loaded, &arguments](void*) { static_cast<void>(loaded->launch(nullptr, arguments.values).value()); });
}

/// As an application calls it.
void launch_hone(const Kernel& kernel, const std::string& name, void* stream, const Operands& arguments) {
  const std::vector<void*>& at = arguments.passed;
  const Result<void> done = name == "gemm_wgmma" ? kernel.launch(stream, at[0], at[1], at[2], at[3], at[4], 1.0F, 1.0F)
                                                 : kernel.launch(stream, static_cast<const float*>(at[0]), static_cast<float*>(at[1]));
  static_cast<void>(done.value());
}

Result<nlohmann::json> launches_of(Engine& engine, const FoundDevice& device, Store& store, const Asked& asked) {
  const bool cuda = device.info.plugin == "cuda";
  HONE_ASSIGN(const KernelSpec* const spec, find_builtin_kernel(asked.name));
  HONE_ASSIGN(const Problem problem, make_problem(*spec, asked.dtype, asked.shape));
  HONE_ASSIGN(Choice choice, choose(*spec, problem, device.info, &store));
  HONE_ASSIGN(const LaunchPlan plan, make_launch_plan(*spec, problem, std::move(choice), device, &store));
  HONE_ASSIGN(const std::unique_ptr<Operands> arguments, operands(engine, plan));
  HONE_ASSIGN(const auto launch_directly, direct(device, plan, problem, *arguments, cuda));
  HONE_ASSIGN(const Kernel kernel, engine.kernel(asked.name, asked.dtype, asked.shape));
  std::unique_ptr<Stream> stream;
  if (cuda) {
    HONE_ASSIGN(stream, Stream::make());
  }
  void* const on = cuda ? stream->get() : nullptr;
  const auto wait = [&] { cuda ? static_cast<void>(stream->wait().value()) : void(); };
  const std::function<void(int)> hone = [&](int calls) {
    for (int i = 0; i < calls; ++i) {
      launch_hone(kernel, asked.name, on, *arguments);
    }
  };
  const std::function<void(int)> driver = [&](int calls) {
    for (int i = 0; i < calls; ++i) {
      launch_directly(on);
    }
  };
  nlohmann::json out{{"problem", asked.name + " " + text(asked.shape)}};
  out["hone_ns"] = best_round(kLaunches, hone, wait);
  out["direct_ns"] = best_round(kLaunches, driver, wait);
  if (cuda) {
    const auto captured = [&](const std::function<void(int)>& round) {
      double best = 1e30;
      for (int i = 0; i < kRounds; ++i) {
        static_cast<void>(stream
                              ->capture([&] {
                                const Clock::time_point begin = Clock::now();
                                round(kLaunches);
                                best = std::min(best, ns(Clock::now() - begin) / kLaunches);
                              })
                              .value());
      }
      return best;
    };
    out["captured_hone_ns"] = captured(hone);
    out["captured_direct_ns"] = captured(driver);
  }
  return out;
}

}  // namespace

Result<nlohmann::json> hot_lookups(Engine& engine, int threads) {
  const std::vector<Asked> all = asked_on(engine.device_info().id);
  for (const Asked& asked : all) {
    HONE_TRY(engine.kernel(asked.name, asked.dtype, asked.shape));
  }
  const auto by_name = [&](int i) { return engine.kernel("softmax", DType::kF32, {{"rows", 64 + 64 * (i % 6)}, {"cols", 1024}}).ok(); };
  const Asked& product = all.back();
  HONE_ASSIGN(const BoundKernel softmax, engine.bind("softmax", DType::kF32, {"rows", "cols"}));
  HONE_ASSIGN(const BoundKernel matmul, engine.bind("matmul", product.dtype, {"m", "n", "k"}));
  const std::int64_t m = product.shape[0].second, n = product.shape[1].second, k = product.shape[2].second;
  return nlohmann::json{{"threads", threads},
                        {"kernel_ns", at_threads(threads, by_name)},
                        {"bound_softmax_ns", at_threads(threads, [&](int i) { return softmax(64 + 64 * (i % 6), 1024).ok(); })},
                        {"bound_matmul_ns", at_threads(threads, [&](int) { return matmul(m, n, k).ok(); })}};
}

Result<nlohmann::json> launches(Engine& engine, const std::string& store) {
  HONE_ASSIGN(const auto found, builtin_registry().device(engine.device_info().id));
  HONE_ASSIGN(const std::unique_ptr<Store> opened, open_store(store, StoreMode::kAsItIs));
  nlohmann::json all = nlohmann::json::array();
  for (const Asked& asked : asked_on(engine.device_info().id)) {
    if (asked.name == "copy" || asked.name == "full_sum" || (asked.name == "gemm_wgmma" && asked.shape.front().second == 256)) {
      HONE_ASSIGN(nlohmann::json one, launches_of(engine, found, *opened, asked));
      all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace hone::bench
