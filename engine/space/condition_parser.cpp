// A recursive descent over conditions in Python's and C's spelling. Names become "c." and the name.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "engine/base/names.hpp"
#include "engine/space/condition_scanner.hpp"
#include "engine/space/python_arithmetic.hpp"
#include "engine/space/space_description.hpp"

namespace hone {
namespace {

using space::ConditionScanner;
using space::Spelling;

/// Loosest first; a longer spelling before its own beginning.
const std::vector<std::vector<Spelling>> kLevels{
    {{"|", Operator::kOr}},
    {{"^", Operator::kXor}},
    {{"&", Operator::kAnd}},
    {{"<<", Operator::kShiftLeft}, {">>", Operator::kShiftRight}},
    {{"+", Operator::kAdd}, {"-", Operator::kSubtract}},
    {{"*", Operator::kMultiply}, {"//", Operator::kDivide}, {"/", Operator::kToReal}, {"%", Operator::kRemainder}},
};
const std::vector<Spelling> kComparisons{{"==", Operator::kEqual},        {"!=", Operator::kNotEqual}, {"<=", Operator::kLessEqual},
                                         {">=", Operator::kGreaterEqual}, {"<", Operator::kLess},      {">", Operator::kGreater}};

/// Parentheses within one another, operators of one constraint and what it may grow to where abs, min, max and ** repeat their operands.
/// More would be nested too deeply for the stack, or take for ever.
constexpr int kDeepest = 200, kMostOperators = 2000;
constexpr std::size_t kMostRepeated = 2000, kMostNodes = 100'000;
constexpr std::size_t kMostShown = 200;  // of a constraint, in an error

Expression constant(std::int64_t value) { return Expression::constant(Value(value)); }
Expression make(Operator op, const Expression& a, const Expression& b) { return Expression::make(op, {a, b}); }

class Parser : private ConditionScanner {
 public:
  Parser(std::string_view text, const std::vector<Parameter>& parameters)
      : ConditionScanner(text), parameters_(parameters), python_(parameters) {}

  Expression run() {
    Expression result = conditional();
    skip();
    if (!at_end()) {
      fail("an operator or the end was expected");
    }
    result = limit(std::move(result), kMostNodes);
    if (result.node().depth > Expression::kDeepest) {
      fail(fmt::format("more than {} nested operators; split the constraint", Expression::kDeepest));
    }
    if (python_.misuses_reals(result)) {
      fail("%, shifts and bitwise operators take whole numbers; a quotient can only be tested for a remainder of 0");
    }
    return result;
  }

 private:
  /// One more level of what the parser calls itself for.
  class Level {
   public:
    explicit Level(Parser& of) : of_(of) {
      if (++of_.depth_ > kDeepest) {
        of_.fail(fmt::format("more than {} nested levels; split the constraint", kDeepest));
      }
    }
    ~Level() { --of_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& of_;
  };

  void count_operator() {
    if (++operators_ > kMostOperators) {
      fail(fmt::format("more than {} operators; split the constraint", kMostOperators));
    }
  }

  Expression limit(Expression e, std::size_t most) const {
    if (e.node().size > most) {
      fail("the constraint is too large (abs, min, max and ** repeat their operands) or lists too many values; split it");
    }
    return e;
  }

  Expression conditional() {
    const Level level(*this);
    Expression first = either();
    if (!take_word("if")) {
      return first;
    }
    const Expression condition = either();
    if (!take_word("else")) {
      fail("'else' was expected");
    }
    return Expression::make(Operator::kSelect, {condition, first, conditional()});
  }

  Expression either() {
    Expression left = both();
    while (take("||") || take_word("or")) {
      count_operator();
      left = make(Operator::kLogicalOr, left, both());
    }
    return left;
  }

  Expression both() {
    Expression left = negation();
    while (take("&&") || take_word("and")) {
      count_operator();
      left = make(Operator::kLogicalAnd, left, negation());
    }
    return left;
  }

  Expression negation() {
    if (take_word("not")) {
      const Level level(*this);
      return Expression::make(Operator::kNot, {negation()});
    }
    return comparison();
  }

  /// a < b <= c is a < b and b <= c.
  Expression comparison() {
    Expression left = binary(0), result;
    bool any = false;
    for (;;) {
      Expression one;
      if (const Spelling* spelling = take_any(kComparisons)) {
        const Expression right = text_begins() ? label(left) : binary(0);
        one = space::PythonArithmetic::compare(spelling->op, left, right);
        left = right;
      } else if (const int sign = membership(); sign != 0) {
        one = member(left, sign < 0);
      } else {
        return any ? result : left;
      }
      count_operator();
      result = any ? make(Operator::kLogicalAnd, result, one) : one;
      any = true;
    }
  }

  /// 1 for "in", -1 for "not in", 0 for neither.
  int membership() {
    if (take_word("in")) {
      return 1;
    }
    const std::size_t before = place();
    if (take_word("not") && take_word("in")) {
      return -1;
    }
    go_to(before);
    return 0;
  }

  Expression member(const Expression& of, bool negated) {
    const char close = take("(") ? ')' : take("[") ? ']' : take("{") ? '}' : '\0';
    if (close == '\0') {
      fail("a list was expected");
    }
    std::vector<Expression> equal;
    while (!take(std::string_view(&close, 1))) {
      equal.push_back(make(Operator::kEqual, of, text_begins() ? label(of) : binary(0)));
      take(",");
    }
    const Expression found = equal.empty() ? Expression::constant(Value(false)) : any_of(equal);
    return negated ? Expression::make(Operator::kNot, {found}) : found;
  }

  /// Half by half: a chain would be as deep as the list is long.
  static Expression any_of(std::span<const Expression> of) {
    const std::size_t half = of.size() / 2;
    return half == 0 ? of.front() : make(Operator::kLogicalOr, any_of(of.first(half)), any_of(of.subspan(half)));
  }

  Expression binary(std::size_t depth) {
    if (depth == kLevels.size()) {
      return unary();
    }
    Expression left = binary(depth + 1);
    while (const Spelling* spelling = take_any(kLevels[depth])) {
      count_operator();
      left = operation(*spelling, left, binary(depth + 1));
    }
    return left;
  }

  [[nodiscard]] Expression operation(const Spelling& spelling, const Expression& left, const Expression& right) const {
    switch (spelling.op) {
      case Operator::kToReal:
        return space::PythonArithmetic::divide(left, right);
      case Operator::kRemainder:
        return python_.remainder(left, right);
      case Operator::kDivide:
        if (python_.is_real(left) || python_.is_real(right)) {
          fail("'//' takes whole numbers");
        }
        return python_.floor_divide(left, right);
      default:
        if (python_.may_overflow(spelling.op, left, right)) {
          fail("the result may need more than 64 bits; write a smaller product or sum");
        }
        return make(spelling.op, left, right);
    }
  }

  Expression unary() {
    const Level level(*this);
    if (take("-")) {
      return Expression::make(Operator::kNegate, {unary()});
    }
    if (take("+")) {
      return unary();
    }
    if (!at_token("!=") && take("!")) {
      return Expression::make(Operator::kNot, {unary()});
    }
    return power();
  }

  Expression power() {
    Expression base = primary();
    if (!take("**")) {
      return base;
    }
    const Expression exponent = unary();
    if (!exponent.is_constant() || exponent.node().value.integer() < 0 || exponent.node().value.integer() > 63) {
      fail("an exponent must be a number from 0 to 63");
    }
    Expression product = constant(1);
    for (std::int64_t i = 0; i < exponent.node().value.integer(); ++i) {
      product = operation({"*", Operator::kMultiply}, product, base);
    }
    return limit(std::move(product), kMostRepeated);
  }

  Expression primary() {
    skip();
    if (take("(")) {
      Expression inner = conditional();
      expect(")");
      return inner;
    }
    if (number_begins()) {
      return Expression::constant(number());
    }
    const std::string name(word());
    if (name.empty()) {
      fail("a number, a name or a parenthesis was expected");
    }
    pass(name.size());
    if (name == "True" || name == "true" || name == "False" || name == "false") {
      return Expression::constant(Value(name == "True" || name == "true"));
    }
    return take("(") ? call(name) : variable(name);
  }

  Expression variable(const std::string& name) {
    std::vector<std::string> known;
    for (const Parameter& parameter : parameters_) {
      known.push_back(parameter.name);
    }
    if (std::ranges::find(known, name) == known.end()) {
      go_to(place() - name.size());
      fail(unknown_name("name", name, known));
    }
    return Expression::variable("c." + name);
  }

  Expression call(const std::string& name) {
    std::vector<Expression> arguments{conditional()};
    while (take(",")) {
      arguments.push_back(conditional());
    }
    expect(")");
    if (name == "abs" && arguments.size() == 1) {
      const Expression& a = arguments[0];
      return limit(
          Expression::make(Operator::kSelect, {make(Operator::kLess, a, constant(0)), Expression::make(Operator::kNegate, {a}), a}),
          kMostRepeated);
    }
    if (name == "int" && arguments.size() == 1) {
      return Expression::make(Operator::kToInteger, arguments);
    }
    if (name != "min" && name != "max") {
      fail(fmt::format("no function '{}'; the functions are min, max, abs and int", name));
    }
    return limit(extreme(name == "min" ? Operator::kLessEqual : Operator::kGreaterEqual, arguments), kMostRepeated);
  }

  /// Half by half: each comparison names both of its sides twice.
  static Expression extreme(Operator first_wins, std::span<const Expression> of) {
    const std::size_t half = of.size() / 2;
    if (half == 0) {
      return of.front();
    }
    const Expression first = extreme(first_wins, of.first(half)), second = extreme(first_wins, of.subspan(half));
    return Expression::make(Operator::kSelect, {make(first_wins, first, second), first, second});
  }

  /// The place of a quoted text among the labels of the parameter that it is compared with.
  Expression label(const Expression& with) {
    const std::optional<std::string_view> wanted = quoted();
    const auto& node = with.node();
    const auto parameter = std::ranges::find_if(parameters_, [&](const Parameter& p) { return "c." + p.name == node.name; });
    if (!wanted || parameter == parameters_.end() || parameter->labels.empty()) {
      fail("a string can only be compared with a parameter whose values are strings");
    }
    const auto at = std::ranges::find(parameter->labels, *wanted);
    if (at == parameter->labels.end()) {
      fail(unknown_name("value", *wanted, parameter->labels));
    }
    pass(wanted->size() + 2);  // with its quotes
    return Expression::constant(parameter->values[static_cast<std::size_t>(at - parameter->labels.begin())]);
  }

  const std::vector<Parameter>& parameters_;
  space::PythonArithmetic python_;
  int depth_ = 0, operators_ = 0;
};

}  // namespace

Result<Expression> parse_condition(std::string_view text, const std::vector<Parameter>& parameters) {
  try {
    return Parser(text, parameters).run();
  } catch (const ConditionScanner::SyntaxError& wrong) {
    const std::string_view shown = text.substr(0, kMostShown);
    return Error{ErrorCode::kInvalidArgument, fmt::format("constraint '{}{}', column {}: {}", shown,
                                                          shown.size() < text.size() ? "..." : "", wrong.column + 1, wrong.what)};
  }
}

}  // namespace hone
