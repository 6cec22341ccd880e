#include "hone/registry.hpp"

#include <doctest/doctest.h>

#include <string>

namespace hone {

std::unique_ptr<DevicePlugin> make_cpu_device();

TEST_CASE("the built-in registry has the devices and strategies of this build") {
  const Registry& registry = builtin_registry();
  CHECK(registry.strategy("random").ok());
  CHECK(registry.strategy("exhaustive").ok());
  CHECK(registry.strategy("local_search").ok());
  CHECK(registry.device("cpu").ok());
}

TEST_CASE("unknown names are answered with the known ones") {
  const auto strategy = builtin_registry().strategy("randm");
  REQUIRE_FALSE(strategy.ok());
  CHECK(strategy.error().message.find("did you mean 'random'?") != std::string::npos);
  const auto device = builtin_registry().device("gpu:0");
  REQUIRE_FALSE(device.ok());
  CHECK(device.error().message.find("cuda") != std::string::npos);
}

TEST_CASE("the best device is usable") { CHECK(builtin_registry().best_device().ok()); }

TEST_CASE("a duplicate name breaks the contract") {
  Registry registry = make_builtin_registry();
  CHECK_THROWS_AS(registry.add(make_cpu_device()), ContractError);
}

}  // namespace hone
