#include "engine/space/search_space.hpp"

#include <doctest/doctest.h>

#include <map>

namespace {

using namespace hone;

Parameter parameter(const std::string& name, const std::vector<std::int64_t>& values) {
  Parameter result;
  result.name = name;
  result.values.assign(values.begin(), values.end());
  result.default_value = values.empty() ? Value() : result.values.front();
  return result;
}

Expression variable(const std::string& name) { return Expression::variable(name); }
Expression number(std::int64_t value) { return Expression::constant(Value(value)); }
Expression make(Operator op, const Expression& a, const Expression& b) { return Expression::make(op, {a, b}); }
Constraint constraint(const Expression& condition, int line = 0) { return {condition, condition.text(), line}; }

std::vector<std::int64_t> up_to(std::int64_t last) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 1; i <= last; ++i) {
    values.push_back(i);
  }
  return values;
}

bool mentions(const std::string& message, const std::string& part) { return message.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("A trillion combinations with constraints among them are counted exactly") {
  // Twelve parameters of ten values; x0 * x1 <= 10 leaves 27 of 100 pairs, x2 + ... + x5 == 4 one of 10^4.
  std::vector<Parameter> parameters;
  for (int i = 0; i < 12; ++i) {
    parameters.push_back(parameter("x" + std::to_string(i), up_to(10)));
  }
  const auto sum = make(Operator::kAdd, make(Operator::kAdd, variable("c.x2"), variable("c.x3")),
                        make(Operator::kAdd, variable("c.x4"), variable("c.x5")));
  const auto space =
      SearchSpace::build(parameters,
                         {constraint(make(Operator::kLessEqual, make(Operator::kMultiply, variable("c.x0"), variable("c.x1")), number(10))),
                          constraint(make(Operator::kEqual, sum, number(4)))},
                         {});
  REQUIRE(space.ok());
  CHECK(text(space->cartesian()) == "1000000000000");
  CHECK(text(space->size()) == "27000000");
  CHECK(space->index(space->at(space->size() - 1)) == space->size() - 1);
}

TEST_CASE("A constraint that fails because a product of fixed values is beyond 64 bits says so") {
  const auto cubed = make(Operator::kMultiply, make(Operator::kMultiply, variable("p.n"), variable("p.n")), variable("p.n"));
  const auto message = [&](std::int64_t n) {
    const auto space =
        SearchSpace::build({parameter("x", {1, 2})}, {constraint(make(Operator::kEqual, cubed, variable("c.x")))}, {{"p.n", n}});
    REQUIRE(!space.ok());
    return space.error().message;
  };
  CHECK(mentions(message(3000000), "p.n * p.n * p.n exceeds 64 bits: begin such a product with 1.0"));
  CHECK_FALSE(mentions(message(1000), "exceeds 64 bits"));
}

TEST_CASE("Spaces beyond 64 bits are counted and addressed") {
  std::vector<Parameter> parameters;
  for (int i = 0; i < 30; ++i) {
    parameters.push_back(parameter("x" + std::to_string(i), up_to(16)));
  }
  const auto space = SearchSpace::build(parameters, {}, {});
  REQUIRE(space.ok());
  CHECK(text(space->size()) == "1329227995784915872903807060280344576");  // 2^120
  std::mt19937_64 random(3);
  for (int i = 0; i < 100; ++i) {
    const Count position = space->sample(random);
    CHECK(space->index(space->at(position)) == position);
  }
}

TEST_CASE("Conditions that allow the same combinations of pairs of unlike shape are kept apart") {
  // Each pair of neighbours, 2 x 4 and 4 x 2, lacks the same one of its eight combinations.
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;
  for (int i = 0; i < 6; ++i) {
    parameters.push_back(
        parameter("x" + std::to_string(i), i % 2 == 0 ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{0, 1, 2, 3}));
  }
  for (int i = 0; i < 5; ++i) {
    const auto place = make(Operator::kAdd, make(Operator::kMultiply, variable("c.x" + std::to_string(i)), number(i % 2 == 0 ? 4 : 2)),
                            variable("c.x" + std::to_string(i + 1)));
    constraints.push_back(constraint(make(Operator::kNotEqual, place, number(5))));
  }
  const auto space = SearchSpace::build(parameters, constraints, {});
  REQUIRE(space.ok());
  int count = 0;
  for (int all = 0; all < 512; ++all) {
    const int x[6] = {all & 1, all >> 1 & 3, all >> 3 & 1, all >> 4 & 3, all >> 6 & 1, all >> 7 & 3};
    bool valid = true;
    for (int i = 0; i < 5; ++i) {
      valid = valid && x[i] * (i % 2 == 0 ? 4 : 2) + x[i + 1] != 5;
    }
    count += valid ? 1 : 0;
  }
  CHECK(text(space->size()) == std::to_string(count));
}

TEST_CASE("Groups of parameters that are declared interleaved do not multiply the work") {
  // a0 b0 ... j0 a1 b1 ... j1 with a0 * a1 <= 16, ...: in the order of declaration one diagram would need 16^10 nodes.
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;
  for (const char* half : {"0", "1"}) {
    for (char letter = 'a'; letter <= 'j'; ++letter) {
      parameters.push_back(parameter(letter + std::string(half), up_to(16)));
    }
  }
  for (char letter = 'a'; letter <= 'j'; ++letter) {
    const auto product = make(Operator::kMultiply, variable(std::string("c.") + letter + "0"), variable(std::string("c.") + letter + "1"));
    constraints.push_back(constraint(make(Operator::kLessEqual, product, number(16))));
  }
  const auto space = SearchSpace::build(parameters, constraints, {});
  REQUIRE(space.ok());
  CHECK(text(space->size()) == "97656250000000000");  // 50^10
}

TEST_CASE("A group too large in the order of declaration is built in another order") {
  // A ring ties them all together; declared so that every pair is far apart.
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;
  const auto name = [](int i) { return "x" + std::to_string(i); };
  for (int i = 0; i < 16; i += 2) {
    parameters.push_back(parameter(name(i), up_to(8)));
  }
  for (int i = 1; i < 16; i += 2) {
    parameters.push_back(parameter(name(i), up_to(8)));
  }
  for (int i = 0; i < 15; ++i) {
    constraints.push_back(constraint(make(Operator::kNotEqual, variable("c." + name(i)), variable("c." + name(i + 1)))));
  }
  const auto space = SearchSpace::build(parameters, constraints, {});
  REQUIRE(space.ok());
  CHECK(text(space->size()) == "37980492079544");  // 8 * 7^15
  std::mt19937_64 random(1);
  for (int i = 0; i < 100; ++i) {
    const Count position = space->sample(random);
    CHECK(space->index(space->at(position)) == position);
  }
}

TEST_CASE("Fixed names take their values; a parameter without a choice does too") {
  const auto divides = make(Operator::kEqual, make(Operator::kRemainder, variable("p.cols"), variable("c.vec")), number(0));
  const auto bytes = make(Operator::kLessEqual, make(Operator::kMultiply, variable("c.vec"), variable("sizeof(T)")), variable("c.most"));
  const auto space = SearchSpace::build({parameter("vec", {1, 2, 4, 8}), parameter("most", {16})}, {constraint(divides), constraint(bytes)},
                                        {{"p.cols", Value(12)}, {"sizeof(T)", Value(2)}});
  REQUIRE(space.ok());
  CHECK(text(space->size()) == "3");
}

TEST_CASE("A contradiction is named by the constraints it needs and no others") {
  const auto less = [&](const char* a, const char* b) { return make(Operator::kLess, variable(a), variable(b)); };
  const auto space =
      SearchSpace::build({parameter("a", up_to(4)), parameter("b", up_to(4)), parameter("c", up_to(4)), parameter("d", up_to(4))},
                         {constraint(less("c.a", "c.d"), 11), constraint(less("c.a", "c.b"), 12), constraint(less("c.b", "c.c"), 13),
                          constraint(less("c.c", "c.a"), 14), constraint(less("c.b", "c.d"), 15)},
                         {});
  REQUIRE_FALSE(space.ok());
  CHECK(space.error().code == ErrorCode::kEmptySpace);
  for (const char* culprit : {"'c.a < c.b' (line 12)", "'c.b < c.c' (line 13)", "'c.c < c.a' (line 14)"}) {
    CHECK_MESSAGE(mentions(space.error().message, culprit), space.error().message);
  }
  CHECK_FALSE(mentions(space.error().message, "c.d"));
}

TEST_CASE("A constraint that fails for what is fixed is named with it") {
  const auto aligned = make(Operator::kEqual, make(Operator::kRemainder, variable("p.cols"), number(8)), number(0));
  const auto space = SearchSpace::build({parameter("vec", {1, 2})}, {constraint(aligned, 7)}, {{"p.cols", Value(12)}});
  REQUIRE_FALSE(space.ok());
  CHECK(space.error().code == ErrorCode::kEmptySpace);
  CHECK_MESSAGE(mentions(space.error().message, "(here p.cols = 12)"), space.error().message);
}

TEST_CASE("An unknown name in a constraint is an error, also where it would never be read") {
  const auto hidden = make(Operator::kLogicalOr, make(Operator::kLess, variable("p.cols"), number(99)), variable("c.vek"));
  const auto space = SearchSpace::build({parameter("vec", {1, 2})}, {constraint(hidden)}, {{"p.cols", Value(12)}});
  REQUIRE_FALSE(space.ok());
  CHECK(space.error().code == ErrorCode::kBadKernel);
  for (const char* part : {"'c.vek'", "'c.vec'", "p.cols"}) {
    CHECK_MESSAGE(mentions(space.error().message, part), space.error().message);
  }
}

TEST_CASE("More parameters than the engine can walk through are an error") {
  std::vector<Parameter> many;
  for (int i = 0; i < 1001; ++i) {
    many.push_back(parameter("p" + std::to_string(i), {1}));
  }
  const auto refused = SearchSpace::from_rows(many, {std::vector<std::uint16_t>(many.size(), 0)});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message == "search space: 1001 parameters; at most 1000 are possible");
  many.pop_back();
  CHECK(SearchSpace::from_rows(many, {std::vector<std::uint16_t>(many.size(), 0)}).ok());
}

TEST_CASE("Parameters that are declared twice, list a value twice or list none are errors") {
  for (const auto& parameters :
       {std::vector{parameter("a", {1}), parameter("a", {2})}, std::vector{parameter("a", {1, 2, 1})}, std::vector{parameter("a", {})}}) {
    const auto space = SearchSpace::build(parameters, {}, {});
    REQUIRE_FALSE(space.ok());
    CHECK(space.error().code == ErrorCode::kInvalidArgument);
  }
}

TEST_CASE("Values that are equal and spelled in two ways are listed twice") {
  Parameter zeros = parameter("a", {0});
  zeros.kind = hone::ParameterKind::kReal;
  zeros.values = {Value(-0.0), Value(0.0)};
  const auto space = SearchSpace::build({zeros}, {}, {});
  REQUIRE_FALSE(space.ok());
  CHECK(space.error().message.find("twice") != std::string::npos);
}

TEST_CASE("A kernel without parameters has one configuration") {
  const auto space = SearchSpace::build({}, {}, {});
  REQUIRE(space.ok());
  CHECK(text(space->size()) == "1");
  CHECK(space->index(space->at(0)) == Count{0});
}

TEST_CASE("Samples are uniform over the valid configurations") {
  const auto half = make(Operator::kLessEqual, make(Operator::kMultiply, variable("c.a"), variable("c.b")), number(6));
  const auto space = SearchSpace::build({parameter("a", up_to(6)), parameter("b", up_to(6))}, {constraint(half)}, {});
  REQUIRE(space.ok());
  std::mt19937_64 random(5);
  std::map<Count, int> single, without_replacement;
  constexpr int kRounds = 7000;
  for (int i = 0; i < kRounds; ++i) {
    ++single[space->sample(random)];
    for (const Count position : space->sample(random, 3)) {
      ++without_replacement[position];
    }
  }
  const double expected = kRounds / static_cast<double>(space->size());
  for (Count i = 0; i < space->size(); ++i) {
    CHECK(single[i] == doctest::Approx(expected).epsilon(0.2));
    CHECK(without_replacement[i] == doctest::Approx(3 * expected).epsilon(0.12));
  }
}

TEST_CASE("A position outside the space is a broken contract") {
  const auto space = SearchSpace::build({parameter("a", {1, 2})}, {}, {});
  CHECK_THROWS_AS((void)space->at(2), ContractError);
  CHECK_THROWS_AS((void)space->neighbours(2, Neighbourhood::kHamming), ContractError);
}
