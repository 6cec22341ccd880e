// The built-in kernels of hone::runtime: all of them, but for the code.
#include <doctest/doctest.h>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/store/portfolio_lookup.hpp"

namespace hone {

TEST_CASE("the runtime knows every built-in kernel, without its text") {
  REQUIRE(embedded_kernels().size() > 20);
  for (const KernelSpec* const spec : builtin_kernels()) {
    CAPTURE(spec->name);
    CHECK(spec->source.empty());
    CHECK(spec->includes.empty());
    CHECK(spec->source_hash.size() == 32);
    CHECK_FALSE(spec->parameters.empty());
    CHECK(find_builtin_kernel(spec->name).value() == spec);
  }
}

TEST_CASE("what portfolios that came with Hone choose are the runtime's kernels as they are") {
  REQUIRE_FALSE(shipped_portfolio_texts().empty());
  for (const std::string& text : shipped_portfolio_texts()) {
    for (const auto& [kernel, hash] : parse_portfolio(text).value().sources) {
      CAPTURE(kernel);
      CHECK(find_builtin_kernel(kernel).value()->source_hash == hash);
    }
  }
}

}  // namespace hone
