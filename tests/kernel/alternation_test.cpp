// Passes that repeat, each run on what the one before it wrote.
#include "engine/device/device.hpp"
#include "reader_fixture.hpp"

using hone::kRunIndexParameter;
using reader_test::can_read;
using reader_test::error_of;
using reader_test::Folder;

namespace {

std::string steps(const std::string& first = "IN(p.n, .then = y)", const std::string& result = "OUT(p.n)",
                  const std::string& repeat = "p.steps / c.fused", const std::string& run = "RUN_INDEX int run") {
  return "#include <hone/kernel.h>\nstruct Problem { long n = 64, steps = 4; };\nstruct Config { TUNE(1, 2, 4) int fused = 1; };\n"
         "constexpr Launch launch(Problem p, Config c) { return {.grid = {p.n}, .block = {1}, .repeat = " +
         repeat +
         "}; }\n"
         "REFERENCE(p.n) void add_reference(long i, const float* x, double* y, Problem p) { y[i] = x[i] + p.steps; }\n"
         "template <Config c> KERNEL void add(" +
         first + " const float* x, " + run + ",\n  " + result + " float* y, Problem p) {}\n";
}

hone::Result<std::vector<hone::PassLaunch>> plan(const hone::KernelSpec& spec, std::int64_t steps, int fused) {
  return hone::plan_launch(spec, {hone::DType::kF32, {{"n", 64}, {"steps", steps}}}, {{hone::Value(fused)}}, {});
}

}  // namespace

TEST_CASE("a pass that repeats alternates between its output and memory of Hone's, and ends in the output") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  const auto spec = hone::read_kernel_file(folder.write("add.cu", steps()));
  REQUIRE_MESSAGE(spec.ok(), spec.error().message);
  REQUIRE(spec->arguments.size() == 3);
  const hone::Argument& spare = spec->arguments[2];
  CHECK(spare.name == "y.spare");
  CHECK(spare.direction == hone::Direction::kWorkspace);
  const auto spare_elements = [&](std::int64_t steps, int fused) {
    return spare.extent.evaluate({{"p.n", 64}, {"p.steps", steps}, {"c.fused", fused}}).value().integer();
  };
  CHECK(spare_elements(4, 2) == 64);
  CHECK(spare_elements(4, 4) == 0);  // one run needs none

  constexpr int kX = 0, kY = 1, kSpare = 2, kProblem = hone::kProblemParameter;
  const auto four = plan(*spec, 4, 1);
  REQUIRE_MESSAGE(four.ok(), four.error().message);
  REQUIRE(four->size() == 4);
  using Indices = std::vector<int>;
  CHECK(four->at(0).arguments == Indices{kX, kRunIndexParameter, kSpare, kProblem});
  CHECK(four->at(1).arguments == Indices{kSpare, kRunIndexParameter, kY, kProblem});
  CHECK(four->at(2).arguments == Indices{kY, kRunIndexParameter, kSpare, kProblem});
  CHECK(four->at(3).arguments == Indices{kSpare, kRunIndexParameter, kY, kProblem});
  CHECK(four->at(2).exchanged == std::vector<std::array<int, 2>>{{kX, kY}, {kY, kSpare}});
  for (int run = 0; run < 4; ++run) {
    CHECK(four->at(static_cast<std::size_t>(run)).run_index == run);
    CHECK(four->at(static_cast<std::size_t>(run)).symbol == 0);
  }
  const auto three = plan(*spec, 3, 1);
  REQUIRE(three->size() == 3);
  CHECK(three->at(0).arguments == Indices{kX, kRunIndexParameter, kY, kProblem});
  CHECK(three->at(2).arguments == Indices{kSpare, kRunIndexParameter, kY, kProblem});
  CHECK(plan(*spec, 4, 4)->size() == 1);
  CHECK(plan(*spec, 4, 4)->at(0).exchanged.empty());

  const auto again = hone::parse_kernel_spec(spec->serialize());
  REQUIRE_MESSAGE(again.ok(), again.error().message);
  CHECK(plan(*again, 4, 1)->at(1).arguments == four->at(1).arguments);
}

TEST_CASE("a pass that repeats without exchanging anything is launched as often") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  const auto spec = hone::read_kernel_file(folder.write("add.cu", steps("IN(p.n)", "OUT(p.n)", "p.steps", "SCALAR(2) int run")));
  REQUIRE_MESSAGE(spec.ok(), spec.error().message);
  CHECK(plan(*spec, 5, 1)->size() == 5);
  CHECK(spec->arguments.size() == 3);
}

TEST_CASE("a number of runs that cannot be is an error of the launch") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  const auto spec = hone::read_kernel_file(folder.write("add.cu", steps()));
  REQUIRE(spec.ok());
  CHECK(plan(*spec, 1, 2).error().message.find("p.steps / c.fused is 0; a pass can run 1 to 4096 times") != std::string::npos);
  CHECK(plan(*spec, 5000, 1).error().message.find("is 5000") != std::string::npos);
}

TEST_CASE("what cannot stand in for an input is refused at its place") {
  if (!can_read()) {
    return;
  }
  const auto says = [](const std::string& text, const std::string& expected) {
    const std::string error = error_of(text);
    CAPTURE(error);
    CHECK(error.starts_with("add.cu:"));
    CHECK(error.find(expected) != std::string::npos);
  };
  says(steps("IN(p.n, .then = z)"), "'z' is not an argument of add");
  says(steps("IN(p.n + 1, .then = y)"), "'y' has p.n elements and this argument has p.n + 1");
  says(steps("IN(p.n, .then = y)", "OUT_ZEROED(p.n)"), "'y' must be an OUT with the elements of 'x'");
  says(steps("IN(p.n, .then = y)", "INOUT(p.n)"), "'y' must be an OUT");
  says(steps("IN(p.n, .then = y)", "OUT(p.n)", "p.steps", "RUN_INDEX long run"), "its type must be int");
  says(steps("IN(p.n, .then = y) const float* w, IN(p.n, .then = y)"), "two inputs cannot both continue with 'y'");
}

TEST_CASE("a spec whose alternation names no argument is refused") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  hone::KernelSpec spec = hone::read_kernel_file(folder.write("add.cu", steps())).value();
  spec.passes[0].alternations[0].spare = 7;
  CHECK_FALSE(hone::parse_kernel_spec(spec.serialize()).ok());
}
