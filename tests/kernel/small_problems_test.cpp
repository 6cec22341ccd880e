// The parts of a problem that are tried where no small one can be.
#include "engine/kernel/small_problems.hpp"

#include <algorithm>
#include <set>

#include "tests/kernel/reader_fixture.hpp"

using namespace hone;
using reader_test::can_read;
using reader_test::Folder;

namespace {

constexpr const char* kSmallProduct = R"cuda(#include <hone/kernel.h>
struct Problem { long m = 1024, n = 1024, k = 1024; RANGE(1, 4) STATIC long layout = 1; };
struct Config { TUNE(32, 64) int block = 32; };
constexpr bool valid(Problem p, Config c, Device d) { return p.k <= p.n; }
constexpr Launch launch(Problem p, Config c) { return {.grid = {p.m * p.n}, .block = {c.block}}; }
REFERENCE(p.m * p.n) void add_reference(long i, const f32* x, double* y, Problem p) { y[i] = x[i % p.k]; }
template <Config c> KERNEL void add(IN(p.m * p.k) const f32* x, OUT(p.m * p.n) f32* y, Problem p) {}
)cuda";

std::int64_t extent(const Problem& problem, const char* name) {
  return std::ranges::find(problem.shape, name, &Shape::value_type::first)->second;
}

std::int64_t work_of(const Problem& problem) { return extent(problem, "m") * extent(problem, "n") * extent(problem, "k"); }

}  // namespace

TEST_CASE("parts of a problem keep what its lines are aligned to, and begin with those that have the least to do") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  const KernelSpec spec = read_kernel_file(folder.write("add.cu", kSmallProduct)).value();
  for (const Shape& shape : {Shape{{"m", 3585}, {"n", 3585}, {"k", 3585}}, Shape{{"m", 100}, {"n", 9000}, {"k", 300}}}) {
    const Problem problem = make_problem(spec, DType::kF32, shape).value();
    const std::vector<Problem> parts = reduced_problems(spec, problem);
    REQUIRE_FALSE(parts.empty());
    CHECK(std::ranges::find(parts, problem) == parts.end());
    CHECK(std::ranges::is_sorted(parts, {}, work_of));
    CHECK(work_of(parts.front()) * 4 < work_of(problem));
    std::set<Shape> distinct;
    for (const Problem& part : parts) {
      CHECK(distinct.insert(part.shape).second);
      CHECK(extent(part, "layout") == 1);
      CHECK(extent(part, "k") <= extent(part, "n"));  // as valid has it
      for (const auto& [name, whole] : shape) {
        CHECK(extent(part, name.c_str()) <= whole);
        CHECK(extent(part, name.c_str()) % 64 == whole % 64);
      }
    }
  }
}

TEST_CASE("of a problem that has small extents alone there are no parts") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  const KernelSpec spec = read_kernel_file(folder.write("add.cu", kSmallProduct)).value();
  CHECK(reduced_problems(spec, make_problem(spec, DType::kF32, {{"m", 100}, {"n", 256}, {"k", 7}}).value()).empty());
}

TEST_CASE("an extent of 1 stays, also where it may be 0, and what is out of its range is no part") {
  if (!can_read()) {
    return;
  }
  std::string source = kSmallProduct;
  source.replace(source.find("long m = 1024, n = 1024, k = 1024;"), 34, "RANGE(0) long m = 1; RANGE(2048) long n = 4096; long k = 64;");
  const Folder folder;
  const KernelSpec spec = read_kernel_file(folder.write("add.cu", source)).value();
  const std::vector<Problem> parts = reduced_problems(spec, make_problem(spec, DType::kF32, {{"m", 1}, {"n", 5000}, {"k", 64}}).value());
  REQUIRE_FALSE(parts.empty());
  for (const Problem& part : parts) {
    CHECK(extent(part, "m") == 1);
    CHECK(extent(part, "n") >= 2048);
    CHECK(extent(part, "n") % 64 == 5000 % 64);
  }
}
