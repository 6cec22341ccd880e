#include "engine/runtime/launch_plan.hpp"

#include "engine/kernel/builtin_kernels.hpp"
#include "tests/runtime/engine_fixture.hpp"

namespace hone {
namespace {

LaunchPlan plan_of(const char* kernel, DType dtype, const Shape& shape) {
  const Registry::Found cpu = builtin_registry().device("cpu").value();
  const KernelSpec& spec = **find_builtin_kernel(kernel);
  const Problem problem = make_problem(spec, dtype, shape).value();
  return make_launch_plan(spec, problem, choose(spec, problem, cpu.info, nullptr).value(), cpu, nullptr).value();
}

}  // namespace

TEST_CASE("a launch plan has the code, the passes and the sizes of all arguments") {
  const LaunchPlan plan = plan_of("softmax", DType::kF16, {{"rows", 3}, {"cols", 5}});
  CHECK(plan.choice.source == Source::kDefault);
  REQUIRE(plan.passes.size() == 1);
  REQUIRE(plan.passes[0].symbol < plan.code.symbols.size());
  CHECK_FALSE(plan.code.artifact->bytes.empty());
  REQUIRE(plan.arguments.size() == 2);
  CHECK(plan.arguments[0].name == "x");
  CHECK(plan.arguments[0].direction == Direction::kIn);
  CHECK(plan.arguments[1].direction == Direction::kOut);
  CHECK(plan.arguments[1].elements == 15);
  CHECK(plan.arguments[1].bytes == 30);
}

TEST_CASE("workspaces have at least one element, and their extent follows the configuration") {
  const KernelSpec& gemm = **find_builtin_kernel("gemm");
  const Problem problem = make_problem(gemm, DType::kF32, {{"m", 64}, {"n", 32}, {"k", 512}}).value();
  const auto partial_bytes = [&](const char* configuration) {
    const auto arguments = launch_arguments(gemm, problem, parse_configuration(gemm.parameters, configuration).value()).value();
    std::size_t bytes = 0;
    for (const LaunchArgument& argument : arguments) {
      bytes += argument.direction == Direction::kWorkspace ? argument.bytes : 0;
    }
    return bytes;
  };
  // Two workspaces: b's copy, which stays at one element, and partial tiles.
  CHECK(partial_bytes("stream_k=false") == 4 + 4);
  // One tile of 64 steps makes 16 blocks of four steps, each with room for two partial tiles.
  CHECK(partial_bytes("stream_k=true,residency=1,bm=64,bn=64,bk=8") == 4 + 16 * 2 * 64 * 64 * 4);
}

TEST_CASE("only a workspace that has to begin as zeros is cleared before each launch, and not where it has no elements") {
  KernelSpec full_sum = **find_builtin_kernel("full_sum");
  const auto cleared = [&] {
    const Problem problem = make_problem(full_sum, DType::kF32, {{"n", 1 << 20}}).value();
    std::map<std::string, std::size_t> bytes;
    const std::vector<LaunchArgument> arguments = launch_arguments(full_sum, problem, default_configuration(full_sum)).value();
    for (const LaunchArgument& argument : arguments) {
      if (argument.zeroed) {
        bytes[argument.name] = argument.bytes;
      }
    }
    return bytes;
  };
  CHECK(cleared() == std::map<std::string, std::size_t>{{"done", sizeof(int)}});  // its other workspace has thousands of elements
  for (Argument& argument : full_sum.arguments) {
    if (argument.name == "done") {
      argument.extent = Expression{};
    }
  }
  CHECK(cleared().empty());
}

TEST_CASE("an argument whose bytes would overflow is an error that names it") {
  KernelSpec full_sum = **find_builtin_kernel("full_sum");
  const Problem problem = make_problem(full_sum, DType::kF32, {}).value();
  full_sum.arguments.back().extent = Expression::constant(std::int64_t{1} << 62);
  full_sum.arguments.back().direction = Direction::kWorkspace;
  const auto arguments = launch_arguments(full_sum, problem, default_configuration(full_sum));
  REQUIRE_FALSE(arguments.ok());
  CHECK(arguments.error().message.find("argument '" + full_sum.arguments.back().name + "' would have 4611686018427387904 elements") !=
        std::string::npos);
}

TEST_CASE("without a compiler, code that another version of it made of the configuration serves") {
  const test::Folder folder;
  const test::Variable user("XDG_DATA_HOME", folder / "user");
  const KernelSpec& spec = **find_builtin_kernel("softmax");
  Registry::Found cpu = builtin_registry().device("cpu").value();
  const Problem problem = make_problem(spec, DType::kF32, test::kSoftmaxShape).value();
  const auto store = open_store(folder / "S.db", StoreMode::kReadWrite).value();
  const Choice choice = choose(spec, problem, cpu.info, nullptr).value();
  const std::string compiler = cpu.info.environment.at("compiler");
  cpu.info.environment["compiler"] = "an older one";
  const LaunchPlan made = make_launch_plan(spec, problem, choice, cpu, store.get()).value();
  const test::Variable none("HONE_CXX", folder / "no_compiler");
  for (const std::string& today : {compiler, std::string("none"), std::string()}) {
    CAPTURE(today);
    cpu.info.environment["compiler"] = today;
    const auto found = make_launch_plan(spec, problem, choice, cpu, store.get());
    REQUIRE_MESSAGE(found.ok(), found.error().message);
    CHECK(found->code.artifact->digest == made.code.artifact->digest);
    CHECK(found->code.symbols == made.code.symbols);
  }
  // Only what fits: another configuration, source, dtype or architecture is other code.
  Choice other = choice;
  other.configuration = parse_configuration(spec.parameters, "block=512").value();
  CHECK_FALSE(make_launch_plan(spec, problem, other, cpu, store.get()).ok());
  CHECK_FALSE(make_launch_plan(spec, make_problem(spec, DType::kF16, test::kSoftmaxShape).value(), choice, cpu, store.get()).ok());
  cpu.info.architecture = "another";
  const auto missing = make_launch_plan(spec, problem, choice, cpu, store.get());
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code == ErrorCode::kUnavailable);
}

TEST_CASE("an architecture stands for a device that need not be here") {
  std::string known;
  for (const auto& plugin : builtin_registry().devices()) {
    if (const Result<DeviceInfo> typical = plugin->typical("sm_90a")) {
      known = plugin->name();
      CHECK(typical->architecture == "sm_90a");
      for (const std::string_view property : device_property_names()) {
        CAPTURE(std::string(property));
        REQUIRE(typical->properties.contains(property));
        CHECK(typical->properties.find(property)->second > 0);
      }
    }
    CHECK_FALSE(plugin->typical("sm_1").ok());
  }
  CHECK(known == "cuda");
}

}  // namespace hone
