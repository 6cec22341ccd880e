#include "engine/kernel/kernel_spec.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/kernel_headers.hpp"

TEST_CASE("the built-in kernels are there without libclang and can be found by name") {
  REQUIRE_FALSE(hone::builtin_kernels().empty());
  const auto softmax = hone::find_builtin_kernel("softmax");
  REQUIRE(softmax.ok());
  CHECK((*softmax)->name == "softmax");
  CHECK((*softmax)->file == "softmax.cu");
}

TEST_CASE("a kernel that is not built in: the nearest is named") {
  const auto none = hone::find_builtin_kernel("sotfmax");
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == hone::ErrorCode::kNotFound);
  CHECK(none.error().message.starts_with("unknown built-in kernel 'sotfmax'; did you mean 'softmax'? (known: "));
}

TEST_CASE("every built-in kernel survives its JSON") {
  for (const hone::KernelSpec* const kernel : hone::builtin_kernels()) {
    const hone::KernelSpec& spec = *kernel;
    CAPTURE(spec.name);
    const auto again = hone::parse_kernel_spec(spec.serialize());
    REQUIRE(again.ok());
    CHECK(again->serialize() == spec.serialize());
  }
}

TEST_CASE("expectations survive the JSON of a spec, and one written before there were any has none") {
  using nlohmann::json;
  hone::KernelSpec spec = *hone::builtin_kernels().front();
  spec.expectations = spec.constraints;
  spec.expectations.front().comment = "measured";
  const auto again = hone::parse_kernel_spec(spec.serialize());
  REQUIRE(again.ok());
  CHECK(again->expectations.size() == spec.constraints.size());
  CHECK(again->expectations.front().comment == "measured");
  CHECK(again->serialize() == spec.serialize());
  json old = json::parse(spec.serialize());
  old.erase("expectations");
  REQUIRE(hone::parse_kernel_spec(old.dump()).ok());
  CHECK(hone::parse_kernel_spec(old.dump())->expectations.empty());
  old["expectations"] = {{{"condition", 7}}};
  CHECK_FALSE(hone::parse_kernel_spec(old.dump()).ok());
}

TEST_CASE("damaged JSON is refused") {
  const std::string good = hone::builtin_kernels().front()->serialize();
  CHECK_FALSE(hone::parse_kernel_spec("").ok());
  CHECK_FALSE(hone::parse_kernel_spec("{}").ok());
  CHECK_FALSE(hone::parse_kernel_spec(good.substr(0, good.size() / 2)).ok());
  std::string index = good;
  index.replace(index.find("\"arguments\":[0"), 14, "\"arguments\":[99");
  CHECK_FALSE(hone::parse_kernel_spec(index).ok());
}

TEST_CASE("a spec with what the engine takes for granted missing is refused") {
  using nlohmann::json;
  const json good = json::parse(hone::builtin_kernels().front()->serialize());
  const auto refused = [&](const char* place, const json& value) {
    json bad = good;
    bad[json::json_pointer(place)] = value;
    return !hone::parse_kernel_spec(bad.dump()).ok();
  };
  CHECK_FALSE(refused("/parameters/0/comment", "fine"));
  CHECK(refused("/parameters/0/values", json::array()));
  CHECK(refused("/parameters/0/values/0", "rnan"));
  CHECK(refused("/parameters/0/labels", {"one"}));
  CHECK(refused("/parameters/0/kind", 1e300));
  CHECK(refused("/problem/0/default", 1e300));
  CHECK(refused("/constraints/0/line", std::int64_t{1} << 40));
  CHECK(refused("/passes/0/arguments/0", 0.5));
  json deep = "x";
  for (int i = 0; i < 200; ++i) {
    deep = json::array({deep});
  }
  CHECK(refused("/more", deep));
}

TEST_CASE("the headers of kernel files are embedded as they are") {
  for (const hone::KernelHeader& header : hone::kernel_headers()) {
    std::ifstream file(std::string(HONE_SOURCE_DIR "/engine/include/kernel/") + std::string(header.name), std::ios::binary);
    CAPTURE(header.name);
    CHECK(header.text == std::string(std::istreambuf_iterator<char>(file), {}));
  }
  const auto text = hone::kernel_header("hone/kernel.h");
  CHECK(text.starts_with("#pragma once\n"));
  CHECK(text.find("#define TUNE(...) HONE_MARK(\"hone:tune:\" #__VA_ARGS__)\n") != std::string_view::npos);
  CHECK(hone::kernel_header("hone/kernel_hopper.h").starts_with("#pragma once\n"));
  CHECK(hone::kernel_header("hone/other.h").empty());
}
