#include "engine/kernel/expression.hpp"

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <random>

namespace {

using hone::Bindings;
using hone::Expression;
using hone::Operator;
using hone::Value;

Expression var(const char* name) { return Expression::variable(name); }
Expression num(Value value) { return Expression::constant(value); }
Expression op(Operator o, std::vector<Expression> operands) { return Expression::make(o, std::move(operands)); }
Expression both(Expression a, Expression b) { return op(Operator::kLogicalAnd, {std::move(a), std::move(b)}); }
Expression either(Expression a, Expression b) { return op(Operator::kLogicalOr, {std::move(a), std::move(b)}); }
Expression no(Expression a) { return op(Operator::kNot, {std::move(a)}); }
Expression less(Expression a, Expression b) { return op(Operator::kLess, {std::move(a), std::move(b)}); }
Expression divides(const char* a, const char* b) { return op(Operator::kEqual, {op(Operator::kRemainder, {var(a), var(b)}), num(0)}); }

std::vector<std::string> texts(const std::vector<Expression>& expressions) {
  std::vector<std::string> result;
  for (const auto& e : expressions) {
    result.push_back(e.text());
  }
  return result;
}

/// Random trees over three integer variables; divisors and shifts are anything, so failures happen.
class RandomTree {
 public:
  explicit RandomTree(unsigned seed) : random_(seed) {}

  Expression make(int depth) {
    if (depth == 0 || pick(6) == 0) {
      return leaf();
    }
    const auto o = static_cast<Operator>(static_cast<int>(Operator::kNegate) + pick(25));
    if (o == Operator::kSelect) {
      return op(o, {make(depth - 1), make(depth - 1), make(depth - 1)});
    }
    if (o <= Operator::kToBoolean) {
      return o == Operator::kToReal ? make(depth - 1) : op(o, {make(depth - 1)});
    }
    return op(o, {make(depth - 1), make(depth - 1)});
  }

  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

 private:
  Expression leaf() {
    static constexpr std::array kNames{"a", "b", "c"};
    switch (pick(5)) {
      case 0:
        return num(pick(9) - 4);
      case 1:
        return num(pick(2) == 0);
      default:
        return var(kNames[static_cast<std::size_t>(pick(3))]);
    }
  }

  std::mt19937 random_;
};

}  // namespace

TEST_CASE("values print as C++ source") {
  CHECK(Value(128).text() == "128");
  CHECK(Value(true).text() == "true");
  CHECK(Value(0.5).text() == "0.5");
  CHECK(Value(2.0).text() == "2.0");
}

TEST_CASE("integers truncate as in C++ and a real operand makes the operation real") {
  CHECK(*op(Operator::kDivide, {num(-7), num(2)}).evaluate({}) == Value(-3));
  CHECK(*op(Operator::kRemainder, {num(-7), num(2)}).evaluate({}) == Value(-1));
  CHECK(*op(Operator::kMultiply, {num(0.5), num(3)}).evaluate({}) == Value(1.5));
  CHECK(*op(Operator::kAdd, {num(true), num(true)}).evaluate({}) == Value(2));
  CHECK(*op(Operator::kToInteger, {num(2.9)}).evaluate({}) == Value(2));
}

TEST_CASE("an unbound variable and a division by zero are named errors") {
  const auto unbound = less(var("c.block"), num(3)).evaluate({});
  REQUIRE_FALSE(unbound.ok());
  CHECK(unbound.error().message == "'c.block' has no value here");
  const auto zero = divides("p.rows", "c.vec").evaluate({{"p.rows", 8}, {"c.vec", 0}});
  REQUIRE_FALSE(zero.ok());
  CHECK(zero.error().message == "division by zero in 'p.rows % c.vec'");
  CHECK_FALSE(op(Operator::kShiftLeft, {num(1), num(64)}).evaluate({}).ok());
}

TEST_CASE("&&, || and ?: evaluate only what they need") {
  const Bindings zero{{"a", 0}, {"b", 8}};
  CHECK(*both(op(Operator::kNotEqual, {var("a"), num(0)}), divides("b", "a")).evaluate(zero) == Value(false));
  CHECK(*either(op(Operator::kEqual, {var("a"), num(0)}), divides("b", "a")).evaluate(zero) == Value(true));
  CHECK(*op(Operator::kSelect, {var("a"), divides("b", "a"), num(7)}).evaluate(zero) == Value(7));
}

TEST_CASE("substitution replaces and folds, and leaves a division by zero in place") {
  const auto e = both(divides("p.cols", "c.vec"), less(var("c.vec"), num(16)));
  CHECK(e.substitute({{"p.cols", 8}, {"c.vec", 4}}).text() == "true");
  CHECK(e.substitute({{"p.cols", 8}}).text() == "8 % c.vec == 0 && c.vec < 16");
  CHECK(e.substitute({{"p.cols", 9}, {"c.vec", 4}}).text() == "false");
  CHECK(divides("p.cols", "c.vec").substitute({{"p.cols", 8}, {"c.vec", 0}}).text() == "8 % 0 == 0");
  CHECK(e.variables() == std::vector<std::string>{"c.vec", "p.cols"});
}

TEST_CASE("text has the fewest parentheses that keep the meaning") {
  const auto sum = op(Operator::kAdd, {var("a"), var("b")});
  CHECK(op(Operator::kMultiply, {sum, var("c")}).text() == "(a + b) * c");
  CHECK(op(Operator::kAdd, {sum, var("c")}).text() == "a + b + c");
  CHECK(op(Operator::kSubtract, {var("c"), sum}).text() == "c - (a + b)");
  CHECK(no(both(var("a"), var("b"))).text() == "!(a && b)");
  CHECK(op(Operator::kNegate, {op(Operator::kNegate, {var("a")})}).text() == "-(-a)");
  CHECK(op(Operator::kSelect, {var("a"), num(1), num(2)}).text() == "a ? 1 : 2");
}

TEST_CASE("conjuncts: && splits, || under ! splits, comparisons flip") {
  const auto e = both(less(var("a"), num(1)), no(either(less(var("b"), num(2)), op(Operator::kEqual, {var("c"), num(3)}))));
  CHECK(texts(e.conjuncts()) == std::vector<std::string>{"a < 1", "b >= 2", "c != 3"});
  CHECK(texts(no(both(var("a"), less(var("b"), num(2)))).conjuncts()) == std::vector<std::string>{"!a || b >= 2"});
  CHECK(texts(no(no(no(var("a")))).conjuncts()) == std::vector<std::string>{"!a"});
}

TEST_CASE("conjuncts: early returns of false become conjuncts") {
  const auto rest = op(Operator::kSelect, {less(var("b"), num(0)), num(false), divides("b", "c")});
  const auto e = op(Operator::kSelect, {op(Operator::kGreater, {var("a"), num(64)}), num(false), rest});
  CHECK(texts(e.conjuncts()) == std::vector<std::string>{"a <= 64", "b >= 0", "b % c == 0"});
}

TEST_CASE("conjuncts: a choice between conjunctions is split under its condition") {
  const auto e = op(Operator::kSelect, {var("a"), both(less(var("b"), num(1)), less(var("c"), num(2))), less(var("b"), num(3))});
  CHECK(texts(e.conjuncts()) == std::vector<std::string>{"!a || b < 1", "!a || c < 2", "a || b < 3"});
}

TEST_CASE("conjuncts: a choice that holds either way is kept where its condition may divide by zero") {
  const auto e = op(Operator::kSelect, {op(Operator::kRemainder, {num(4), var("a")}), num(7), num(3)});
  CHECK(texts(e.conjuncts()) == std::vector<std::string>{"4 % a ? 7 : 3"});
}

TEST_CASE("a choice that comes to the same is no choice, and an inner one with the same end joins the outer") {
  const auto end = less(var("b"), num(3));
  CHECK(op(Operator::kSelect, {var("a"), var("b"), var("b")}).text() == "b");
  const auto inner = op(Operator::kSelect, {var("c"), num(false), end});
  CHECK(op(Operator::kSelect, {var("a"), inner, end}).text() == "a && c ? false : b < 3");
  CHECK(texts(op(Operator::kSelect, {var("a"), inner, end}).conjuncts()) == std::vector<std::string>{"!a || !c", "b < 3"});
}

TEST_CASE("true has no conjunct and false has one") {
  CHECK(num(true).conjuncts().empty());
  CHECK(texts(num(false).conjuncts()) == std::vector<std::string>{"false"});
}

TEST_CASE("what is not a serialized expression is refused") {
  for (const char* text : {"", "+ 1", "+ 1 2 3", "1x", "r", "$", "? true 1"}) {
    CAPTURE(text);
    CHECK_FALSE(Expression::parse(text).ok());
  }
}

TEST_CASE("what is nested more deeply or is larger than the engine can walk through is refused") {
  const auto chain = [](std::size_t levels) {
    std::string text;
    for (std::size_t i = 1; i < levels; ++i) {
      text += "~ ";
    }
    return text + "$a";
  };
  CHECK(Expression::parse(chain(Expression::kDeepest)).ok());
  CHECK_FALSE(Expression::parse(chain(Expression::kDeepest + 1)).ok());
  const auto full = [](auto& self, int levels) -> std::string {
    return levels == 0 ? "$a " : "+ " + self(self, levels - 1) + self(self, levels - 1);
  };
  CHECK(Expression::parse(full(full, 14)).ok());
  CHECK_FALSE(Expression::parse(full(full, 17)).ok());
}

TEST_CASE("what cannot be computed is not folded away: an integer operator on a real number fails, whatever it is joined with") {
  const Expression shift = op(Operator::kShiftRight, {op(Operator::kToReal, {var("a")}), num(1)});
  const Expression joined = either(op(Operator::kEqual, {shift, var("b")}), var("c"));
  CHECK_FALSE(joined.evaluate({{"a", 8}, {"b", 1}, {"c", true}}).ok());
  CHECK_FALSE(joined.substitute({{"c", true}}).evaluate({{"a", 8}, {"b", 1}}).ok());
}

TEST_CASE("an expression knows its depth, and its size as a tree") {
  Expression e = var("a");
  for (int i = 0; i < 100; ++i) {
    e = op(Operator::kAdd, {e, e});
  }
  CHECK(e.node().depth == 101);
  CHECK(e.node().size == std::uint64_t{1} << 60);
  CHECK(op(Operator::kMultiply, {op(Operator::kAdd, {var("a"), num(1)}), var("b")}).node().size == 5);
}

TEST_CASE("a real number that no integer holds becomes the nearest one, NaN becomes 0") {
  CHECK(Value(1e300).integer() == std::numeric_limits<std::int64_t>::max());
  CHECK(Value(-1e300).integer() == std::numeric_limits<std::int64_t>::min());
  CHECK(Value(std::numeric_limits<double>::quiet_NaN()).integer() == 0);
  CHECK(Value(-2.75).integer() == -2);
}

TEST_CASE("conjuncts: a comparison of reals does not flip, for NaN is neither less nor greater or equal") {
  const Expression huge = op(Operator::kMultiply, {num(1e300), op(Operator::kMultiply, {num(1e300), var("a")})});
  const Expression nan = op(Operator::kSubtract, {huge, huge});
  for (const auto& part : no(less(nan, num(1))).conjuncts()) {
    CHECK(part.evaluate({{"a", 2}}).value().boolean());
  }
}

TEST_CASE("make refuses a wrong number of operands") { CHECK_THROWS_AS(op(Operator::kAdd, {num(1)}), hone::ContractError); }

TEST_CASE("random trees: evaluation, substitution, serialized form and conjuncts agree") {
  int failed = 0, evaluated = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    RandomTree trees(seed);
    const Expression tree = trees.make(1 + trees.pick(5));
    const auto round_trip = Expression::parse(tree.serialize());
    REQUIRE(round_trip.ok());
    CHECK(round_trip->serialize() == tree.serialize());
    for (int i = 0; i < 10; ++i) {
      const std::array<std::int64_t, 3> values{trees.pick(9) - 4, trees.pick(9) - 4, trees.pick(100) - 50};
      const Bindings bindings{{"a", values[0]}, {"b", values[1]}, {"c", values[2]}};
      const auto expected = tree.evaluate(bindings);
      ++(expected.ok() ? evaluated : failed);
      CAPTURE(tree.text());
      if (expected.ok()) {
        const auto folded = tree.substitute(bindings);
        REQUIRE(folded.is_constant());
        REQUIRE(folded.node().value == *expected);
        const auto partly = tree.substitute({{"b", values[1]}}).evaluate(bindings);
        REQUIRE(partly.ok());
        REQUIRE(*partly == *expected);
      }
      bool all = true;
      for (const auto& conjunct : tree.conjuncts()) {
        const auto value = conjunct.evaluate(bindings);
        all = all && value.ok() && value->boolean();
      }
      REQUIRE(all == (expected.ok() && expected->boolean()));
    }
  }
  CHECK(failed > 100);
  CHECK(evaluated > 10000);
}
