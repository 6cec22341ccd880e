// The matrix products on tensor cores: which configurations there are for which hardware, and that those compile.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/runtime/launch_plan.hpp"
#include "engine/space/likely_space.hpp"
#include "engine/space/search_space.hpp"
#include "engine/store/lookup.hpp"
#include "plugins/cuda/loaded_kernel.hpp"
#include "sampled_kernels.hpp"
#include "test_kernels.hpp"
#include "tests/skip.hpp"

using namespace test;

TEST_CASE("the product of warpgroups is for Hopper, and its tensor maps obey the rules of the hardware") {
  const KernelSpec& spec = **find_builtin_kernel("gemm_wgmma");
  for (const Shape& shape : {Shape{{"m", 4096}, {"n", 4096}, {"k", 4096}}, Shape{{"m", 4097}, {"n", 4097}, {"k", 4097}},
                             Shape{{"m", 16}, {"n", 4096}, {"k", 4096}}}) {
    const Problem problem = make_problem(spec, DType::kBF16, shape).value();
    CAPTURE(text(problem.shape));
    for (const auto& other : {large("sm_80", 80), large("sm_100a", 100)}) {
      const auto none = space_of(spec, problem, other);
      REQUIRE_FALSE(none.ok());
      CHECK(none.error().message.find("'d.compute_capability == 90'") != std::string::npos);
    }
    const DeviceInfo hopper = large("sm_90a", 90);
    const auto space = space_of(spec, problem, hopper);
    REQUIRE_MESSAGE(space.ok(), space.error().message);
    CHECK(space->size() > 30);
    check_plans(spec, problem, *space, hopper, 200);
  }
}

TEST_CASE("products of warpgroups compile") {
  compile_some("gemm_wgmma", {}, large("sm_90a", 90), 1, 1);
  compile_some("gemm_wgmma", {{"m", 4097}, {"n", 4097}, {"k", 4097}}, large("sm_90a", 90), 1, 2);
}

TEST_CASE("rows of no whole words: both ways to deal with them compile, and classes of rows begin at whole words") {
  const DeviceInfo hopper = large("sm_90a", 90);
  const KernelSpec& spec = **find_builtin_kernel("gemm_wgmma");
  const Problem problem = make_problem(spec, DType::kBF16, Shape{{"m", 333}, {"n", 1777}, {"k", 511}}).value();
  const auto space = space_of(spec, problem, hopper);
  REQUIRE_MESSAGE(space.ok(), space.error().message);
  const std::string common = "bm=64,bn=128,consumers=1,stages=8,raster=16,staged=false,repack=";
  const Configuration copies = parse_configuration(spec.parameters, common + "1").value();
  const Configuration configuration = parse_configuration(spec.parameters, common + "2").value();
  CHECK(space->contains(copies));
  CHECK(space->contains(configuration));
  const auto by_copies = plan_launch(spec, problem, copies, hopper);
  REQUIRE_MESSAGE(by_copies.ok(), by_copies.error().message);
  CHECK(by_copies->size() == 2);
  CAPTURE(text(spec.parameters, configuration));
  const auto by_classes = plan_launch(spec, problem, configuration, hopper);
  REQUIRE_MESSAGE(by_classes.ok(), by_classes.error().message);
  REQUIRE(by_classes->size() == 2);  // b is copied
  const auto& maps = by_classes->back().tensor_maps;
  REQUIRE(maps.size() >= 8);
  CHECK(maps.size() <= cuda::kMostTensorMaps);
  for (std::int64_t row = 0; row < 8; ++row) {  // row r of a begins 511 r elements into it, and its class r * 7 % 8 elements before that
    const TensorMap& map = maps[static_cast<std::size_t>(row)];
    CHECK(map.offset_bytes == 2 * (511 * row - row * 7 % 8));
    CHECK(map.size[0] == 511 + row * 7 % 8);
    CHECK(map.size[1] == (333 - row + 7) / 8);
    CHECK(map.stride_bytes[1] == 2 * 8 * 511);
  }
  const auto compiler = cuda_plugin().compiler(hopper);
  if (!compiler) {
    hone::tests::skip("nvrtc", compiler.error().message);
    return;
  }
  const auto compiled = compile(**compiler, spec, {configuration}, DType::kBF16);
  REQUIRE_MESSAGE(compiled[0].ok(), compiled[0].error().message);
  CHECK(static_reject(*by_classes, compiled[0]->resources, hopper) == "");
}

TEST_CASE("tiles are as wide as fills the device: panels of b and out are as wide as their swizzle") {
  const DeviceInfo hopper = large("sm_90a", 90);
  const KernelSpec& spec = **find_builtin_kernel("gemm_wgmma");
  const Problem problem = make_problem(spec, DType::kBF16, Shape{{"m", 1536}, {"n", 1536}, {"k", 1536}}).value();
  struct Width {
    const char* configuration;
    std::int64_t b_columns, out_columns;  // of a box
  };
  for (const Width& width : {Width{"bm=128,bn=160,stages=5,staged=true", 32, 32}, Width{"bm=128,bn=176,stages=5,staged=false", 64, 0},
                             Width{"bm=128,bn=192,stages=4,staged=true", 64, 64}}) {
    const Configuration configuration = parse_configuration(spec.parameters, width.configuration).value();
    CAPTURE(width.configuration);
    const auto plan = plan_launch(spec, problem, configuration, hopper);
    REQUIRE_MESSAGE(plan.ok(), plan.error().message);
    const auto& maps = plan->front().tensor_maps;
    REQUIRE(maps.size() == (width.out_columns > 0 ? 3 : 2));
    CHECK(maps[1].box[0] == width.b_columns);
    CHECK(maps[1].swizzle == 2 * width.b_columns);
    if (width.out_columns > 0) {
      CHECK(maps[2].box[0] == width.out_columns);
      CHECK(maps[2].swizzle == 2 * width.out_columns);
    }
  }
  compile_some("gemm_wgmma", {{"m", 1536}, {"n", 1536}, {"k", 1536}}, hopper, 1, 3);
}

TEST_CASE("a tile whose last round leaves the device half idle is not likely where another width fills it") {
  const DeviceInfo hopper = large("sm_90a", 90);
  const KernelSpec& spec = **find_builtin_kernel("gemm_wgmma");
  Bindings fixed = bindings(make_problem(spec, DType::kBF16, Shape{{"m", 1536}, {"n", 1536}, {"k", 1536}}).value());
  fixed.merge(bindings(hopper));
  const auto space = LikelySpace::build(spec.parameters, spec.constraints, spec.expectations, fixed);
  REQUIRE_MESSAGE(space.ok(), space.error().message);
  const auto is_likely = [&](const char* configuration) {
    const Configuration parsed = parse_configuration(spec.parameters, configuration).value();
    REQUIRE(space->legal()->contains(parsed));
    return space->likely()->contains(parsed);
  };
  CHECK(is_likely("bm=128,bn=160,stages=5,staged=false"));        // 120 tiles for 128 blocks
  CHECK_FALSE(is_likely("bm=128,bn=128,stages=6,staged=false"));  // 144 tiles
  CHECK_FALSE(is_likely("bm=128,bn=176,stages=5,staged=false"));  // 108: narrower ones take no more rounds
}

TEST_CASE("every layout has configurations for lines of whole words and for ragged ones, and something is there for an untuned problem") {
  const DeviceInfo hopper = large("sm_90a", 90);
  for (const char* kernel : {"gemm_wgmma", "gemm_mma"}) {
    const KernelSpec& spec = **find_builtin_kernel(kernel);
    for (std::int64_t layout = 1; layout <= 4; ++layout) {
      for (const Shape& extents :
           {Shape{{"m", 512}, {"n", 1024}, {"k", 2048}}, Shape{{"m", 333}, {"n", 1777}, {"k", 511}}, Shape{{"m", 1}, {"n", 3}, {"k", 1}}}) {
        Shape shape = extents;
        shape.insert(shape.end(), {{"layout", layout}, {"terms", 5 - layout}, {"activation", layout}});
        const Problem problem = make_problem(spec, DType::kF16, shape).value();
        CAPTURE(kernel);
        CAPTURE(text(problem.shape));
        const auto choice = choose(spec, problem, hopper, nullptr);
        REQUIRE_MESSAGE(choice.ok(), choice.error().message);
        const auto space = space_of(spec, problem, hopper);
        REQUIRE_MESSAGE(space.ok(), space.error().message);
        CHECK(space->contains(choice->configuration));
        check_plans(spec, problem, *space, hopper, 20);
      }
    }
  }
}

TEST_CASE("only operands whose lines are ragged are copied") {
  const DeviceInfo hopper = large("sm_90a", 90);
  const KernelSpec& spec = **find_builtin_kernel("gemm_wgmma");
  const auto workspace_of = [&](std::int64_t layout, std::int64_t m, std::int64_t n, std::int64_t k) {
    const Problem problem = make_problem(spec, DType::kBF16, Shape{{"m", m}, {"n", n}, {"k", k}, {"layout", layout}}).value();
    const auto configuration =
        parse_configuration(spec.parameters, "bm=64,bn=64,consumers=1,stages=8,raster=16,staged=false,repack=1").value();
    CHECK(space_of(spec, problem, hopper)->contains(configuration));
    const auto plan = plan_launch(spec, problem, configuration, hopper);
    REQUIRE_MESSAGE(plan.ok(), plan.error().message);
    std::vector<std::int64_t> elements{static_cast<std::int64_t>(plan->size())};
    const std::vector<LaunchArgument> arguments = launch_arguments(spec, problem, configuration).value();
    for (const LaunchArgument& argument : arguments) {
      if (argument.name == "packed_a" || argument.name == "packed_b") {
        elements.push_back(argument.elements);
      }
    }
    return elements;
  };
  CHECK(workspace_of(1, 512, 1001, 512) == std::vector<std::int64_t>{2, 1, 512 * 1024});
  CHECK(workspace_of(2, 512, 1001, 512) == std::vector<std::int64_t>{1, 1, 1});
  CHECK(workspace_of(3, 511, 1024, 512) == std::vector<std::int64_t>{2, 512 * 512, 1});
  CHECK(workspace_of(4, 511, 1024, 509) == std::vector<std::int64_t>{2, 509 * 512, 1024 * 512});
}

TEST_CASE("clusters of four and of eight blocks share what they load") {
  const KernelSpec& spec = **find_builtin_kernel("gemm_wgmma");
  const DeviceInfo hopper = large("sm_90a", 90);
  const auto compiler = cuda_plugin().compiler(hopper);
  for (const std::int64_t layout : {1, 2, 4}) {
    const Problem problem = make_problem(spec, DType::kBF16, Shape{{"m", 672}, {"n", 912}, {"k", 4000}, {"layout", layout}}).value();
    Bindings fixed = bindings(problem);
    fixed.merge(bindings(hopper));
    const auto spaces = LikelySpace::build(spec.parameters, spec.constraints, spec.expectations, fixed);
    REQUIRE_MESSAGE(spaces.ok(), spaces.error().message);
    const SearchSpace& space = *spaces->legal();
    const auto with = [&](int width, int across, int down) {
      const std::string text =
          fmt::format("bm=64,bn={},consumers=1,stages=8,cluster_m={},cluster_n={},raster=16,staged=false,repack=0", width, down, across);
      return parse_configuration(spec.parameters, text).value();
    };
    CHECK_FALSE(space.contains(with(96, 4, 4)));
    CHECK(space.contains(with(80, 1, 4)) == (layout == 1));  // 20 lines of b, where swizzles repeat after eight
    for (const Configuration& configuration : {with(96, 2, 4), with(96, 4, 2), with(64, 1, 4)}) {
      CAPTURE(text(spec.parameters, configuration));
      CHECK(space.contains(configuration));
      const auto plan = plan_launch(spec, problem, configuration, hopper);
      REQUIRE_MESSAGE(plan.ok(), plan.error().message);
      CHECK(plan->front().cluster[0] == (configuration == with(64, 1, 4) ? 4 : 8));
      if (compiler) {
        const auto compiled = compile(**compiler, spec, {configuration}, DType::kBF16);
        REQUIRE_MESSAGE(compiled[0].ok(), compiled[0].error().message);
        CHECK(static_reject(*plan, compiled[0]->resources, hopper) == "");
      }
    }
    CHECK(spaces->likely()->contains(with(96, 2, 4)));  // a product of few tiles and a long sum
    const auto plan = plan_launch(spec, problem, with(96, 2, 4), hopper);
    CHECK(plan->front().tensor_maps[0].box[1] == 32);                       // of 64 rows, or of 64 along k, for two blocks
    CHECK(plan->front().tensor_maps[1].box[1] == (layout == 1 ? 16 : 24));  // of 64 along k, or of 96 columns, for four
  }
  if (!compiler) {
    hone::tests::skip("nvrtc", compiler.error().message);
  }
}

TEST_CASE("where a and b are swapped, tiles have any multiple of 16 rows, in each layout and each way to write them") {
  const KernelSpec& spec = **find_builtin_kernel("gemm_wgmma");
  const DeviceInfo hopper = large("sm_90a", 90);
  const auto compiler = cuda_plugin().compiler(hopper);
  const char* const whole[] = {"bm=48,bn=128,consumers=2,stages=4,staged=true",
                               "bm=16,bn=64,consumers=1,stages=8,staged=false",
                               "bm=112,bn=128,consumers=2,pingpong=true,stages=4,staged=true",
                               "bm=224,bn=128,consumers=2,stages=4,cluster_k=4,staged=false",
                               "bm=80,bn=64,consumers=1,stages=8,cluster_m=4,staged=false",
                               "bm=32,bn=256,consumers=1,stages=3,cluster_n=4,staged=false"};
  const char* const ragged[] = {"bm=48,bn=256,consumers=2,stages=4,staged=false,repack=1",
                                "bm=16,bn=64,consumers=1,stages=8,staged=false,repack=1"};
  const auto swapped = [&](const std::string& text) { return parse_configuration(spec.parameters, text + ",swap_ab=true").value(); };
  const auto check = [&](const Configuration& configuration, const Shape& shape) {
    const Problem problem = make_problem(spec, DType::kBF16, shape).value();
    CAPTURE(text(problem.shape));
    CAPTURE(text(spec.parameters, configuration));
    CHECK(space_of(spec, problem, hopper)->contains(configuration));
    const auto plan = plan_launch(spec, problem, configuration, hopper);
    REQUIRE_MESSAGE(plan.ok(), plan.error().message);
    if (compiler) {
      const auto compiled = compile(**compiler, spec, {configuration}, DType::kBF16, problem.shape);
      REQUIRE_MESSAGE(compiled[0].ok(), compiled[0].error().message);
      CHECK(static_reject(*plan, compiled[0]->resources, hopper) == "");
    }
  };
  for (std::int64_t layout = 1; layout <= 4; ++layout) {
    for (const char* configuration : whole) {
      check(swapped(configuration),
            Shape{{"m", 672}, {"n", 912}, {"k", 1024}, {"layout", layout}, {"terms", layout}, {"activation", 5 - layout}});
    }
    for (const char* configuration : ragged) {
      check(swapped(configuration), Shape{{"m", 33}, {"n", 777}, {"k", 511}, {"layout", layout}, {"terms", 5 - layout}});
    }
    check(swapped("bm=80,bn=128,consumers=2,stages=6,split=2,staged=false"),
          Shape{{"m", 144}, {"n", 9984}, {"k", 4096}, {"layout", layout}});
  }
  if (!compiler) {
    hone::tests::skip("nvrtc", compiler.error().message);
  }
}

TEST_CASE("where a and b are swapped, boxes are as high as tiles, and columns come in whole instructions") {
  const KernelSpec& spec = **find_builtin_kernel("gemm_wgmma");
  const DeviceInfo hopper = large("sm_90a", 90);
  const auto problem = [&](std::int64_t layout) {
    return make_problem(spec, DType::kBF16, Shape{{"m", 672}, {"n", 912}, {"k", 1024}, {"layout", layout}}).value();
  };
  const auto parsed = [&](const char* text) { return parse_configuration(spec.parameters, text).value(); };
  struct Boxes {
    const char* configuration;
    std::int64_t layout, a_line, a_lines, out_rows;  // of a box
  };
  for (const Boxes& boxes : {Boxes{"bm=48,bn=128,consumers=2,stages=4,swap_ab=true", 1, 64, 48, 48},
                             Boxes{"bm=112,bn=128,consumers=2,stages=4,swap_ab=true", 2, 64, 112, 16},
                             Boxes{"bm=16,bn=128,consumers=2,stages=4,swap_ab=true", 3, 32, 64, 16},
                             Boxes{"bm=48,bn=128,consumers=2,stages=4,swap_ab=true", 4, 64, 64, 48}}) {
    CAPTURE(boxes.configuration);
    const auto plan = plan_launch(spec, problem(boxes.layout), parsed(boxes.configuration), hopper);
    REQUIRE_MESSAGE(plan.ok(), plan.error().message);
    const auto& maps = plan->front().tensor_maps;
    REQUIRE(maps.size() == 3);
    CHECK(maps[0].box[0] == boxes.a_line);
    CHECK(maps[0].box[1] == boxes.a_lines);
    CHECK(maps[0].swizzle == 2 * boxes.a_line);
    CHECK(maps[1].box[0] == 64);  // panels of b are whole
    CHECK(maps[2].box[0] == 64);
    CHECK(maps[2].box[1] == boxes.out_rows);
  }
  const auto is_legal = [&](std::int64_t layout, const char* text) {
    return space_of(spec, problem(layout), hopper)->contains(parsed(text));
  };
  CHECK(is_legal(3, "bm=48,bn=128,cluster_n=4,stages=4,swap_ab=true"));
  CHECK_FALSE(is_legal(1, "bm=48,bn=128,cluster_n=4,stages=4,swap_ab=true"));  // 12 lines of a, where swizzles repeat after eight
  CHECK_FALSE(is_legal(1, "bm=48,bn=80,consumers=1,stages=4,swap_ab=true"));   // 80 columns
  CHECK_FALSE(is_legal(1, "bm=48,bn=128,stages=4,swap_ab=false"));             // 48 rows
  CHECK_FALSE(is_legal(1, "bm=48,bn=128,stages=4,staged=false,repack=2,swap_ab=true"));
}

TEST_CASE("blocks of a cluster share a sum of warps over k on Hopper, not before") {
  const KernelSpec& spec = **find_builtin_kernel("gemm_mma");
  const Problem problem = make_problem(spec, DType::kBF16, Shape{{"m", 16}, {"n", 4096}, {"k", 4096}}).value();
  const Configuration configuration =
      parse_configuration(spec.parameters, "bm=16,bn=64,bk=64,wm=16,wn=16,stages=5,vec=8,cluster=4,raster=1").value();
  const DeviceInfo hopper = large("sm_90a", 90);
  CHECK(space_of(spec, problem, hopper)->contains(configuration));
  CHECK_FALSE(space_of(spec, problem, large("sm_80", 80))->contains(configuration));
  const auto plan = plan_launch(spec, problem, configuration, hopper);
  REQUIRE_MESSAGE(plan.ok(), plan.error().message);
  REQUIRE(plan->size() == 1);  // no second pass
  CHECK(plan->front().cluster[0] == 4);
  CHECK(plan->front().grid[0] == 4 * 64);
  const auto compiler = cuda_plugin().compiler(hopper);
  if (!compiler) {
    hone::tests::skip("nvrtc", compiler.error().message);
    return;
  }
  const auto compiled = compile(**compiler, spec, {configuration}, DType::kBF16);
  REQUIRE_MESSAGE(compiled[0].ok(), compiled[0].error().message);
  CHECK(static_reject(*plan, compiled[0]->resources, hopper) == "");
}

TEST_CASE("products of operands that are transposed compile, with all that is done to a sum") {
  const Shape whole{{"m", 512}, {"n", 1024}, {"k", 2048}};
  const auto variant = [](Shape shape, std::int64_t layout, std::int64_t terms, std::int64_t activation) {
    shape.insert(shape.end(), {{"layout", layout}, {"terms", terms}, {"activation", activation}});
    return shape;
  };
  const Shape ragged{{"m", 333}, {"n", 1777}, {"k", 511}};
  const DeviceInfo hopper = large("sm_90a", 90);
  compile_some("gemm_wgmma", variant(whole, 2, 4, 2), hopper, 1, 1);
  compile_some("gemm_wgmma", variant(whole, 3, 2, 4), hopper, 1, 2);
  compile_some("gemm_wgmma", variant(ragged, 4, 3, 3), hopper, 1, 3);
  compile_some("gemm_wgmma", variant(ragged, 1, 4, 2), hopper, 1, 4);
  compile_some("gemm_mma", variant(whole, 2, 4, 2), large("sm_80", 80), 1, 1);
  compile_some("gemm_mma", variant(whole, 3, 2, 4), hopper, 1, 2);
  compile_some("gemm_mma", variant(ragged, 4, 3, 3), large("sm_100a", 100), 1, 3);
}

TEST_CASE("products of warps compile for each family") {
  compile_some("gemm_mma", {}, large("sm_80", 80), 1, 1);
  compile_some("gemm_mma", {{"m", 333}, {"n", 1777}, {"k", 511}}, large("sm_90a", 90), 1, 2);
  compile_some("gemm_mma", {}, large("sm_100a", 100), 1, 3);
}
