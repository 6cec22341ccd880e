// Which shape a portfolio measures next.
#include "engine/tune/portfolio_shapes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/kernel/operation.hpp"

namespace hone {
namespace {

constexpr double kSession = 5.0;  // seconds

struct RangeOf {
  Operation operation;
  PortfolioRequest request;
  PortfolioTable measured;

  explicit RangeOf(const char* text, const char* name = "softmax") : operation(find_operation(name).value()) {
    request.operation = &operation;
    request.range = parse_range(*operation.definition, text).value();
    request.dtypes = DType::kF32;
  }
};

std::int64_t extent_of(const Shape& shape, const char* name) { return std::ranges::find(shape, name, &Shape::value_type::first)->second; }

/// So many shapes of a range of causal attention, where a session has time for all that are drawn.
std::vector<Shape> shapes_of_attention(const char* extents, int count) {
  RangeOf range((std::string("batch=1,heads=1,group=1,head=64,causal=1,") + extents).c_str(), "attention");
  range.request.most_bytes = 1e12;
  PortfolioShapes shapes(range.request);
  shapes.note_time({{"batch", 1}, {"heads", 1}, {"group", 1}, {"queries", 4096}, {"keys", 4096}, {"head", 64}, {"causal", 1}}, 1.0);
  std::vector<Shape> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(shapes.next_surveyed(kSession, range.measured).value());
  }
  return all;
}

std::int64_t rows_of(const std::optional<Shape>& shape) { return shape->front().second; }

}  // namespace

TEST_CASE("a session gets the shape that needs it most of the next few, and surveys get the others") {
  const RangeOf range("rows=1..4096,cols=16");
  PortfolioShapes plain(range.request), shapes(range.request);
  std::set<std::int64_t> first;
  while (first.size() < 24) {  // nothing is measured meanwhile, so a shape may come twice
    first.insert(rows_of(plain.next_surveyed(kSession, range.measured)));
  }
  const auto need = [](const Shape& shape) { return static_cast<double>(shape.front().second); };
  const std::int64_t explored = rows_of(shapes.next_explored(kSession, range.measured, need));
  CHECK(explored == *first.rbegin());
  first.erase(explored);
  for (int i = 0; i < 23; ++i) {
    CHECK(first.erase(rows_of(shapes.next_surveyed(kSession, range.measured))) == 1);
  }
}

TEST_CASE("what is held out is measured by nobody") {
  RangeOf range("rows=1..6,cols=16");
  range.request.held_out = parse_range(*range.operation.definition, "rows=1|4..6,cols=16").value();
  PortfolioShapes shapes(range.request);
  const auto need = [](const Shape& shape) { return static_cast<double>(shape.front().second); };
  for (int i = 0; i < 8; ++i) {
    const std::int64_t surveyed = rows_of(shapes.next_surveyed(kSession, range.measured));
    CHECK((surveyed == 2 || surveyed == 3));
    CHECK(rows_of(shapes.next_explored(kSession, range.measured, need)) == 3);
  }
}

TEST_CASE("a shape whose session was interrupted comes first, once, although something was measured there") {
  RangeOf range("rows=1..4096,cols=16");
  const Shape begun{{"rows", 100}, {"cols", 16}};
  Trial trial;
  trial.outcome = Outcome::kOk;
  trial.measurement.median_us = 10.0;
  const KernelSpec& spec = *range.operation.definition;
  trial.configuration = default_configuration(spec);
  range.measured.add(begun, {}, spec, make_problem(spec, DType::kF32, begun).value(), {}, {trial});
  PortfolioShapes shapes(range.request);
  shapes.go_on_with(begun);
  shapes.go_on_with(begun);
  const auto next = [&] { return shapes.next_explored(kSession, range.measured, [](const Shape& /*shape*/) { return 1.0; }); };
  CHECK(next() == begun);
  CHECK(next() != begun);
}

TEST_CASE("more shapes are drawn from the large end of a range, and small ones still are") {
  RangeOf range("rows=1..4096,cols=1..4096");
  range.request.most_bytes = 1e12;
  PortfolioShapes shapes(range.request);
  shapes.note_time({{"rows", 4096}, {"cols", 4096}}, 1.0);  // so a session has time for all of them
  int large = 0, small = 0;
  constexpr int kShapes = 300;
  for (int i = 0; i < kShapes; ++i) {
    const Shape shape = shapes.next_surveyed(kSession, range.measured).value();
    large += shape[0].second >= 256 && shape[1].second >= 256 ? 1 : 0;
    small += shape[0].second <= 16 && shape[1].second <= 16 ? 1 : 0;
  }
  // Both in the upper third of the logarithms: 1/9 of even draws, 25/81 of the larger ones of two.
  CHECK(large > kShapes / 9 * 5 / 4);
  CHECK(large < kShapes / 3);
  CHECK(small > kShapes / 30);  // half of all are drawn evenly, and of these 1/9
}

TEST_CASE("narrow shapes are drawn, of one small extent and others that are large and round, as models decode") {
  RangeOf range("m=1..16384,n=16..16384,k=16..16384", "matmul");
  range.request.most_bytes = 1e12;
  PortfolioShapes shapes(range.request);
  shapes.note_time({{"m", 8192}, {"n", 8192}, {"k", 8192}, {"layout", 1}, {"terms", 1}, {"activation", 1}}, 1.0);
  constexpr std::size_t kShapes = 700;
  std::array<int, 3> small{};  // shapes of few rows, of few columns, of few terms, all else large and a multiple of 64
  int rows_of_one = 0, ragged = 0;
  for (std::size_t i = 0; i < kShapes; ++i) {
    const Shape shape = shapes.next_surveyed(kSession, range.measured).value();
    const auto is_large = [&](std::size_t axis) { return shape[axis].second >= 512 && shape[axis].second % 64 == 0; };
    for (std::size_t axis = 0; axis < small.size(); ++axis) {
      small.at(axis) += shape[axis].second <= 64 && is_large((axis + 1) % 3) && is_large((axis + 2) % 3) ? 1 : 0;
    }
    rows_of_one += shape[0].second == 1 && is_large(1) && is_large(2) ? 1 : 0;
    ragged += std::ranges::any_of(shape, [](const auto& field) { return field.second > 8 && field.second % 8 != 0; }) ? 1 : 0;
  }
  CHECK(small[0] > 24);  // of even draws, and the large ones: 4, 1, 1 and none of one row
  CHECK(small[1] > 12);
  CHECK(small[2] > 12);
  CHECK(rows_of_one >= 4);
  CHECK(ragged > 350);
}

TEST_CASE("shapes one past what tiles divide are drawn, in some extents or in all") {
  RangeOf range("m=1..16384,n=16..16384,k=16..8192|10000", "matmul");
  range.request.most_bytes = 1e12;
  PortfolioShapes shapes(range.request);
  shapes.note_time({{"m", 8192}, {"n", 8192}, {"k", 8192}, {"layout", 1}, {"terms", 1}, {"activation", 1}}, 1.0);
  std::array<int, 4> past{};  // large shapes that are round but for so many extents, which are one more
  for (int i = 0; i < 1000; ++i) {
    const Shape shape = shapes.next_surveyed(kSession, range.measured).value();
    std::size_t beyond = 0, large = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t extent = shape[axis].second;
      beyond += extent % 64 == 1 ? 1 : 0;
      large += extent >= 512 && (extent % 64 <= 1 || extent == 10000) ? 1 : 0;
      CHECK((axis < 2 || extent <= 8192 || extent == 10000));
    }
    past.at(beyond) += large == 3 ? 1 : 0;
  }
  CHECK(past[1] > 10);  // of even draws and large ones next to none
  CHECK(past[2] > 5);
  CHECK(past[3] > 2);
}

TEST_CASE("extents that are alike by default often are, where all may be so large") {
  constexpr int kShapes = 100;
  int same = 0;
  for (const Shape& shape : shapes_of_attention("queries=1..512,keys=16..4096", kShapes)) {
    CHECK(extent_of(shape, "queries") <= 512);
    same += extent_of(shape, "queries") == extent_of(shape, "keys") ? 1 : 0;
  }
  CHECK(same >= kShapes / 6);
  CHECK(same <= kShapes / 2);
}

TEST_CASE("extents that no axis has in common are not alike, and what is 0 by default is not") {
  int same = 0;
  for (const Shape& shape : shapes_of_attention("queries=1..8,keys=64..4096,window=1..512,layout=1,packed=0,varied=1..100", 60)) {
    CHECK(extent_of(shape, "queries") <= 8);
    CHECK(extent_of(shape, "keys") >= 64);
    same += extent_of(shape, "window") == extent_of(shape, "varied") ? 1 : 0;
  }
  CHECK(same < 6);
}

TEST_CASE("extents that are named beside a span are drawn as often in large shapes") {
  RangeOf range("rows=1..4096,cols=16|1024..65536");
  range.request.most_bytes = 1e12;
  PortfolioShapes shapes(range.request);
  shapes.note_time({{"rows", 4096}, {"cols", 65536}}, 1.0);
  int named = 0;
  constexpr int kShapes = 120;
  for (int i = 0; i < kShapes; ++i) {
    named += shapes.next_surveyed(kSession, range.measured).value()[1].second == 16 ? 1 : 0;
  }
  CHECK(named > kShapes * 2 / 5);
  CHECK(named < kShapes * 3 / 5);
}

TEST_CASE("values that are named stay as they were drawn, all alike") {
  RangeOf range("m=1..4096,n=512|1500,k=512|1500", "matmul");
  PortfolioShapes shapes(range.request);
  int small = 0;
  constexpr int kShapes = 200;
  for (int i = 0; i < kShapes; ++i) {
    const Shape shape = shapes.next_surveyed(kSession, range.measured).value();
    const auto is_named = [](std::int64_t extent) { return extent == 512 || extent == 1500; };
    CHECK(is_named(shape[1].second));
    CHECK(is_named(shape[2].second));
    small += shape[1].second == 512 && shape[2].second == 512 ? 1 : 0;
  }
  CHECK(small > kShapes / 6);  // a quarter; of the largest of four draws, or of two, hardly any
}

TEST_CASE("a range of one span has no narrow shapes") {
  RangeOf range("rows=1..4096,cols=1024");
  range.request.most_bytes = 1e12;
  PortfolioShapes shapes(range.request);
  shapes.note_time({{"rows", 4096}, {"cols", 1024}}, 1.0);
  int large = 0;
  constexpr int kShapes = 120;
  for (int i = 0; i < kShapes; ++i) {
    large += rows_of(shapes.next_surveyed(kSession, range.measured)) >= 64 ? 1 : 0;
  }
  // Half of the even draws, three quarters of every third. Narrow in rows, every fourth one would be a quarter.
  CHECK(large > kShapes * 11 / 20);
}

TEST_CASE("large extents beside a small one are round where the range allows it, and named ones stay") {
  RangeOf range("m=1..16384,n=16..16384|3001,k=1000..1007", "matmul");
  range.request.most_bytes = 1e12;
  PortfolioShapes shapes(range.request);
  shapes.note_time({{"m", 8192}, {"n", 8192}, {"k", 1007}, {"layout", 1}, {"terms", 1}, {"activation", 1}}, 1.0);
  int round = 0, named = 0;
  for (int i = 0; i < 300; ++i) {
    const Shape shape = shapes.next_surveyed(kSession, range.measured).value();
    CHECK(shape[2].second >= 1000);
    CHECK(shape[2].second <= 1007);
    named += shape[1].second == 3001 ? 1 : 0;
    round += shape[1].second >= 1024 && shape[1].second % 128 == 0 ? 1 : 0;
  }
  CHECK(named > 60);
  CHECK(round > 20);
}

TEST_CASE("no shape is drawn for which a kernel has no answer, whatever the configuration") {
  RangeOf range("batch=1,heads=1,queries=1..64,keys=1..64,head=32", "attention");
  range.request.most_bytes = 1e12;
  PortfolioShapes shapes(range.request);
  for (int i = 0; i < 50; ++i) {
    const Shape shape = shapes.next_surveyed(kSession, range.measured).value();
    const auto extent = [&](const char* name) { return std::ranges::find(shape, name, &Shape::value_type::first)->second; };
    CHECK(extent("queries") <= extent("keys"));  // causal: the last query is beside the last key
  }
}

TEST_CASE("a session goes nowhere where sessions like it made a handful of trials") {
  RangeOf range("rows=1..65536,cols=1024");
  PortfolioShapes shapes(range.request);
  const auto by_rows = [](const Shape& shape) { return static_cast<double>(shape.front().second); };
  shapes.note_time({{"rows", 65536}, {"cols", 1024}}, 100.0);
  shapes.note_session({{"rows", 16}, {"cols", 1024}}, 0.0, kSession, 100);
  CHECK(rows_of(shapes.next_explored(kSession, range.measured, by_rows)) > 4096);
  shapes.note_session({{"rows", 8192}, {"cols", 1024}}, 0.0, kSession,
                      10);  // 32 are as much as 2176 rows are worth: a session searches for .85 of its seconds
  CHECK(shapes.expected_trials({{"rows", 4096}, {"cols", 1024}}, kSession) == doctest::Approx(17.0));
  for (int i = 0; i < 8; ++i) {
    CHECK(rows_of(shapes.next_explored(kSession, range.measured, by_rows)) <= 2176);
  }
  CHECK(rows_of(shapes.next_surveyed(kSession, range.measured)) > 2176);  // those that were passed over come first
}

TEST_CASE("the first session goes where a survey would, too: nobody knows yet what trials take") {
  RangeOf range("m=1..16384,n=16..16384,k=16..16384", "matmul");
  PortfolioShapes shapes(range.request);
  CHECK_FALSE(shapes.expected_trials(draw(range.request.range, 0), kSession).has_value());
  shapes.note_time({{"m", 8192}, {"n", 8192}, {"k", 8192}, {"layout", 1}, {"terms", 1}, {"activation", 1}}, 2e4);
  const auto by_work = [](const Shape& shape) { return static_cast<double>(shape[0].second * shape[1].second * shape[2].second); };
  CHECK(by_work(shapes.next_explored(kSession, range.measured, by_work).value()) <= 1.5e11);
}

TEST_CASE("what a session takes to begin is not of its trials") {
  RangeOf range("rows=1..65536,cols=1024");
  PortfolioShapes shapes(range.request);
  CHECK(shapes.start() == 0.0);
  shapes.note_session({{"rows", 16}, {"cols", 1024}}, 0.5 * kSession, 0.5 * kSession, 50);
  CHECK(shapes.start() == doctest::Approx(0.5 * kSession));
  CHECK(shapes.expected_trials({{"rows", 16}, {"cols", 1024}}, kSession) == doctest::Approx(35.0));
  CHECK(shapes.expected_trials({{"rows", 16}, {"cols", 1024}}, 2.5 * kSession) == doctest::Approx(162.5));
  CHECK(shapes.expected_trials({{"rows", 16}, {"cols", 1024}}, 0.1 * kSession) == 0.0);
  shapes.note_session({{"rows", 64}, {"cols", 1024}}, 0.25 * kSession, kSession, 50);
  shapes.note_session({{"rows", 32}, {"cols", 1024}}, 9.0 * kSession, kSession, 50);  // one that was slow to begin is no rule
  for (int i = 0; i < 9; ++i) {
    shapes.note_session({{"rows", 32}, {"cols", 1024}}, std::nullopt, kSession, 50);  // nor are those that nobody knows it of
  }
  CHECK(shapes.start() == doctest::Approx(0.5 * kSession));
  shapes.note_session({{"rows", 16}, {"cols", 1024}}, 0.5 * kSession, 0.0, 1);  // nothing is made in no time
  CHECK(shapes.expected_trials({{"rows", 16}, {"cols", 1024}}, kSession) == doctest::Approx(35.0));
}

TEST_CASE("where a session would begin late, as inputs are large, it makes few trials") {
  RangeOf range("rows=1..65536,cols=1024");
  PortfolioShapes shapes(range.request);
  for (int i = 0; i < 3; ++i) {
    shapes.note_session({{"rows", 16}, {"cols", 1024}}, 0.05 * kSession, 0.8 * kSession, 80);
  }
  shapes.note_session({{"rows", 16384}, {"cols", 1024}}, 0.4 * kSession, 0.45 * kSession, 45);
  CHECK(shapes.expected_trials({{"rows", 32}, {"cols", 1024}}, kSession) == doctest::Approx(80.0));
  CHECK(shapes.expected_trials({{"rows", 16384}, {"cols", 1024}}, kSession) == doctest::Approx(45.0));
  CHECK(shapes.expected_trials({{"rows", 24576}, {"cols", 1024}}, kSession) == doctest::Approx(25.0));
  CHECK(shapes.expected_trials({{"rows", 65536}, {"cols", 1024}}, kSession) == 0.0);
  CHECK(shapes.expected_trials({{"rows", 1024}, {"cols", 1024}}, kSession) == doctest::Approx(80.0));  // not less than elsewhere
}

TEST_CASE("where no session makes many trials, none is refused for it") {
  RangeOf range("rows=1..4096,cols=1024");
  PortfolioShapes shapes(range.request);
  shapes.note_time({{"rows", 4096}, {"cols", 1024}}, 100.0);
  for (const std::int64_t rows : {1, 64, 4096}) {
    shapes.note_session({{"rows", rows}, {"cols", 1024}}, 0.0, kSession, 6);
  }
  const auto by_rows = [](const Shape& shape) { return static_cast<double>(shape.front().second); };
  CHECK(rows_of(shapes.next_explored(kSession, range.measured, by_rows)) > 1024);
}

TEST_CASE("sessions do not get only what surveys leave") {
  RangeOf range("m=1..16384,n=16..16384,k=16..16384", "matmul");
  PortfolioShapes shapes(range.request);
  shapes.note_time({{"m", 8192}, {"n", 8192}, {"k", 8192}, {"layout", 1}, {"terms", 1}, {"activation", 1}}, 2e4);
  shapes.note_session({{"m", 64}, {"n", 64}, {"k", 64}, {"layout", 1}, {"terms", 1}, {"activation", 1}}, 0.0, kSession, 100);
  for (int i = 0; i < 100; ++i) {
    REQUIRE(shapes.next_surveyed(kSession, range.measured));
  }
  int large = 0;
  for (int i = 0; i < 8; ++i) {
    const Shape shape = shapes.next_explored(kSession, range.measured, [](const Shape&) { return 0.0; }).value();
    large += 2.0 * static_cast<double>(shape[0].second * shape[1].second * shape[2].second) > 3e11 ? 1 : 0;
  }
  CHECK(large > 0);
  CHECK(large <= 5);
}

TEST_CASE("a shape that was refused or measured is not proposed again, and a range comes to its end") {
  RangeOf range("rows=1..3,cols=16");
  PortfolioShapes shapes(range.request);
  shapes.refuse({{"rows", 2}, {"cols", 16}});
  range.measured.add({{"rows", 3}, {"cols", 16}}, {}, *range.operation.definition, {}, {}, {});
  const auto indifferent = [](const Shape&) { return 0.0; };
  CHECK(rows_of(shapes.next_explored(kSession, range.measured, indifferent)) == 1);
  range.measured.add({{"rows", 1}, {"cols", 16}}, {}, *range.operation.definition, {}, {}, {});
  CHECK_FALSE(shapes.next_explored(kSession, range.measured, indifferent).has_value());
  CHECK_FALSE(shapes.next_surveyed(kSession, range.measured).has_value());
}

TEST_CASE("a shape that is too large for a session waits for neither") {
  RangeOf range("rows=1..65536,cols=131072");
  range.request.most_bytes = 8 << 20;
  PortfolioShapes shapes(range.request);
  for (int i = 0; i < 4; ++i) {
    CHECK(rows_of(shapes.next_surveyed(kSession, range.measured)) <= 8);
  }
}

TEST_CASE("shapes that are too large among those that were measured are no end of a range") {
  RangeOf range("rows=1..65536,cols=1..65536");
  range.request.most_bytes = 1 << 20;
  constexpr int kMeasured = 600;
  PortfolioShapes earlier(range.request);
  for (int i = 0; i < kMeasured; ++i) {
    const std::optional<Shape> shape = earlier.next_surveyed(kSession, range.measured);
    REQUIRE(shape);
    range.measured.add(*shape, {}, *range.operation.definition, {}, {}, {});
  }
  PortfolioShapes shapes(range.request);  // from the beginning of the same sequence
  const std::optional<Shape> shape = shapes.next_surveyed(kSession, range.measured);
  REQUIRE(shape);
  CHECK_FALSE(range.measured.holds(*shape));
}

TEST_CASE("others than the next are drawn, alike, of which none is measured or too large, and those of another place are others") {
  RangeOf range("rows=1..4096,cols=1..65536");
  range.request.most_bytes = 1 << 20;
  PortfolioShapes shapes(range.request);
  constexpr std::size_t kCount = 200;
  const std::vector<Shape> all = shapes.others(0, kCount, kSession, range.measured);
  REQUIRE(all.size() > kCount / 4);
  CHECK(all.size() < kCount);
  CHECK(all == shapes.others(0, kCount, kSession, range.measured));
  range.measured.add(all.front(), {}, *range.operation.definition, {}, {}, {});
  shapes.refuse(all.back());
  const std::vector<Shape> left = shapes.others(0, kCount, kSession, range.measured);
  CHECK(left == std::vector<Shape>(all.begin() + 1, all.end() - 1));
  const std::vector<Shape> later = shapes.others(kCount, kCount, kSession, range.measured);
  const auto is_again = [&](const Shape& one) { return std::ranges::find(all, one) != all.end(); };
  CHECK(static_cast<std::size_t>(std::ranges::count_if(later, is_again)) * 4 < later.size());  // two small ones may be alike by chance
}

}  // namespace hone
