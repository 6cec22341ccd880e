// The built-in kernels of hone::runtime: all of them, but for the code.
#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/static_fields.hpp"
#include "engine/runtime/launch_plan.hpp"
#include "engine/store/lookup.hpp"
#include "engine/store/shipped_portfolios.hpp"
#include "tests/hopper.hpp"

namespace hone {
TEST_CASE("the runtime knows every built-in kernel, without its text") {
  std::set<std::string> files, known;
  for (const auto& entry : std::filesystem::directory_iterator(HONE_SOURCE_DIR "/kernels_src")) {
    const std::string name = entry.path().filename().string();
    if (std::filesystem::exists(entry.path() / (name + ".cu"))) {
      files.insert(name);
    }
  }
  for (const KernelSpec* const spec : builtin_kernels()) {
    CAPTURE(spec->name);
    known.insert(spec->name);
    CHECK(spec->source.empty());
    CHECK(spec->includes.empty());
    CHECK_FALSE(spec->parameters.empty());
  }
  CHECK(known == files);
}

TEST_CASE("the runtime serves a kernel whose code depends on the shape, and plans its arguments") {
  const KernelSpec& gemm = **find_builtin_kernel("gemm");
  const auto problem = [&](std::int64_t layout) {
    return make_problem(gemm, DType::kF32, {{"m", 96}, {"n", 200}, {"k", 304}, {"layout", layout}}).value();
  };
  const Choice choice = choose(gemm, problem(1), test::hopper("NVIDIA H200"), nullptr).value();
  CHECK(choice.source == Source::kPredicted);
  CHECK(choice.prediction->product == "NVIDIA H200");
  CHECK(launch_arguments(gemm, problem(1), choice.configuration).value().size() == gemm.arguments.size());
  CHECK(code_hash(gemm, problem(1)) != code_hash(gemm, problem(2)));
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
