// Which configurations are legal, asked of many.
#include "engine/device/validity.hpp"

#include <doctest/doctest.h>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/store/lookup.hpp"
#include "hone/random.h"
#include "tests/hopper.hpp"

namespace hone {

TEST_CASE("a configuration is legal of many where it is legal alone, whatever was asked before") {
  constexpr std::uint64_t kDraws = 150;
  const DeviceInfo device = test::hopper("NVIDIA H200");
  std::size_t legal = 0, illegal = 0;
  for (const KernelSpec* const kernel : builtin_kernels()) {
    Shape usual;
    for (const ProblemField& field : kernel->problem) {
      usual.emplace_back(field.name, field.default_value);
    }
    Shape odd = usual;
    odd.front().second = 37;
    for (const Shape& shape : {usual, odd}) {
      const Result<Problem> problem = make_problem(*kernel, kernel->dtypes.front(), shape);
      if (!problem) {
        continue;
      }
      Validity is_valid(*kernel, *problem, device);
      for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
        Configuration configuration = default_configuration(kernel->parameters);
        for (std::size_t i = 0; i < kernel->parameters.size(); ++i) {
          const std::vector<Value>& values = kernel->parameters[i].values;
          const std::uint64_t bits = random_bits(draw, i);
          configuration.values[i] = bits % 3 == 0 ? values[(bits >> 8) % values.size()] : configuration.values[i];
        }
        CAPTURE(kernel->name);
        const bool alone = valid_for(*kernel, *problem, device, configuration);
        CHECK(is_valid(configuration) == alone);
        ++(alone ? legal : illegal);
      }
    }
  }
  CHECK(legal > kDraws);
  CHECK(illegal > kDraws);
}

TEST_CASE("a constraint that cannot be evaluated is not met") {
  KernelSpec spec;
  spec.constraints.push_back({Expression::variable("p.unknown"), "p.unknown", 1});
  Validity is_valid(spec, {}, {});
  CHECK_FALSE(is_valid({}));
}

}  // namespace hone
