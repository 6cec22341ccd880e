#include "engine/reader/plain_source.hpp"

#include <doctest/doctest.h>

namespace hone::kernel {

TEST_CASE("plain kernels are found whatever stands around their names") {
  const auto found = find_plain_kernels(
      "// __global__ void in_a_comment(int n);\n"
      "template <typename T, int N> __global__ void __launch_bounds__(N, 2) first(const T* __restrict__ x, T *y, const int rows = 3);\n"
      "extern \"C\" __global__\nvoid second(float const *a, const float4* const b, double out[], unsigned long n) {}\n"
      "static __global__ void third() {}\n");
  REQUIRE(found.size() >= 3);
  const PlainFunction* first = nullptr;
  const PlainFunction* second = nullptr;
  for (const PlainFunction& function : found) {
    CHECK(function.name != "in_a_comment");
    first = function.name == "first" ? &function : first;
    second = function.name == "second" ? &function : second;
  }
  REQUIRE(first != nullptr);
  REQUIRE(second != nullptr);
  CHECK(first->type_parameters == std::map<std::string, std::size_t, std::less<>>{{"T", 0}});
  REQUIRE(first->parameters.size() == 3);
  CHECK(first->parameters[0].name == "x");
  CHECK(first->parameters[0].type == "T");
  CHECK(first->parameters[0].constant);
  CHECK(first->parameters[0].pointer);
  CHECK_FALSE(first->parameters[1].constant);
  CHECK(first->parameters[2].name == "rows");
  CHECK_FALSE(first->parameters[2].pointer);
  CHECK(second->type_parameters.empty());
  REQUIRE(second->parameters.size() == 4);
  CHECK(second->parameters[0].constant);
  CHECK(second->parameters[1].type == "float4");
  CHECK(second->parameters[2].pointer);
  CHECK(second->parameters[3].type == "unsigned long");
}

TEST_CASE("what an instance is given for its template's parameters") {
  CHECK(template_arguments("softmax<float, 256>") == std::vector<std::string>{"float", "256"});
  CHECK(template_arguments("sum< pair<int, half>, 2 >") == std::vector<std::string>{"pair<int, half>", "2"});
  CHECK(template_arguments("softmax").empty());
  const auto found = find_plain_kernels("template <int N, class T> __global__ void second(T* y) {}");
  REQUIRE(found.size() == 1);
  CHECK(found.front().type_parameters == std::map<std::string, std::size_t, std::less<>>{{"T", 1}});
}

TEST_CASE("headers are told apart by their brackets, and those in comments are none") {
  const std::string text = "#include <cuda_runtime.h>\n# include \"util.h\"\n// #include <cub/cub.cuh>\n";
  CHECK(included_headers(text, '<') == std::vector<std::string>{"cuda_runtime.h"});
  CHECK(included_headers(text, '"') == std::vector<std::string>{"util.h"});
}

TEST_CASE("comments go, lines stay, text in quotes is no comment") {
  CHECK(without_comments("a /* b\n c */ d // e\nf \"// g\"") == "a     \n      d     \nf \"// g\"");
}

}  // namespace hone::kernel
