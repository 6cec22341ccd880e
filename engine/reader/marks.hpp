#pragma once
// The marks of a kernel file (TUNE, IN, OUT, ...). Clang hands them over as strings; what stands in their parentheses becomes AST by a
// second parse, of a small file that includes the user's and holds each text as a function or a list of its own, at the line and column it
// came from.

#include <optional>
#include <string>
#include <vector>

#include "engine/reader/ast_expression.hpp"
#include "engine/reader/clang_unit.hpp"

namespace hone::kernel {

struct Mark {
  std::string kind;  ///< "tune", "in", "kernel", ...
  std::string text;  ///< what stands in the parentheses
  Location where;    ///< of the text
  Location start;    ///< of the mark
};

/// The marks of a declaration, in order.
std::vector<Mark> marks_of(const Unit& unit, const SourceFile& main, CXCursor declaration);
/// The pieces of a mark that says more than one thing: what stands before the first `, .name`, and each `.name = value` with its place.
std::vector<Mark> items_of(const Mark& mark);
/// `.elements = N` instead of N: the elements of vectors count, not the vectors. Takes the name out of the item.
bool take_elements(Mark& item);
/// "a" of `a, .size = ...`: what stands before the first comma, which goes with it.
std::string take_argument(Mark& mark);
/// "low" of `.low = 0`; what stands behind the equals sign is left in `item`, nothing where there is none.
std::string take_name(Mark& item);
const Mark* find_mark(const std::vector<Mark>& marks, std::string_view kind);

/// The names a mark's text may use, as the kernel it belongs to calls them. An empty name is not in sight.
struct Scope {
  std::vector<std::string> types = {};  ///< its type parameters
  std::string problem = std::string(1, 'p'), config = {};
};

/// Collects texts, parses them together, and reads the results.
class MarkTexts {
 public:
  /// A number over p.*, c.* and sizeof(T).
  std::size_t add_extent(const Mark& mark, const Scope& scope, std::string reading);
  /// A number over p.*, of its own type.
  std::size_t add_number(const Mark& mark, const Scope& scope, std::string reading);
  /// A TensorView over the same.
  std::size_t add_tensor_view(const Mark& mark, const Scope& scope, std::string reading);
  /// The values of a field of Config, constants of its type.
  std::size_t add_values(const Mark& mark, const std::string& field, const std::string& type);
  /// A list of Problems, each a braced list of constants.
  std::size_t add_problems(const Mark& mark, std::string reading);
  /// A constant number.
  std::size_t add_constant(const Mark& mark, std::string reading);

  /// Errors: kBadKernel with clang's diagnostics, at the user's lines and columns.
  Result<void> parse(const SourceFile& user, const std::vector<std::string>& arguments, const std::string& shown_as);

  [[nodiscard]] Expression extent(std::size_t id) const;          ///< throws BadKernel
  [[nodiscard]] Form tensor_view(std::size_t id) const;           ///< throws BadKernel
  [[nodiscard]] std::vector<Value> values(std::size_t id) const;  ///< throws BadKernel
  [[nodiscard]] Value constant(std::size_t id) const;             ///< throws BadKernel
  /// One of a list, and where it stands.
  struct Item {
    Form form;
    Location where;
  };
  [[nodiscard]] std::vector<Item> problems(std::size_t id) const;  ///< throws BadKernel

 private:
  struct Text {
    std::string name, reading;
    std::vector<std::string> types = {};  ///< in sight
    CXCursor declaration{};
  };
  [[nodiscard]] std::string head(std::string_view result, const Scope& scope) const;
  std::size_t add(const Mark& mark, std::string reading, std::string_view before, std::string_view after,
                  const std::vector<std::string>& types = {});
  [[nodiscard]] CXCursor list(std::size_t id) const;

  std::string source_;
  std::vector<Text> texts_;
  std::unique_ptr<Unit> unit_;
};

}  // namespace hone::kernel
