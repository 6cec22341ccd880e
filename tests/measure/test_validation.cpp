#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "tests/measure/fake_device.hpp"

using namespace hone;
using fake::Call;
using fake::FakeDevice;
using fake::FakeKernel;

namespace {

constexpr std::int64_t kElements = 1000;  // no multiple of the alignment: the guard starts within the padding
const Problem kProblem{DType::kF32, {{"n", kElements}}};

/// y = 2 x, in f32, with a scalar and a workspace that only some configurations use.
struct Doubling {
  Doubling() {
    Argument alpha = fake::argument("alpha", Direction::kScalar, Expression());
    alpha.scalar_default = Value(2.0);
    const Expression scratch = Expression::make(
        Operator::kMultiply,
        {Expression::make(Operator::kSubtract, {Expression::variable("c.split"), Expression::constant(Value(1))}), fake::n()});
    spec = fake::spec_of({fake::argument("x", Direction::kIn, fake::n()), fake::argument("y", Direction::kOut, fake::n()), alpha,
                          fake::argument("scratch", Direction::kWorkspace, scratch)});
    device.reference = [this](const Call& call) {
      for (std::int64_t i = 0; i < kElements; ++i) {
        call.pointer<double>(1)[i] = static_cast<double>(call.scalar<float>(2)) * static_cast<double>(call.pointer<const float>(0)[i]);
      }
      answer = call.pointer<double>(1);
    };
    bench = std::move(Bench::create(device, spec, kProblem, Compiled{})).value();
  }

  static void right(const Call& call) {
    for (std::int64_t i = 0; i < kElements; ++i) {
      call.pointer<float>(1)[i] = 2.0F * call.pointer<const float>(0)[i];
    }
  }

  /// Validates a kernel that computes the right answer and then does `also`.
  Validation validate(FakeKernel::Body also, int split = 1) {
    const FakeKernel kernel([&](const Call& call) {
      right(call);
      also(call);
    });
    return *bench->validate(kernel, Configuration{{Value(split)}}, seed);
  }

  FakeDevice device;
  KernelSpec spec;
  std::unique_ptr<Bench> bench;
  std::uint64_t seed = 7;
  double* answer = nullptr;  ///< where the reference wrote last
};

void check_failure(const Validation& validation, Outcome outcome, std::initializer_list<const char*> parts) {
  CHECK(name(validation.outcome) == name(outcome));
  CAPTURE(validation.detail);
  for (const char* part : parts) {
    CHECK(validation.detail.find(part) != std::string::npos);
  }
}

constexpr auto kNothing = [](const Call&) {};

}  // namespace

TEST_CASE("a right kernel passes and leaves no detail") {
  Doubling doubling;
  const Validation validation = doubling.validate(kNothing);
  CHECK(validation.outcome == Outcome::kOk);
  CHECK(validation.detail.empty());
  CHECK(validation.max_error <= 1.0);
}

TEST_CASE("a kernel that is wrong in one element is told which, what and the seed") {
  Doubling doubling;
  const Validation validation = doubling.validate([](const Call& call) { call.pointer<float>(1)[321] += 0.001F; });
  check_failure(validation, Outcome::kWrongResult,
                {"argument 'y': 1 of 1000 elements is wrong", "at index 321", "expected", "input seed 7"});
  CHECK(validation.max_error > 1.0);
}

TEST_CASE("an element that is never written is found and called that") {
  Doubling doubling;
  const FakeKernel lazy([](const Call& call) {
    for (std::int64_t i = 0; i + 1 < kElements; ++i) {
      call.pointer<float>(1)[i] = 2.0F * call.pointer<const float>(0)[i];
    }
  });
  check_failure(*doubling.bench->validate(lazy, Configuration{{Value(1)}}, 1), Outcome::kWrongResult, {"index 999", "never written"});
}

TEST_CASE("a NaN never passes") {
  Doubling doubling;
  check_failure(doubling.validate([](const Call& call) { call.pointer<float>(1)[0] = std::numeric_limits<float>::quiet_NaN(); }),
                Outcome::kWrongResult, {"1 of them NaN or infinite", "index 0: nan"});
}

TEST_CASE("one element written past the end is seen, although it lies within the alignment") {
  Doubling doubling;
  check_failure(doubling.validate([](const Call& call) { call.pointer<float>(1)[kElements] = 1.0F; }), Outcome::kIllegalAccess,
                {"argument 'y'", "past its end", "index 1000 of 1000"});
}

TEST_CASE("one element written before the beginning is seen") {
  Doubling doubling;
  check_failure(doubling.validate([](const Call& call) { call.pointer<float>(1)[-1] = 1.0F; }), Outcome::kIllegalAccess,
                {"argument 'y'", "before its beginning", "index -1 of 1000"});
}

TEST_CASE("copying one element too many from guard to guard is seen") {
  Doubling doubling;
  check_failure(doubling.validate([](const Call& call) { call.pointer<float>(1)[kElements] = call.pointer<const float>(0)[kElements]; }),
                Outcome::kIllegalAccess, {"past its end"});
}

TEST_CASE("a result that uses what lies behind an input is wrong") {
  Doubling doubling;
  check_failure(doubling.validate([](const Call& call) { call.pointer<float>(1)[0] += 0.0F * call.pointer<const float>(0)[kElements]; }),
                Outcome::kWrongResult, {"NaN"});
}

TEST_CASE("writing an input is seen and the input restored for the next kernel") {
  Doubling doubling;
  check_failure(doubling.validate([](const Call& call) { call.pointer<float>(0)[5] = 0.25F; }), Outcome::kIllegalAccess,
                {"argument 'x' is an input"});
  CHECK(doubling.validate(kNothing).outcome == Outcome::kOk);
}

TEST_CASE("after every kind of failure a right kernel passes, and the reference runs no second time") {
  Doubling doubling;
  doubling.validate([](const Call& call) { call.pointer<float>(1)[kElements + 3] = 1.0F; });
  CHECK(doubling.validate(kNothing).outcome == Outcome::kOk);
  CHECK(doubling.device.references == 1);
  doubling.validate([](const Call& call) { call.pointer<float>(1)[3] = 9.0F; });
  const int to_judge = doubling.device.references;  // how the answer is conditioned was asked for
  CHECK(doubling.validate(kNothing).outcome == Outcome::kOk);
  CHECK(doubling.device.references == to_judge);
}

TEST_CASE("runs that differ are a race") {
  Doubling doubling;
  int run = 0;
  check_failure(doubling.validate([&run](const Call& call) {
    if (++run == 2) {
      call.pointer<float>(1)[17] = std::nextafter(call.pointer<float>(1)[17], 9.0F);
    }
  }),
                Outcome::kRace, {"argument 'y'", "two runs on the same inputs differ", "input seed 7"});
}

TEST_CASE("a race that makes the second run wrong names the element") {
  Doubling doubling;
  int run = 0;
  check_failure(doubling.validate([&run](const Call& call) { call.pointer<float>(1)[17] += ++run == 2 ? 1.0F : 0.0F; }), Outcome::kRace,
                {"in the second", "at index 17"});
}

TEST_CASE("a workspace that is read before it is written makes a wrong result") {
  Doubling doubling;
  const auto uses_scratch = [](const Call& call) { call.pointer<float>(1)[0] += call.pointer<float>(3)[10]; };
  check_failure(doubling.validate(uses_scratch, 4), Outcome::kWrongResult, {"NaN"});
}

TEST_CASE("a workspace has the extent of its configuration, and guards") {
  Doubling doubling;
  const auto fill_scratch = [](const Call& call) { std::fill_n(call.pointer<float>(3), 3 * kElements, 1.0F); };
  CHECK(doubling.validate(fill_scratch, 4).outcome == Outcome::kOk);
  check_failure(doubling.validate(fill_scratch, 1), Outcome::kIllegalAccess, {"argument 'scratch'", "index 0 of 0"});
  CHECK(doubling.validate(fill_scratch, 4).outcome == Outcome::kOk);
}

TEST_CASE("a workspace without enough memory fails its configuration alone and says how much it needs") {
  Doubling doubling;
  doubling.device.largest_allocation = 660000;  // the margins and guard bands of the workspaces are most of it
  check_failure(doubling.validate(kNothing, 4), Outcome::kLaunchFailure, {"workspace 'scratch' needs", "GiB"});
  CHECK(doubling.validate(kNothing, 1).outcome == Outcome::kOk);
}

TEST_CASE("a launch error is an outcome, a deadlock another, a failed device an error") {
  Doubling doubling;
  FakeKernel kernel(Doubling::right);
  const Configuration configuration{{Value(1)}};
  kernel.launch_error = Error{ErrorCode::kLaunch, "too many resources requested"};
  check_failure(*doubling.bench->validate(kernel, configuration, 1), Outcome::kLaunchFailure, {"too many resources"});
  kernel.launch_error = Error{ErrorCode::kLaunch, "deadlock: 32 threads wait"};
  check_failure(*doubling.bench->validate(kernel, configuration, 1), Outcome::kDeadlock, {"32 threads wait"});
  kernel.launch_error = Error{ErrorCode::kDevice, "an illegal memory access was encountered"};
  const auto failed = doubling.bench->validate(kernel, configuration, 1);
  REQUIRE(!failed);
  CHECK(failed.error().code == ErrorCode::kDevice);
}

TEST_CASE("inputs are drawn anew for another seed only") {
  Doubling doubling;
  CHECK(doubling.validate(kNothing).outcome == Outcome::kOk);
  CHECK(doubling.validate(kNothing).outcome == Outcome::kOk);
  CHECK(doubling.device.references == 1);
  doubling.seed = 8;
  CHECK(doubling.validate(kNothing).outcome == Outcome::kOk);
  CHECK(doubling.device.references == 2);
}

TEST_CASE("who watches the reference hears of new inputs, too: they are no candidate's doing") {
  Doubling doubling;
  std::vector<bool> heard;
  doubling.bench->watch_reference([&](bool begins) { heard.push_back(begins); });
  CHECK(doubling.validate(kNothing).outcome == Outcome::kOk);
  CHECK(heard == std::vector<bool>{true, false});
  CHECK(doubling.validate(kNothing).outcome == Outcome::kOk);
  CHECK(heard.size() == 2);
  doubling.seed = 8;
  CHECK(doubling.validate(kNothing).outcome == Outcome::kOk);
  CHECK(heard == std::vector<bool>{true, false, true, false});
}

TEST_CASE("every input is a stream of its own") {
  FakeDevice device;
  device.reference = [](const Call& call) {
    for (std::int64_t i = 0; i < kElements; ++i) {
      call.pointer<double>(2)[i] = static_cast<double>(call.pointer<const float>(0)[i]);
    }
  };
  const KernelSpec spec = fake::spec_of({fake::argument("a", Direction::kIn, fake::n()), fake::argument("b", Direction::kIn, fake::n()),
                                         fake::argument("y", Direction::kOut, fake::n())});
  const auto bench = std::move(Bench::create(device, spec, kProblem, Compiled{})).value();
  const FakeKernel mixed_up([](const Call& call) { std::copy_n(call.pointer<const float>(1), kElements, call.pointer<float>(2)); });
  check_failure(*bench->validate(mixed_up, Configuration{{Value(1)}}, 1), Outcome::kWrongResult, {"argument 'y'"});
}

TEST_CASE("an in-place argument is restored before each run, and the reference gets its original as doubles") {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI32}) {
    FakeDevice device;
    device.reference = [](const Call& call) {
      for (std::int64_t i = 0; i < kElements; ++i) {
        call.pointer<double>(0)[i] *= 2.0;
      }
    };
    const KernelSpec spec = fake::spec_of({fake::argument("x", Direction::kInOut, fake::n())});
    const auto bench = std::move(Bench::create(device, spec, Problem{dtype, {{"n", kElements}}}, Compiled{})).value();
    const FakeKernel doubles_in_place([dtype](const Call& call) {
      for (std::int64_t i = 0; i < kElements; ++i) {
        std::byte* element = call.pointer<std::byte>(0) + i * static_cast<std::int64_t>(size_of(dtype));
        measure::encode(dtype, 2.0 * measure::decode(dtype, element), element);
      }
    });
    CAPTURE(name(dtype));
    CHECK(bench->validate(doubles_in_place, Configuration{{Value(1)}}, 1)->outcome == Outcome::kOk);
  }
}

TEST_CASE("an in-place argument does not cross to the host on its way to the reference") {
  FakeDevice device;
  device.reference = [](const Call& call) { call.pointer<double>(0)[0] *= 2.0; };
  const KernelSpec spec = fake::spec_of({fake::argument("x", Direction::kInOut, fake::n())});
  const auto bench = std::move(Bench::create(device, spec, kProblem, Compiled{})).value();
  REQUIRE(bench->draw(1).ok());
  CHECK(device.references == 1);
  CHECK(device.crossed == 0);
}

TEST_CASE("arrays without an element: nothing is done for them, and what else there is is judged") {
  FakeDevice device;
  const Expression none = Expression::make(Operator::kSubtract, {fake::n(), fake::n()});
  const KernelSpec spec =
      fake::spec_of({fake::argument("x", Direction::kIn, none), fake::argument("y", Direction::kOut, none),
                     fake::argument("z", Direction::kInOut, none), fake::argument("sum", Direction::kOut, Expression::constant(Value(1)))});
  device.reference = [](const Call& call) { call.pointer<double>(3)[0] = 0.0; };
  const auto bench = std::move(Bench::create(device, spec, kProblem, Compiled{})).value();
  const FakeKernel right([](const Call& call) { call.pointer<float>(3)[0] = 0.0F; });
  const FakeKernel wrong([](const Call& call) { call.pointer<float>(3)[0] = 1.0F; });
  const Configuration only{{Value(1)}};
  CHECK(bench->validate(right, only, 1)->outcome == Outcome::kOk);
  CHECK(bench->validate(wrong, only, 1)->outcome == Outcome::kWrongResult);
  REQUIRE(bench->vary(2).ok());
  Readings readings;
  CHECK(bench->time(right, only, {}, std::nullopt, readings)->validation.ok());
  CHECK(bench->repeat(right, only, 4, 1.0)->ok());
}

TEST_CASE("zeroed outputs start from zero, and their additions may come in any order") {
  FakeDevice device;
  device.reference = [](const Call& call) { call.pointer<double>(0)[0] += 3.0; };
  const KernelSpec spec = fake::spec_of({fake::argument("sum", Direction::kOut, Expression::constant(Value(1)), true)});
  const auto bench = std::move(Bench::create(device, spec, kProblem, Compiled{})).value();
  int run = 0;
  const FakeKernel adds([&run](const Call& call) { call.pointer<float>(0)[0] += ++run == 2 ? std::nextafter(3.0F, 4.0F) : 3.0F; });
  CHECK(bench->validate(adds, Configuration{{Value(1)}}, 1)->outcome == Outcome::kOk);
}

TEST_CASE("a reference that forgets an element is an error of the kernel file") {
  Doubling doubling;
  doubling.device.reference = [](const Call& call) { std::fill_n(call.pointer<double>(1), kElements - 1, 0.0); };
  const auto bench = std::move(Bench::create(doubling.device, doubling.spec, kProblem, Compiled{})).value();
  const auto validated = bench->validate(FakeKernel(Doubling::right), Configuration{{Value(1)}}, 1);
  REQUIRE(!validated);
  CHECK(validated.error().code == ErrorCode::kBadKernel);
  CAPTURE(validated.error().message);
  CHECK(validated.error().message.find("leaves out or makes NaN 1 of 1000 elements of argument 'y', the first at index 999") !=
        std::string::npos);
}

TEST_CASE("what is wrong with a reference of several passes names them all") {
  Doubling doubling;
  doubling.spec.reference.push_back({.function = "probe_reference_after", .extent = fake::n()});
  doubling.device.reference = [](const Call& call) { std::fill_n(call.pointer<double>(1), kElements - 1, 0.0); };
  const auto bench = std::move(Bench::create(doubling.device, doubling.spec, kProblem, Compiled{})).value();
  const auto validated = bench->validate(FakeKernel(Doubling::right), Configuration{{Value(1)}}, 1);
  REQUIRE(!validated);
  CHECK(validated.error().message.find("probe.cu: the reference probe_reference, probe_reference_after leaves out") != std::string::npos);
}

TEST_CASE("an infinity is right where the reference has one") {
  Doubling doubling;
  const auto usual = doubling.device.reference;
  doubling.device.reference = [usual](const Call& call) {
    usual(call);
    call.pointer<double>(1)[3] = std::numeric_limits<double>::infinity();
  };
  CHECK(doubling.validate([](const Call& call) { call.pointer<float>(1)[3] = std::numeric_limits<float>::infinity(); }).outcome ==
        Outcome::kOk);
  check_failure(doubling.validate(kNothing), Outcome::kWrongResult, {"index 3"});
}

TEST_CASE("a reference that writes past its output is an error of the kernel file") {
  Doubling doubling;
  doubling.device.reference = [](const Call& call) { std::fill_n(call.pointer<double>(1), kElements + 1, 0.0); };
  const auto bench = std::move(Bench::create(doubling.device, doubling.spec, kProblem, Compiled{})).value();
  const auto validated = bench->validate(FakeKernel(Doubling::right), Configuration{{Value(1)}}, 1);
  REQUIRE(!validated);
  CHECK(validated.error().code == ErrorCode::kBadKernel);
  CHECK(validated.error().message.find(
            "probe.cu: the reference probe_reference: the reference's answer for argument 'y' was written past") != std::string::npos);
}

TEST_CASE("a problem too large for the device is refused with what it needs") {
  Doubling doubling;
  const auto huge = Bench::create(doubling.device, doubling.spec, Problem{DType::kF32, {{"n", std::int64_t{1} << 30}}}, Compiled{});
  REQUIRE(!huge);
  CAPTURE(huge.error().message);
  CHECK(huge.error().message.find("need 16.00 GiB on fake:0, which has 1.00 GiB") != std::string::npos);
}

TEST_CASE("an allocation that fails says what the problem needs") {
  Doubling doubling;
  doubling.device.largest_allocation = 1000;
  const auto refused = Bench::create(doubling.device, doubling.spec, kProblem, Compiled{});
  REQUIRE(!refused);
  CHECK(refused.error().message.find("GiB on fake:0: out of memory") != std::string::npos);
}

namespace {

/// y[0] = the sum of x, off by `share` of the root of the sum of its terms' squares. `cancels`: the last term takes the others back.
Validation validate_sum(double share, bool cancels) {
  FakeDevice device;
  KernelSpec spec =
      fake::spec_of({fake::argument("x", Direction::kIn, fake::n()), fake::argument("y", Direction::kOut, Expression::constant(Value(1)))});
  spec.cost.sum_length = fake::n();
  bool first = true;
  double others = 0.0, answer = 0.0, squares = 0.0;
  device.reference = [&](const Call& call) {
    const float* const x = call.pointer<const float>(0);
    double sum = 0.0, of_squares = 0.0;
    for (std::int64_t i = 0; i < kElements; ++i) {
      sum += static_cast<double>(x[i]);
      of_squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    }
    if (std::exchange(first, false)) {
      others = cancels ? sum * (1.0 - 1e-9) : 0.0;
      answer = sum - others;
      squares = of_squares;
    }
    *call.pointer<double>(1) = sum - others;
  };
  const auto bench = Bench::create(device, spec, kProblem, Compiled{}).value();
  const FakeKernel kernel([&](const Call& call) { *call.pointer<float>(1) = static_cast<float>(answer + share * std::sqrt(squares)); });
  return bench->validate(kernel, Configuration{{Value(1)}}, 3).value();
}

}  // namespace

TEST_CASE("one result whose sum nearly cancels is held against the magnitudes that were summed") {
  CHECK(validate_sum(5e-6, true).outcome == Outcome::kOk);
  CHECK(validate_sum(5e-6, false).outcome == Outcome::kOk);
  check_failure(validate_sum(2e-3, true), Outcome::kWrongResult, {"argument 'y'", "input seed 3"});
  check_failure(validate_sum(0.1, false), Outcome::kWrongResult, {"argument 'y'", "input seed 3"});
}

namespace {

/// y[c] = the sum of a column of x, 64 elements, in f32; the first column without its first `without` ones. Ordered inputs cancel in each.
Validation validate_columns(InputProfile profile, std::int64_t without) {
  constexpr std::int64_t kColumns = 4099, kRows = 64;  // more than what is small, and no numbers that add up without rounding
  FakeDevice device;
  KernelSpec spec = fake::spec_of({fake::argument("x", Direction::kIn, Expression::constant(Value(kColumns * kRows))),
                                   fake::argument("y", Direction::kOut, Expression::constant(Value(kColumns)))});
  spec.cost.sum_length = Expression::constant(Value(kRows));
  const auto sum = [](const float* x, std::int64_t column, auto of, std::int64_t first) {
    for (std::int64_t row = first; row < kRows; ++row) {
      of += x[row * kColumns + column];
    }
    return of;
  };
  device.reference = [&](const Call& call) {
    for (std::int64_t column = 0; column < kColumns; ++column) {
      call.pointer<double>(1)[column] = sum(call.pointer<const float>(0), column, 0.0, 0);
    }
  };
  const auto bench = Bench::create(device, spec, kProblem, Compiled{}, profile).value();
  const FakeKernel kernel([&](const Call& call) {
    for (std::int64_t column = 0; column < kColumns; ++column) {
      call.pointer<float>(1)[column] = sum(call.pointer<const float>(0), column, 0.0F, column == 0 ? without : 0);
    }
  });
  return bench->validate(kernel, Configuration{{Value(1)}}, 3).value();
}

}  // namespace

TEST_CASE("so are sums of inputs that provoke, of large problems too: in order they cancel where random ones do not") {
  for (const InputProfile profile : {InputProfile::kUsual, InputProfile::kOrdered}) {
    CAPTURE(name(profile));
    CHECK(validate_columns(profile, 0).outcome == Outcome::kOk);
    check_failure(validate_columns(profile, 1), Outcome::kWrongResult, {"argument 'y'", "1 of 4099 elements is wrong"});
  }
}

TEST_CASE("measuring how an answer is conditioned leaves inputs and answer as they were") {
  Doubling doubling;
  doubling.validate([](const Call& call) { call.pointer<float>(1)[321] += 1e-4F; });
  CHECK(doubling.device.references > 1);
  CHECK(doubling.validate(kNothing).outcome == Outcome::kOk);
}

TEST_CASE("the second run is on other addresses, aligned to 16 bytes and no more") {
  Doubling doubling;
  std::set<std::uintptr_t> inputs;
  CHECK(doubling.validate([&](const Call& call) { inputs.insert(reinterpret_cast<std::uintptr_t>(call.pointer<float>(0))); }).outcome ==
        Outcome::kOk);
  REQUIRE(inputs.size() == 2);
  CHECK(std::ranges::count_if(inputs, [](std::uintptr_t address) { return address % 256 == 0; }) == 1);
  CHECK(std::ranges::count_if(inputs, [](std::uintptr_t address) { return address % 32 == 16; }) == 1);
}

TEST_CASE("a kernel that keeps to the addresses of its first launch is a race") {
  Doubling doubling;
  float* remembered = nullptr;
  const FakeKernel kernel([&](const Call& call) {
    remembered = remembered == nullptr ? call.pointer<float>(1) : remembered;
    std::transform(call.pointer<const float>(0), call.pointer<const float>(0) + kElements, remembered, [](float x) { return 2.0F * x; });
  });
  check_failure(*doubling.bench->validate(kernel, Configuration{{Value(1)}}, 7), Outcome::kRace, {"argument 'y'", "never written"});
}

TEST_CASE("shared memory is painted before each run, in two patterns") {
  Doubling doubling;
  std::set<std::uint8_t> seen;
  doubling.validate([&](const Call&) { seen.insert(doubling.device.shared_memory); });
  CHECK(seen.size() == 2);
  CHECK_FALSE(seen.contains(0));
}

TEST_CASE("what is written far astray is charged to who did it, and mended") {
  for (const std::ptrdiff_t bytes : {std::ptrdiff_t{5000}, std::ptrdiff_t{70000}, std::ptrdiff_t{-70000}}) {
    Doubling doubling;
    CAPTURE(bytes);
    CHECK(doubling.validate([&](const Call& call) { reinterpret_cast<char*>(call.pointer<float>(1))[bytes] = 7; }).outcome ==
          Outcome::kIllegalAccess);
    CHECK(doubling.validate(kNothing).outcome == Outcome::kOk);
  }
}

TEST_CASE("what only an audit sees is told once and mended: the answer is computed anew") {
  Doubling doubling;
  CHECK(doubling.validate(kNothing).outcome == Outcome::kOk);
  doubling.answer[5] = 1e9;
  Bench* const bench = doubling.bench.get();
  const auto seen = Bench::audit(std::span(&bench, 1));
  REQUIRE(seen.ok());
  REQUIRE(seen->has_value());
  CHECK((*seen)->find("belongs to no argument") != std::string::npos);
  CHECK_FALSE(Bench::audit(std::span(&bench, 1)).value().has_value());
  CHECK(doubling.validate(kNothing).outcome == Outcome::kOk);
}

TEST_CASE("inputs that provoke: what is right for numbers around one alone is found") {
  Doubling doubling;
  const auto outcome = [&](InputProfile profile, float most) {
    const auto bench = Bench::create(doubling.device, doubling.spec, kProblem, Compiled{}, profile).value();
    const FakeKernel clamps([most](const Call& call) {
      for (std::int64_t i = 0; i < kElements; ++i) {
        call.pointer<float>(1)[i] = call.scalar<float>(2) * std::clamp(call.pointer<const float>(0)[i], -most, most);
      }
    });
    return bench->validate(clamps, Configuration{{Value(1)}}, 7)->outcome;
  };
  for (const InputProfile profile : provoking_profiles()) {
    CAPTURE(name(profile));
    CHECK(outcome(profile, 2000.0F) == Outcome::kOk);
  }
  CHECK(outcome(InputProfile::kUsual, 1.0F) == Outcome::kOk);
  CHECK(outcome(InputProfile::kLarge, 1.0F) == Outcome::kWrongResult);
  CHECK(outcome(InputProfile::kMixed, 1.0F) == Outcome::kWrongResult);
}

TEST_CASE("a scalar other than its default is tried, and one that is wired in is found") {
  Doubling doubling;
  const auto bench = Bench::create(doubling.device, doubling.spec, kProblem, Compiled{}, InputProfile::kOtherScalars).value();
  check_failure(*bench->validate(FakeKernel(Doubling::right), Configuration{{Value(1)}}, 7), Outcome::kWrongResult,
                {"argument 'y'", "other scalars"});
}

TEST_CASE("inputs to which the reference has no answer do not apply") {
  Doubling doubling;
  doubling.device.reference = [](const Call& call) {
    for (std::int64_t i = 0; i < kElements; ++i) {
      call.pointer<double>(1)[i] = std::sqrt(static_cast<double>(call.pointer<const float>(0)[i]) + 1.0);
    }
  };
  CHECK(Bench::create(doubling.device, doubling.spec, kProblem, Compiled{}, InputProfile::kTiny).value()->has_answer(1).value());
  CHECK_FALSE(Bench::create(doubling.device, doubling.spec, kProblem, Compiled{}, InputProfile::kLarge).value()->has_answer(1).value());
}

TEST_CASE("a result beyond the type is infinite in it, as the reference's is then") {
  FakeDevice device;
  device.reference = [](const Call& call) { std::fill_n(call.pointer<double>(1), kElements, 1e5); };
  const KernelSpec spec = fake::spec_of({fake::argument("x", Direction::kIn, fake::n()), fake::argument("y", Direction::kOut, fake::n())});
  const auto bench = Bench::create(device, spec, Problem{DType::kF16, {{"n", kElements}}}, Compiled{}, InputProfile::kLarge).value();
  const FakeKernel overflows([](const Call& call) { std::fill_n(call.pointer<std::uint16_t>(1), kElements, std::uint16_t{0x7c00}); });
  CHECK(bench->validate(overflows, Configuration{{Value(1)}}, 7)->outcome == Outcome::kOk);
}

TEST_CASE("a later pass that overlaps is tried with the one before it held up") {
  Doubling doubling;
  const auto verdict = [&](bool waits) {
    FakeKernel kernel(Doubling::right);
    kernel.later_passes.push_back([&, waits](const Call& call) {
      if (waits) {
        doubling.device.await_writer();
      }
      std::vector<float> y(call.pointer<float>(1), call.pointer<float>(1) + kElements);
      doubling.device.await_writer();
      std::ranges::copy(y, call.pointer<float>(1));
    });
    kernel.overlapping = 1;
    return *doubling.bench->validate(kernel, Configuration{{Value(1)}}, doubling.seed);
  };
  CHECK(verdict(true).outcome == Outcome::kOk);
  check_failure(verdict(false), Outcome::kRace, {"grid_dependency_wait()", "pass 2"});
}

TEST_CASE("a kernel that overlaps what was launched before it has to wait before it reads and before it writes") {
  Doubling doubling;
  const auto verdict = [&](bool wait_first, bool wait_between) {
    FakeKernel kernel([&, wait_first, wait_between](const Call& call) {
      if (wait_first) {
        doubling.device.await_writer();
      }
      std::vector<float> x(call.pointer<const float>(0), call.pointer<const float>(0) + kElements);
      if (wait_between) {
        doubling.device.await_writer();
      }
      std::ranges::transform(x, call.pointer<float>(1), [](float value) { return 2.0F * value; });
    });
    kernel.overlapping = 0;
    return *doubling.bench->validate(kernel, Configuration{{Value(1)}}, doubling.seed);
  };
  CHECK(verdict(true, false).outcome == Outcome::kOk);
  check_failure(verdict(false, true), Outcome::kRace, {"grid_dependency_wait()", "argument 'y'"});   // reads too early
  check_failure(verdict(false, false), Outcome::kRace, {"grid_dependency_wait()", "argument 'y'"});  // and writes too early
  CHECK(verdict(true, false).outcome == Outcome::kOk);
}

TEST_CASE("inputs of which a part has changed find who keeps results by a look at the inputs") {
  Doubling doubling;
  std::vector<float> kept;
  float seen = 0.0F;
  const FakeKernel keeper([&](const Call& call) {
    if (kept.empty() || seen != call.pointer<const float>(0)[0]) {
      Doubling::right(call);
      kept.assign(call.pointer<float>(1), call.pointer<float>(1) + kElements);
      seen = call.pointer<const float>(0)[0];
    }
    std::ranges::copy(kept, call.pointer<float>(1));
  });
  const Configuration configuration{{Value(1)}};
  CHECK(doubling.bench->validate(keeper, configuration, 7)->outcome == Outcome::kOk);
  REQUIRE(doubling.bench->vary(8).ok());
  check_failure(*doubling.bench->validate(keeper, configuration, 8), Outcome::kWrongResult, {"argument 'y'"});
  CHECK(doubling.bench->validate(FakeKernel(Doubling::right), configuration, 8)->outcome == Outcome::kOk);
  CHECK(doubling.bench->validate(keeper, configuration, 9)->outcome == Outcome::kOk);  // all is new: it computes
}
