#include <array>

#include "reader_fixture.hpp"

void compiled_agreement(long m, long n, int x, long y, bool flag, int mode, int size, long* result);

namespace {

std::array<long, 10> read_agreement(const hone::KernelSpec& spec, const hone::Bindings& bound) {
  std::array<long, 10> result{};
  result[0] = 1;
  for (const auto& constraint : spec.constraints) {
    const auto value = constraint.condition.evaluate(bound);
    result[0] = value && value->boolean() ? result[0] : 0;
  }
  const auto& pass = spec.passes[0];
  const std::array<const hone::Expression*, 9> numbers{&pass.grid[0],  &pass.grid[1],    &pass.grid[2],      &pass.block[0], &pass.block[1],
                                                       &pass.block[2], &pass.cluster[0], &pass.shared_bytes, &pass.enabled};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    result[i + 1] = numbers[i]->evaluate(bound)->integer();
  }
  return result;
}

}  // namespace

TEST_CASE("what is read from a kernel file computes what the compiler's code computes") {
  if (!reader_test::can_read()) {
    return;
  }
  const auto spec = hone::read_kernel_file(std::string(HONE_SOURCE_DIR) + "/tests/kernel/agreement.cu");
  INFO((spec ? std::string() : spec.error().message));
  REQUIRE(spec.ok());
  int valid = 0, total = 0;
  for (long m = 1; m < 60; m += 4) {
    for (long n = 1; n < 40; n += 3) {
      for (const auto& x : spec->parameters[0].values) {
        for (const auto& y : spec->parameters[1].values) {
          for (int i = 0; i < 12; ++i) {
            const bool flag = i % 2 == 1;
            const int mode = std::array{0, 1, 9}[static_cast<std::size_t>(i / 4)], size = i / 2 % 2 == 0 ? 2 : 4;
            std::array<long, 10> expected{};
            compiled_agreement(m, n, static_cast<int>(x.integer()), y.integer(), flag, mode, size, expected.data());
            const hone::Bindings bound{{"p.m", m},       {"p.n", n},       {"c.x", x},          {"c.y", y},
                                       {"c.flag", flag}, {"c.mode", mode}, {"sizeof(T)", size}, {"d.warp_size", 32}};
            CAPTURE(m);
            CAPTURE(n);
            CAPTURE(x.text());
            CAPTURE(y.text());
            CAPTURE(i);
            REQUIRE(read_agreement(*spec, bound) == expected);
            valid += static_cast<int>(expected[0]);
            ++total;
          }
        }
      }
    }
  }
  CHECK(valid > total / 20);
  CHECK(valid < total);
}
