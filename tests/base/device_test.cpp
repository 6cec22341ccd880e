#include "engine/device/device.hpp"

#include <doctest/doctest.h>

#include "engine/kernel/configuration_text.hpp"

namespace hone {
namespace {

DeviceInfo device() {
  DeviceInfo info;
  info.id = "test";
  for (const std::string_view property : device_property_names()) {
    info.properties.emplace(property, 0);
  }
  info.properties["threads_per_block"] = 1024;
  info.properties["shared_memory_per_block"] = 232448;
  info.properties["registers_per_multiprocessor"] = 65536;
  info.properties["compute_capability"] = 90;
  return info;
}

Pass pass(std::string function, Expression block) {
  const Expression one = Expression::constant(1);
  Pass made;
  made.function = std::move(function);
  made.arguments = {-1};
  made.grid = {Expression::variable("p.n"), one, one};
  made.block = {std::move(block), one, one};
  made.cluster = {one, one, one};
  made.shared_bytes = Expression::constant(0);
  made.cooperative = Expression::constant(false);
  made.enabled = Expression::variable("c.on");
  return made;
}

KernelSpec two_passes() {
  KernelSpec spec;
  spec.file = "two.cu";
  spec.problem = {{"n", 8, ""}};
  spec.parameters = {{.name = "block", .values = {32, 0}, .default_value = 32},
                     {.name = "on", .kind = ParameterKind::kBoolean, .values = {false, true}, .default_value = true}};
  spec.passes = {pass("first", Expression::variable("c.block")), pass("second", Expression::variable("c.block"))};
  spec.passes[0].enabled = Expression::constant(true);
  return spec;
}

/// A family that has one device, or the reason why it has none.
struct Family final : LaunchPlugin {
  Family(std::string_view its_name, std::string why) : name_(its_name), why_(std::move(why)) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  Result<std::vector<DeviceInfo>> enumerate() const override {
    DeviceInfo info = device();
    info.id = std::string(name_) + ":0";
    return why_.empty() ? Result<std::vector<DeviceInfo>>(std::vector{info}) : Error{ErrorCode::kUnavailable, why_};
  }
  Result<std::unique_ptr<LaunchDevice>> open_to_launch(const DeviceInfo&) const override {
    return Error{ErrorCode::kUnavailable, "it is not there"};
  }
  std::string_view name_;
  std::string why_;
};

const Problem kProblem{DType::kF32, {{"n", 7}}};

}  // namespace

TEST_CASE("a device that is missing is answered with what else this program has, and with nothing where it has nothing") {
  const Family cuda("cuda", "no driver"), cpu("cpu", ""), broken("cpu", "no compiler");
  const auto message = [](std::vector<const LaunchPlugin*> plugins) {
    const auto missing = find_device(plugins, "cuda");
    REQUIRE_FALSE(missing.ok());
    CHECK(static_cast<int>(missing.error().code) == static_cast<int>(ErrorCode::kUnavailable));
    return missing.error().message;
  };
  CHECK(message({&cuda, &cpu}) == "no driver; this program also has: cpu");
  CHECK(message({&cuda, &broken}) == "no driver");
  CHECK(message({&cuda}) == "no driver");
  const LaunchPlugin* const both[] = {&cuda, &broken};
  CHECK(find_best_device(both).error().message == "no device is usable: no driver; no compiler");
  const LaunchPlugin* const usable[] = {&cuda, &cpu};
  CHECK(find_best_device(usable).value().info.id == "cpu:0");
}

TEST_CASE("a launch plan holds the enabled passes with their numbers") {
  const auto plan = plan_launch(two_passes(), kProblem, {{Value(32), Value(false)}}, device());
  REQUIRE(plan.ok());
  REQUIRE(plan->size() == 1);
  CHECK(plan->front().grid[0] == 7);
  CHECK(plan->front().block[0] == 32);
  CHECK(plan_launch(two_passes(), kProblem, {{Value(32), Value(true)}}, device()).value().back().symbol == 1);
}

TEST_CASE("a pass overlaps what was launched before it where the device has dependent launches") {
  KernelSpec spec = two_passes();
  spec.passes[0].overlap = spec.passes[1].overlap = Expression::constant(true);
  const Configuration both{{Value(32), Value(true)}};
  const auto plan = plan_launch(spec, kProblem, both, device()).value();
  CHECK(plan.front().overlap);
  CHECK(plan.back().overlap);
  DeviceInfo older = device();
  older.properties["compute_capability"] = 80;
  CHECK_FALSE(plan_launch(spec, kProblem, both, older).value().back().overlap);
  spec.passes[1].overlap = Expression::constant(false);
  CHECK_FALSE(plan_launch(spec, kProblem, both, device()).value().back().overlap);
}

TEST_CASE("a dimension below 1 is an error that names the pass and the expression") {
  const auto plan = plan_launch(two_passes(), kProblem, {{Value(0), Value(true)}}, device());
  REQUIRE_FALSE(plan.ok());
  CHECK(plan.error().message == "two.cu: launch geometry of first: block: c.block is 0, below 1");
}

TEST_CASE("a pass without a block is left out; a grid below 0 is an error") {
  KernelSpec spec = two_passes();
  const Configuration both{{Value(32), Value(true)}};
  spec.passes[0].grid[0] = Expression::make(Operator::kSubtract, {Expression::variable("p.n"), Expression::constant(7)});
  const auto plan = plan_launch(spec, kProblem, both, device());
  REQUIRE(plan.ok());
  REQUIRE(plan->size() == 1);
  CHECK(plan->front().symbol == 1);
  spec.passes[0].grid[0] = Expression::make(Operator::kSubtract, {Expression::variable("p.n"), Expression::constant(8)});
  CHECK(plan_launch(spec, kProblem, both, device()).error().message == "two.cu: launch geometry of first: grid: p.n - 8 is -1, below 0");
}

TEST_CASE(
    "the plan of a reference holds its passes in order; without an index a pass is left out, and an extent below 0 is an error that names "
    "it") {
  KernelSpec spec = two_passes();
  const Expression n = Expression::variable("p.n");
  spec.reference = {{.function = "zero", .extent = Expression::constant(1), .arguments = {1}},
                    {.function = "add", .extent = n, .arguments = {0, 1, -1}}};
  const auto plan = plan_reference(spec, kProblem);
  REQUIRE(plan.ok());
  REQUIRE(plan->size() == 2);
  CHECK(plan->at(0).extent == 1);
  CHECK(plan->at(1).extent == 7);
  CHECK(plan->at(1).symbol == 1);
  CHECK(plan->at(1).arguments == std::vector<int>{0, 1, -1});
  spec.reference[0].extent = Expression::make(Operator::kSubtract, {n, Expression::constant(7)});
  const auto second = plan_reference(spec, kProblem);
  REQUIRE(second.ok());
  REQUIRE(second->size() == 1);
  CHECK(second->front().symbol == 1);
  spec.reference[1].extent = Expression::make(Operator::kSubtract, {n, Expression::constant(8)});
  const auto none = plan_reference(spec, kProblem);
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::kBadKernel);
  CHECK(none.error().message == "two.cu: the extent of add: p.n - 8 is -1, below 0");
}

TEST_CASE("the static gate refuses what cannot launch and says why") {
  PassLaunch launch;
  const DeviceInfo info = device();
  CHECK(static_reject({launch}, {}, info).empty());
  launch.block = {2048, 1, 1};
  CHECK(static_reject({launch}, {}, info) == "a block of 2048 threads; the device allows 1024");
  launch.block = {std::int64_t{1} << 32, std::int64_t{1} << 32, 1};  // their product is a multiple of 2^64
  CHECK(static_reject({launch}, {}, info) == "a block of 9223372036854775807 threads; the device allows 1024");
  launch.block = {1024, 1, 1};
  CHECK(static_reject({launch}, {.registers = 128}, info) ==
        "1024 threads of 128 registers need 131072 registers; a multiprocessor has 65536");
  launch.shared_bytes = 300000;
  CHECK(static_reject({launch}, {}, info) == "300000 bytes of dynamic shared memory; the device allows 232448");
  launch = {};
  launch.grid = {1, 70000, 1};
  CHECK_FALSE(static_reject({launch}, {}, info).empty());
  launch = {};
  launch.cluster = {2, 1, 1};
  CHECK(static_reject({launch}, {}, info) == "the grid (1) is not a multiple of the cluster (2)");
}

}  // namespace hone
