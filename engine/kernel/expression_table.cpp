#include "engine/kernel/expression_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "engine/kernel/arithmetic.hpp"

namespace hone {
namespace {

constexpr char kBetweenEntries = ';';

Error bad_entry(std::string_view entry) {
  return {ErrorCode::kInvalidArgument, fmt::format("not an entry of a table of expressions: '{}'", entry)};
}

/// Takes the text up to `end` away, and `end`.
std::string_view take_until(std::string_view& rest, char end) {
  const std::size_t at = rest.find(end);
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return taken;
}

Result<Expression> read_entry(std::string_view entry, const std::vector<Expression>& before) {
  std::string_view rest = entry;
  const std::optional<Operator> op = Expression::operator_of(take_until(rest, ' '));
  if (!op) {
    return Expression::parse(entry);
  }
  std::vector<Expression> operands;
  while (!rest.empty()) {
    const std::string_view number = take_until(rest, ' ');
    std::size_t at = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), at);
    if (read.ec != std::errc{} || read.ptr != number.data() + number.size() || at >= before.size()) {
      return bad_entry(entry);
    }
    operands.push_back(before[at]);
  }
  if (operands.size() != static_cast<std::size_t>(kernel::arity(*op))) {
    return bad_entry(entry);
  }
  Expression made = Expression::make(*op, std::move(operands));
  const Expression::Node& node = made.node();
  return node.depth > Expression::kDeepest || node.size > Expression::kLargest ? Result<Expression>(bad_entry(entry)) : made;
}

}  // namespace

Result<ExpressionTable> ExpressionTable::parse(std::string_view text) {
  ExpressionTable table;
  while (!text.empty()) {
    HONE_ASSIGN(Expression read, read_entry(take_until(text, kBetweenEntries), table.all_));
    table.all_.push_back(std::move(read));
  }
  return table;
}

std::size_t ExpressionTable::add(const Expression& expression) {
  const Expression::Node& node = expression.node();
  std::string entry = node.operands.empty() ? expression.serialize() : std::string(Expression::prefix(node.op));
  for (const Expression& operand : node.operands) {
    entry += fmt::format(" {}", add(operand));
  }
  const auto [at, added] = number_.emplace(std::move(entry), entries_.size());
  if (added) {
    entries_.push_back(at->first);
  }
  return at->second;
}

Result<Expression> ExpressionTable::find(std::string_view reference) const {
  std::size_t at = 0;
  const char* const end = reference.data() + reference.size();
  const auto read = std::from_chars(reference.data() + 1, end, at);
  if (read.ec != std::errc{} || read.ptr != end || at >= all_.size()) {
    return bad_entry(reference);
  }
  return all_[at];
}

std::string ExpressionTable::text() const { return fmt::format("{}", fmt::join(entries_, std::string(1, kBetweenEntries))); }

}  // namespace hone
