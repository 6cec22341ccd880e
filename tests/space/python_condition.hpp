#pragma once
// Reads the Python-like conditions of published search spaces: integers, names, + - * / % comparisons ! && || and parentheses.

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hone/expression.hpp"

namespace hone::test {

class PythonCondition {
 public:
  static Expression parse(std::string_view text) {
    PythonCondition parser{text};
    Expression result = parser.binary(0);
    if (parser.skip_blanks(); !parser.rest_.empty()) {
      throw std::runtime_error("cannot read '" + std::string(text) + "' from '" + std::string(parser.rest_) + "'");
    }
    return result;
  }

 private:
  using Level = std::vector<std::pair<std::string_view, Operator>>;

  explicit PythonCondition(std::string_view text) : rest_(text) {}

  /// Loosest first; the longer spelling before its own beginning.
  static const Level* level(std::size_t depth) {
    static const std::vector<Level> levels{
        {{"||", Operator::kLogicalOr}},
        {{"&&", Operator::kLogicalAnd}},
        {{"==", Operator::kEqual},
         {"!=", Operator::kNotEqual},
         {"<=", Operator::kLessEqual},
         {">=", Operator::kGreaterEqual},
         {"<", Operator::kLess},
         {">", Operator::kGreater}},
        {{"+", Operator::kAdd}, {"-", Operator::kSubtract}},
        {{"*", Operator::kMultiply}, {"/", Operator::kDivide}, {"%", Operator::kRemainder}},
    };
    return depth < levels.size() ? &levels[depth] : nullptr;
  }

  Expression binary(std::size_t depth) {
    const Level* operators = level(depth);
    if (operators == nullptr) {
      return primary();
    }
    Expression left = binary(depth + 1);
    for (;;) {
      const auto* next = take(*operators);
      if (next == nullptr) {
        return left;
      }
      left = combine(next->second, left, binary(depth + 1));
    }
  }

  /// `/` divides as real numbers; a remainder of a quotient is written without it, for the engine's remainder is of integers:
  /// (a / b) % c == 0 where b does not divide a is false, as a % (b * c) == 0 says.
  static Expression combine(Operator op, const Expression& a, const Expression& b) {
    if (op == Operator::kRemainder && a.node().op == Operator::kDivide) {
      const auto& quotient = a.node().operands;
      return Expression::make(op, {quotient[0], Expression::make(Operator::kMultiply, {quotient[1], b})});
    }
    if (op == Operator::kRemainder && b.node().op == Operator::kDivide) {
      const auto& quotient = b.node().operands;
      return Expression::make(op, {Expression::make(Operator::kMultiply, {a, quotient[1]}), quotient[0]});
    }
    return Expression::make(op, {op == Operator::kDivide ? Expression::make(Operator::kToReal, {a}) : a, b});
  }

  Expression primary() {
    skip_blanks();
    if (take("!")) {
      return Expression::make(Operator::kNot, {primary()});
    }
    if (take("(")) {
      Expression inner = strip(binary(0));
      if (!take(")")) {
        throw std::runtime_error("a parenthesis is not closed before '" + std::string(rest_) + "'");
      }
      return inner;
    }
    std::size_t length = 0;
    while (length < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[length])) != 0 || rest_[length] == '_')) {
      ++length;
    }
    const std::string word(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return std::isdigit(static_cast<unsigned char>(word.at(0))) != 0 ? Expression::constant(Value(std::int64_t{std::stoll(word)}))
                                                                     : Expression::variable("c." + word);
  }

  /// A quotient inside parentheses as `combine` wants it: without the conversion.
  static Expression strip(const Expression& e) {
    if (e.node().op != Operator::kDivide || e.node().operands[0].node().op != Operator::kToReal) {
      return e;
    }
    return Expression::make(Operator::kDivide, {e.node().operands[0].node().operands[0], e.node().operands[1]});
  }

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  bool take(std::string_view token) {
    skip_blanks();
    if (!rest_.starts_with(token)) {
      return false;
    }
    rest_.remove_prefix(token.size());
    return true;
  }

  const std::pair<std::string_view, Operator>* take(const Level& operators) {
    for (const auto& candidate : operators) {
      if (take(candidate.first)) {
        return &candidate;
      }
    }
    return nullptr;
  }

  std::string_view rest_;
};

}  // namespace hone::test
