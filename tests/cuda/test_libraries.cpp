// cuBLASLt as an implementation of matmul, against a stand-in that computes in host memory: sham_cublaslt.c.
#include <doctest/doctest.h>
#include <stdlib.h>

#include <array>
#include <cstring>
#include <set>

#include "engine/kernel/configuration_text.hpp"
#include "plugins/cuda/cublaslt_matmul.hpp"
#include "plugins/cuda/cublaslt_product.hpp"
#include "product_answer.hpp"

namespace {

using namespace hone;
using cuda::LtChoice;
using cuda::LtTraits;
using test::product;

// Before the library is opened, for the whole process.
const bool kUsesSham = setenv("HONE_CUBLASLT", HONE_SHAM_CUBLASLT, 1) == 0;

std::shared_ptr<const cuda::LtContext> sham() {
  REQUIRE(kUsesSham);
  auto started = cuda::LtContext::start(nullptr);
  REQUIRE_MESSAGE(started.ok(), started.error().message);
  return *started;
}

cuda::LtProduct product_of(const Problem& problem) {
  auto made = cuda::LtProduct::create(sham(), problem);
  REQUIRE_MESSAGE(made.ok(), made.error().message);
  return *std::move(made);
}

PassLaunch whole_call() {
  PassLaunch pass;
  pass.arguments = {0, 1, 2, 3, 4, 5, 6, 7};
  return pass;
}

constexpr const char* kSplitInThree = "tile=20,stages=0,cluster=0,inner=0,split=3,reduction=2,swizzle=0,option=1,id=24,workspace=16";

/// The largest error of the whole way that a launch takes, from the text of a configuration on.
double error_of(const std::string& configuration, const Problem& problem) {
  const auto session = cuda::cublaslt_matmul().start(nullptr);
  REQUIRE_MESSAGE(session.ok(), session.error().message);
  const auto loaded = (*session)->load(configuration, whole_call(), problem);
  REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
  test::ProductInputs in(problem);
  const std::vector<double> expected = in.answer(problem);
  std::vector<float> out(expected.size(), -7.0F);
  std::vector<std::byte> workspace(32 << 20);
  void *a = in.a.data(), *b = in.b.data(), *added = in.added.data(), *bias = in.bias.data(), *to = out.data(), *place = workspace.data();
  const std::array<void*, 8> arguments{&a, &b, &added, &bias, &to, &in.alpha, &in.beta, &place};
  const auto launched = (*loaded)->launch(nullptr, arguments);
  REQUIRE_MESSAGE(launched.ok(), launched.error().message);
  return test::worst_error(out, expected);
}

}  // namespace

TEST_CASE("a product of the library is what matmul says: every layout, every term, relu") {
  const std::string own_choice =
      text(library_spec(cuda::cublaslt_matmul())->parameters, default_configuration(*library_spec(cuda::cublaslt_matmul())));
  for (std::int64_t layout = 1; layout <= 4; ++layout) {
    for (std::int64_t terms = 1; terms <= 4; ++terms) {
      for (std::int64_t activation = 1; activation <= 2; ++activation) {
        const Problem problem = product(DType::kF32, 5, 7, 11, layout, terms, activation);
        CAPTURE(text(problem.shape));
        CHECK(error_of(own_choice, problem) < 1e-4);
        CHECK(error_of(kSplitInThree, problem) < 1e-4);
      }
    }
  }
  CHECK(error_of(own_choice, product(DType::kF32, 1, 9, 4, 2)) < 1e-4);
}

TEST_CASE("an algorithm is found again by what it is, also under another number") {
  const cuda::LtProduct made = product_of(product(DType::kBF16, 64, 64, 64));
  const auto suggested = made.suggested(32 << 20, 32);
  REQUIRE(suggested.ok());
  REQUIRE(suggested->size() == 3);
  for (const LtChoice& choice : *suggested) {
    const auto again = made.find(choice.traits, 32 << 20);
    REQUIRE_MESSAGE(again.ok(), again.error().message);
    CHECK(again->algorithm.data == choice.algorithm.data);
    LtTraits renumbered = choice.traits;
    renumbered.values[LtTraits::kId] = 50;
    CHECK(made.find(renumbered, 32 << 20)->algorithm.data == choice.algorithm.data);
    LtTraits unknown = choice.traits;
    unknown.values[LtTraits::kTile] = 999;
    CHECK(made.find(unknown, 32 << 20).error().code == ErrorCode::kLaunch);
  }
  CHECK_FALSE(made.find(suggested->front().traits, 1000).ok());  // it needs more workspace
  CHECK(made.suggested(1000, 32)->size() == 2);
}

TEST_CASE("variants differ in what the library says that an algorithm takes") {
  const cuda::LtProduct made = product_of(product(DType::kF32, 64, 64, 64));
  const auto suggested = made.suggested(32 << 20, 32);
  REQUIRE(suggested.ok());
  std::set<std::int64_t> splits, options;
  for (const LtChoice& choice : made.variants(suggested->front(), 32 << 20)) {
    splits.insert(choice.traits.values[LtTraits::kSplit]);
    options.insert(choice.traits.values[LtTraits::kOption]);
    CHECK(choice.workspace_bytes == (choice.traits.values[LtTraits::kSplit] == 1 ? 4 : 5000 * choice.traits.values[LtTraits::kSplit]));
  }
  CHECK(splits == std::set<std::int64_t>{1, 2, 3, 4, 6, 8});
  CHECK(options == std::set<std::int64_t>{0, 1, 2, 3});
  for (const LtChoice& choice : made.variants(suggested->back(), 32 << 20)) {
    CHECK(choice.traits.values[LtTraits::kSplit] == 1);  // it cannot be split
  }
}

TEST_CASE("what stands in place of code names the library, its version and the algorithm") {
  const auto spec = library_spec(cuda::cublaslt_matmul());
  REQUIRE_MESSAGE(spec.ok(), spec.error().message);
  CHECK(spec->library == "cublaslt 12.9.5");
  CHECK(spec->arguments.back().name == "workspace");
  const auto again = parse_kernel_spec(spec->serialize());
  REQUIRE_MESSAGE(again.ok(), again.error().message);
  const auto compiled = cuda::compile_library({.spec = &*spec, .dtype = DType::kF32, .configurations = {default_configuration(*spec)}});
  REQUIRE(compiled.front().ok());
  const auto code = cuda::library_code(*compiled.front()->artifact);
  REQUIRE(code.has_value());
  CHECK(code->library == "cublaslt");
  CHECK(code->version == "12.9.5");
  CHECK(compiled.front()->symbols == std::vector<std::string>{text(spec->parameters, default_configuration(*spec))});
  CHECK(cuda::find_library(*code).ok());
  CHECK(cuda::find_library({"cublaslt", "11.0.0"}).error().code == ErrorCode::kUnavailable);
  CHECK(cuda::find_library({"cudnn", "9.0.0"}).error().code == ErrorCode::kUnavailable);
  Artifact cubin;
  cubin.bytes.resize(64);
  std::memcpy(cubin.bytes.data(),
              "\x7f"
              "ELF",
              4);
  CHECK_FALSE(cuda::library_code(cubin).has_value());
  CHECK_FALSE(cuda::library_code(Artifact{}).has_value());
}

TEST_CASE("what the library is not for is refused") {
  const auto create = [](const Problem& problem) { return cuda::LtProduct::create(sham(), problem).error().code; };
  CHECK(create(product(DType::kE4M3, 8, 8, 8)) == ErrorCode::kInvalidArgument);
  CHECK(create(product(DType::kF32, 8, 8, 8, 1, 1, 3)) == ErrorCode::kInvalidArgument);
  CHECK(create(product(DType::kF32, 8, 8, 8, 5)) == ErrorCode::kInvalidArgument);
  const auto spec = library_spec(cuda::cublaslt_matmul());
  CHECK(refusal(*spec, product(DType::kF32, 8, 8, 8, 1, 1, 2)).empty());
  CHECK(refusal(*spec, product(DType::kF32, 8, 8, 8, 1, 1, 4)) == "p.activation <= 2");
  const auto session = cuda::cublaslt_matmul().start(nullptr);
  const auto load = [&](const std::string& configuration, const PassLaunch& pass) {
    return (*session)->load(configuration, pass, product(DType::kF32, 8, 8, 8)).error().code;
  };
  CHECK(load("tile=20", whole_call()) == ErrorCode::kLaunch);
  CHECK(load("nonsense", whole_call()) == ErrorCode::kLaunch);
  CHECK(load(kSplitInThree, PassLaunch{}) == ErrorCode::kLaunch);
}
