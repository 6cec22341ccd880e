#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "engine/device/library.hpp"
#include "engine/store/store.hpp"
#include "gpu.hpp"
#include "hone/engine.hpp"
#include "plugins/cuda/cublaslt_product.hpp"
#include "plugins/cuda/device_info.hpp"
#include "product_answer.hpp"
#include "tests/skip.hpp"

using namespace test;

namespace {

const LibraryKernel& cublaslt_kernel() { return *cuda_plugin().libraries().front(); }

/// Without the library there is nothing to see here.
bool lacks_cublaslt() {
  const Result<LibraryVersion> version = cublaslt_kernel().version();
  if (!version) {
    hone::tests::skip("cublaslt", version.error().message);
  }
  return !version.ok();
}

struct Libraries : Gpu {
  /// Of the library's function, for a problem.
  Result<std::unique_ptr<LoadedKernel>> load_library(const KernelSpec& spec, const Configuration& configuration, const Problem& problem) {
    auto compiled = compiler->compile({.spec = &spec, .dtype = problem.dtype, .configurations = {configuration}, .shape = problem.shape});
    REQUIRE_MESSAGE(compiled.front().ok(), compiled.front().error().message);
    const auto plan = plan_launch(spec, problem, configuration, info);
    REQUIRE_MESSAGE(plan.ok(), plan.error().message);
    return device->load(*compiled.front(), *plan, problem);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Libraries, "cublaslt computes what matmul says: layouts, terms, relu, ragged shapes") {
  if (lacks_cublaslt()) {
    return;
  }
  const auto spec = library_spec(cublaslt_kernel());
  REQUIRE_MESSAGE(spec.ok(), spec.error().message);
  for (std::int64_t layout = 1; layout <= 4; ++layout) {
    for (std::int64_t terms = 1; terms <= 4; ++terms) {
      const Problem problem = product(DType::kF32, 37, 65, 51, layout, terms, 1 + terms % 2);
      const auto loaded = load_library(*spec, default_configuration(*spec), problem);
      REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
      ProductInputs in(problem);
      const auto a = upload(in.a), b = upload(in.b), added = upload(in.added), bias = upload(in.bias);
      const auto out = allocate(37 * 65 * 4), workspace = allocate(32 << 20);
      void *pa = a->address(), *pb = b->address(), *padded = added->address(), *pbias = bias->address(), *pout = out->address(),
           *pworkspace = workspace->address();
      const std::array<void*, 8> arguments{&pa, &pb, &padded, &pbias, &pout, &in.alpha, &in.beta, &pworkspace};
      require((*loaded)->launch(nullptr, arguments));
      require(device->synchronize());
      const double worst = worst_error(download<float>(*out), in.answer(problem));
      CHECK_MESSAGE(worst < 1e-3, "layout " << layout << " terms " << terms << ": off by " << worst);
    }
  }
}

TEST_CASE_FIXTURE(Libraries, "an algorithm of cublaslt is found again by what it is, bit for bit") {
  if (lacks_cublaslt()) {
    return;
  }
  auto context = cuda::PrimaryContext::retain(cuda::find_device(info).value()).value();
  const auto library = cuda::LtContext::start(context);
  REQUIRE_MESSAGE(library.ok(), library.error().message);
  const auto scope = (*library)->enter();
  for (const Problem& problem :
       {product(DType::kBF16, 4096, 4096, 4096), product(DType::kF32, 1536, 1536, 1536), product(DType::kBF16, 1, 4096, 4096),
        product(DType::kF16, 3000, 5000, 2000, 2, 3, 2), product(DType::kF32, 64, 500, 50000)}) {
    const auto made = cuda::LtProduct::create(*library, problem);
    REQUIRE_MESSAGE(made.ok(), made.error().message);
    const auto suggested = made->suggested(32 << 20, 32);
    REQUIRE_MESSAGE(suggested.ok(), suggested.error().message);
    std::size_t same = 0, found = 0;
    for (const cuda::LtChoice& choice : *suggested) {
      const auto again = made->find(choice.traits, 32 << 20);
      found += again ? 1 : 0;
      same += again && again->algorithm.data == choice.algorithm.data ? 1 : 0;
      CHECK((!again || again->traits == choice.traits));
    }
    std::size_t variants = 0;
    for (const cuda::LtChoice& choice : *suggested) {
      variants += made->variants(choice, 32 << 20).size();
    }
    MESSAGE(text(problem.shape) << ": " << suggested->size() << " suggested, " << found << " found, " << same << " the same; " << variants
                                << " variants");
    CHECK(found == suggested->size());
  }
}

TEST_CASE_FIXTURE(Libraries, "what cublaslt lists for a problem can be loaded and launched, also in a graph") {
  if (lacks_cublaslt()) {
    return;
  }
  for (const DType dtype : {DType::kBF16, DType::kF32}) {
    const Problem problem = product(dtype, 256, 512, 384);
    const auto spec = library_spec_for(cublaslt_kernel(), info, problem);
    REQUIRE_MESSAGE(spec.ok(), spec.error().message);
    const auto again = parse_kernel_spec(spec->serialize());
    REQUIRE_MESSAGE(again.ok(), again.error().message);
    CHECK(again->listed == spec->listed);
    CHECK(again->library == spec->library);
    REQUIRE(spec->listed.size() > 1);
    for (const std::string& listed : spec->listed) {
      MESSAGE(listed);
      const auto configuration = parse_configuration(spec->parameters, listed);
      REQUIRE_MESSAGE(configuration.ok(), configuration.error().message);
      const auto loaded = load_library(*spec, *configuration, problem);
      REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
      const auto buffer = allocate(1 << 20), workspace = allocate(32 << 20);
      void *pointer = buffer->address(), *pworkspace = workspace->address();
      float one = 1.0F;
      const std::array<void*, 8> arguments{&pointer, &pointer, &pointer, &pointer, &pointer, &one, &one, &pworkspace};
      const GraphCall call{.arguments = arguments, .preparations = {}, .watches = {}};
      const auto graph = device->graph(**loaded, std::span(&call, 1));  // captured before it was ever launched
      REQUIRE_MESSAGE(graph.ok(), graph.error().message);
      const auto timed = (*graph)->time(2, 1);
      CHECK_MESSAGE(timed.ok(), timed.error().message);
    }
  }
}

TEST_CASE_FIXTURE(Libraries, "an engine launches what a session chose, also where that is cublaslt") {
  if (lacks_cublaslt()) {
    return;
  }
  const auto spec = library_spec(cublaslt_kernel());
  REQUIRE_MESSAGE(spec.ok(), spec.error().message);
  const std::filesystem::path path = std::filesystem::temp_directory_path() / fmt::format("hone_gpu_libraries_{}.db", getpid());
  const Problem problem = make_problem(*spec, DType::kF32, {{"m", 48}, {"n", 32}, {"k", 64}}).value();
  {
    const auto store = open_store(path, StoreMode::kReadWrite).value();
    const RecordKey key = record_key(*spec, problem, info);
    Record made;
    made.configuration = default_configuration(*spec);
    made.configuration_text = text(spec->parameters, made.configuration);
    made.measurement = {.samples_us = {1.0}, .median_us = 1.0, .ci95_low_us = 1.0, .ci95_high_us = 1.0};
    made.session = store->begin_session({key, "random", "", 0}, "1trials").value();
    REQUIRE(store->finish_session(made.session, key, made, 1.0).value());
    require(store->put_operation_record(
        operation_key("matmul", problem, info),
        {.kernel = spec->name, .source_hash = spec->source_hash, .session = made.session, .created_at = {}, .problem = {}}));
  }
  auto engine = Engine::open({.store = path, .device = info.id});
  REQUIRE_MESSAGE(engine.ok(), engine.error().message);
  const auto matmul = engine->kernel("matmul", DType::kF32, {{"m", 48}, {"n", 32}, {"k", 64}});
  REQUIRE_MESSAGE(matmul.ok(), matmul.error().message);
  CHECK(matmul->implementation() == "cublaslt");
  CHECK(matmul->why().empty());
  ProductInputs in(problem);
  const auto a = upload(in.a), b = upload(in.b), out = allocate(48 * 32 * 4);
  const auto pointer = [](const Buffer& buffer) { return static_cast<float*>(buffer.address()); };
  require(matmul->launch(nullptr, pointer(*a), pointer(*b), pointer(*a), pointer(*a), pointer(*out), in.alpha, in.beta));
  require(device->synchronize());
  CHECK(worst_error(download<float>(*out), in.answer(problem)) < 1e-3);
  std::filesystem::remove(path);
}
