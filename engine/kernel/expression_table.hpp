#pragma once
// Expressions as text that says once what they have in common: those of gemm_wgmma are 19,000 operators and operands when each is
// written out, of which 800 differ.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kernel/expression.hpp"

namespace hone {

class ExpressionTable {
 public:
  /// Reads what text() wrote. Errors: a malformed entry, one that names a later one, or an expression beyond Expression's limits.
  static Result<ExpressionTable> parse(std::string_view text);

  /// The number of the expression, which is added with its parts where it is not there.
  std::size_t add(const Expression& expression);
  /// "@7": the expression of that number. Errors: there is none.
  [[nodiscard]] Result<Expression> find(std::string_view reference) const;
  /// An entry for each: a leaf as in the prefix form, else the operator and the numbers of its operands.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Expression> all_;                ///< that were read
  std::vector<std::string> entries_;           ///< of those that were added
  std::map<std::string, std::size_t> number_;  ///< of an entry
};

}  // namespace hone
