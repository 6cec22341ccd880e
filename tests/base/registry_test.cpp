#include "engine/plugin/registry.hpp"

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
}

TEST_CASE("a device that is not here is answered with those that are, and why others are not") {
  for (const char* id : {"gpu", "gpu:0", "cpu:7"}) {
    const auto device = builtin_registry().device(id);
    REQUIRE_FALSE(device.ok());
    CHECK(device.error().message.find(std::string("no device '") + id + "' (available: ") == 0);
    CHECK(device.error().message.find("did you mean") == std::string::npos);  // a cpu is no gpu
    CHECK(device.error().message.find("cpu") != std::string::npos);
    CHECK(device.error().message.find("cuda") != std::string::npos);
  }
}

TEST_CASE("one device is a list of one, however it is named") {
  for (const char* ids : {"cpu", "cpu:*"}) {
    const auto found = builtin_registry().devices(ids);
    REQUIRE(found.ok());
    REQUIRE(found->size() == 1);
    CHECK(found->front().info.id == "cpu");
  }
}

TEST_CASE("lists of devices that are none are refused") {
  for (const char* ids : {"", ",", "cpu,", "cpu,cpu", "cpu,replay", "*", "gpu:*", "cpu,gpu"}) {
    CAPTURE(ids);
    CHECK_FALSE(builtin_registry().devices(ids).ok());
  }
}

TEST_CASE("the best device is usable") { CHECK(builtin_registry().best_device().ok()); }

TEST_CASE("a duplicate name breaks the contract") {
  Registry registry = make_builtin_registry();
  CHECK_THROWS_AS(registry.add(make_cpu_device()), ContractError);
}

}  // namespace hone
