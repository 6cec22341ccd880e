// A recursive descent over conditions in Python's and C's spelling. Names become "c." and the name.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "hone/names.hpp"
#include "hone/space_description.hpp"

namespace hone {
namespace {

/// Caught at the entrance; never leaves this file.
struct SyntaxError {
  std::string what;
  std::size_t column;
};

struct Spelling {
  std::string_view text;
  Operator op;
};
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

Expression constant(std::int64_t value) { return Expression::constant(Value(value)); }
Expression make(Operator op, const Expression& a, const Expression& b) { return Expression::make(op, {a, b}); }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class Parser {
 public:
  Parser(std::string_view text, const std::vector<Parameter>& parameters) : text_(text), parameters_(parameters) {}

  Expression run() {
    Expression result = conditional();
    skip();
    if (at_ < text_.size()) {
      fail("an operator or the end was expected");
    }
    check_remainders(result);
    return result;
  }

 private:
  [[noreturn]] void fail(std::string what) const { throw SyntaxError{std::move(what), at_}; }

  Expression conditional() {
    const Expression first = either();
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
      left = make(Operator::kLogicalOr, left, both());
    }
    return left;
  }

  Expression both() {
    Expression left = negation();
    while (take("&&") || take_word("and")) {
      left = make(Operator::kLogicalAnd, left, negation());
    }
    return left;
  }

  Expression negation() {
    if (take_word("not")) {
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
        one = compare(spelling->op, left, right);
        left = right;
      } else if (const int sign = membership(); sign != 0) {
        one = member(left, sign < 0);
      } else {
        return any ? result : left;
      }
      result = any ? make(Operator::kLogicalAnd, result, one) : one;
      any = true;
    }
  }

  /// 1 for "in", -1 for "not in", 0 for neither.
  int membership() {
    if (take_word("in")) {
      return 1;
    }
    const std::size_t before = at_;
    if (take_word("not") && take_word("in")) {
      return -1;
    }
    at_ = before;
    return 0;
  }

  /// (a / b) % c == 0 is a % (b * c) == 0, and a % (b / c) == 0 is a * c % b == 0: the engine's remainder is of integers.
  Expression compare(Operator op, const Expression& left, const Expression& right) const {
    const bool with_zero = (op == Operator::kEqual || op == Operator::kNotEqual) && right.is_constant() && right.node().value == Value(0);
    return make(op, with_zero && left.node().op == Operator::kRemainder ? whole_remainder(left) : left, right);
  }

  [[nodiscard]] bool is_real(const Expression& e) const {
    const auto& node = e.node();
    if (node.op == Operator::kConstant) {
      return node.value.kind() == Value::Kind::kReal;
    }
    if (node.op == Operator::kVariable) {
      const auto parameter = std::ranges::find_if(parameters_, [&](const Parameter& p) { return "c." + p.name == node.name; });
      return parameter->kind == ParameterKind::kReal;
    }
    const bool carries =
        node.op == Operator::kNegate || (node.op >= Operator::kAdd && node.op <= Operator::kDivide) || node.op == Operator::kSelect;
    return node.op == Operator::kToReal ||
           (carries && std::ranges::any_of(node.operands, [this](const Expression& operand) { return is_real(operand); }));
  }

  /// Remainders of real numbers would be constraints that nothing meets.
  void check_remainders(const Expression& e) const {
    for (const Expression& operand : e.node().operands) {
      check_remainders(operand);
      if (e.node().op >= Operator::kRemainder && e.node().op <= Operator::kXor && is_real(operand)) {
        fail("%, shifts and bitwise operators take whole numbers; of a quotient only its remainder's being 0 can be asked for");
      }
    }
  }

  static bool is_quotient(const Expression& e) {
    return e.node().op == Operator::kDivide && e.node().operands[0].node().op == Operator::kToReal;
  }

  static Expression whole_remainder(const Expression& e) {
    const Expression &a = e.node().operands[0], &b = e.node().operands[1];
    const auto dividend = [](const Expression& quotient) { return quotient.node().operands[0].node().operands[0]; };
    if (is_quotient(a)) {
      return make(Operator::kRemainder, dividend(a), make(Operator::kMultiply, a.node().operands[1], b));
    }
    if (is_quotient(b)) {
      return make(Operator::kRemainder, make(Operator::kMultiply, a, b.node().operands[1]), dividend(b));
    }
    return e;
  }

  Expression member(const Expression& of, bool negated) {
    const char close = take("(") ? ')' : take("[") ? ']' : take("{") ? '}' : '\0';
    if (close == '\0') {
      fail("a list was expected");
    }
    Expression found = Expression::constant(Value(false));
    while (!take(std::string_view(&close, 1))) {
      found = make(Operator::kLogicalOr, found, make(Operator::kEqual, of, text_begins() ? label(of) : binary(0)));
      take(",");
    }
    return negated ? Expression::make(Operator::kNot, {found}) : found;
  }

  Expression binary(std::size_t depth) {
    if (depth == kLevels.size()) {
      return unary();
    }
    Expression left = binary(depth + 1);
    while (const Spelling* spelling = take_any(kLevels[depth])) {
      const Expression right = binary(depth + 1);
      if (spelling->text == "//" && (is_real(left) || is_real(right))) {
        fail("'//' takes whole numbers");
      }
      const bool real = spelling->op == Operator::kToReal;
      left = real ? make(Operator::kDivide, Expression::make(Operator::kToReal, {left}), right) : make(spelling->op, left, right);
    }
    return left;
  }

  Expression unary() {
    if (take("-")) {
      return Expression::make(Operator::kNegate, {unary()});
    }
    if (take("+")) {
      return unary();
    }
    skip();
    if (!text_.substr(at_).starts_with("!=") && take("!")) {
      return Expression::make(Operator::kNot, {unary()});
    }
    return power();
  }

  Expression power() {
    const Expression base = primary();
    if (!take("**")) {
      return base;
    }
    const Expression exponent = unary();
    if (!exponent.is_constant() || exponent.node().value.integer() < 0 || exponent.node().value.integer() > 63) {
      fail("an exponent must be a number from 0 to 63");
    }
    Expression product = constant(1);
    for (std::int64_t i = 0; i < exponent.node().value.integer(); ++i) {
      product = make(Operator::kMultiply, product, base);
    }
    return product;
  }

  Expression primary() {
    skip();
    if (take("(")) {
      Expression inner = conditional();
      expect(")");
      return inner;
    }
    if (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '.')) {
      return number();
    }
    const std::string name(word());
    if (name.empty()) {
      fail("a number, a name or a parenthesis was expected");
    }
    at_ += name.size();
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
      at_ -= name.size();
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
      return Expression::make(Operator::kSelect, {make(Operator::kLess, a, constant(0)), Expression::make(Operator::kNegate, {a}), a});
    }
    if (name == "int" && arguments.size() == 1) {
      return Expression::make(Operator::kToInteger, arguments);
    }
    if (name != "min" && name != "max") {
      fail(fmt::format("there is no function '{}'; there are min, max, abs and int", name));
    }
    Expression result = arguments[0];
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      const Operator first_wins = name == "min" ? Operator::kLessEqual : Operator::kGreaterEqual;
      result = Expression::make(Operator::kSelect, {make(first_wins, result, arguments[i]), result, arguments[i]});
    }
    return result;
  }

  Expression number() {
    const std::string_view rest = text_.substr(at_);
    std::int64_t integer = 0;
    const auto whole = std::from_chars(rest.data(), rest.data() + rest.size(), integer);
    double real = 0.0;
    const auto part = std::from_chars(rest.data(), rest.data() + rest.size(), real);
    const bool is_whole = whole.ec == std::errc() && whole.ptr == part.ptr;
    if (!is_whole && part.ec != std::errc()) {
      fail("this number cannot be read");
    }
    at_ += static_cast<std::size_t>(part.ptr - rest.data());
    return Expression::constant(is_whole ? Value(integer) : Value(real));
  }

  bool text_begins() {
    skip();
    return at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"');
  }

  /// The place of a quoted text among the labels of the parameter that it is compared with.
  Expression label(const Expression& with) {
    const std::size_t begin = at_ + 1, end = text_.find(text_[at_], begin);
    const auto& node = with.node();
    const auto parameter = std::ranges::find_if(parameters_, [&](const Parameter& p) { return "c." + p.name == node.name; });
    if (end == std::string_view::npos || parameter == parameters_.end() || parameter->labels.empty()) {
      fail("a text can only be compared with a parameter that lists texts");
    }
    const std::string wanted(text_.substr(begin, end - begin));
    const auto at = std::ranges::find(parameter->labels, wanted);
    if (at == parameter->labels.end()) {
      fail(unknown_name("value", wanted, parameter->labels));
    }
    at_ = end + 1;
    return Expression::constant(parameter->values[static_cast<std::size_t>(at - parameter->labels.begin())]);
  }

  void skip() { at_ = std::min(text_.find_first_not_of(" \t\n", at_), text_.size()); }

  [[nodiscard]] std::string_view word() const {
    std::size_t length = 0;
    while (at_ + length < text_.size() && is_word(text_[at_ + length])) {
      ++length;
    }
    return text_.substr(at_, length);
  }

  bool take(std::string_view token) {
    skip();
    const bool there = text_.substr(at_).starts_with(token);
    at_ += there ? token.size() : 0;
    return there;
  }

  bool take_word(std::string_view wanted) {
    skip();
    const bool there = word() == wanted;
    at_ += there ? wanted.size() : 0;
    return there;
  }

  const Spelling* take_any(const std::vector<Spelling>& spellings) {
    skip();
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("&&") || rest.starts_with("||") || rest.starts_with("**")) {
      return nullptr;
    }
    const auto found = std::ranges::find_if(spellings, [&](const Spelling& spelling) { return rest.starts_with(spelling.text); });
    if (found == spellings.end()) {
      return nullptr;
    }
    const bool shift = found->text.size() == 1 && rest.size() > 1 && rest[1] == rest[0] && (rest[0] == '<' || rest[0] == '>');
    if (shift) {
      return nullptr;
    }
    at_ += found->text.size();
    return &*found;
  }

  void expect(std::string_view token) {
    if (!take(token)) {
      fail(fmt::format("'{}' was expected", token));
    }
  }

  std::string_view text_;
  const std::vector<Parameter>& parameters_;
  std::size_t at_ = 0;
};

}  // namespace

Result<Expression> parse_condition(std::string_view text, const std::vector<Parameter>& parameters) {
  try {
    return Parser(text, parameters).run();
  } catch (const SyntaxError& wrong) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("constraint '{}', column {}: {}", text, wrong.column + 1, wrong.what)};
  }
}

}  // namespace hone
