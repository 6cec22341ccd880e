#pragma once
// From clang's AST to the engine's expressions: calls are inlined, chains of `if (...) return` become ?:, structs are taken apart.

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/kernel/expression.hpp"
#include "engine/reader/clang_unit.hpp"

namespace hone::kernel {

/// What an expression of the source stands for: a number, or a struct of such.
struct Form {
  Expression scalar;
  bool is_record = false;
  std::vector<std::pair<std::string, Form>> fields;

  Form() = default;
  Form(Expression e) : scalar(std::move(e)) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] const Form* field(std::string_view name) const;
};

class AstReader {
 public:
  /// `reading` names what is being read, in messages: "'valid'", "the extent of 'x'". `types`: the kernel's type parameters.
  AstReader(const Unit& unit, std::string reading, std::vector<std::string> types = {})
      : unit_(unit), reading_(std::move(reading)), types_(std::move(types)) {}

  /// The value a function returns, over p.*, c.*, d.* and sizeof(T). Throws BadKernel.
  Form function(CXCursor function);
  /// A number that needs no variable: an initializer, a value of a list. Throws BadKernel.
  Value constant(CXCursor expression);
  /// A braced list of such, of a struct's type. Throws BadKernel.
  Form record(CXCursor expression);
  /// A number outside of functions, over p.* of STATIC fields. Throws BadKernel.
  Expression number(CXCursor expression);

  /// Where a piece of the last function stands in the source.
  struct Note {
    int line = 0;
    std::string text;
    std::string comment;  ///< beside it
  };
  [[nodiscard]] Note note(const Expression& piece) const;

 private:
  /// What names stand for inside one function.
  struct Frame {
    std::vector<std::pair<CXCursor, Form>> names;        ///< parameters, local constants, non-type template parameters
    std::vector<std::pair<CXCursor, Expression>> sizes;  ///< type template parameters: their sizeof
    std::optional<Form> object;                          ///< *this
    CXCursor function{};
    CXType result{};  ///< of the function
    bool outermost = false;
    bool is_list = false;  ///< of conditions, one after the other: the outermost function, and those of several statements that it calls
  };
  using Statements = std::vector<CXCursor>;
  using Rest = std::function<Form()>;  ///< the value of what follows a list of statements that does not return

  // ast_statement.cpp: functions, statements, calls
  Form body(CXCursor function, Frame& frame);
  [[nodiscard]] bool has_several_statements(CXCursor function) const;
  Form statements(const Statements& all, Frame& frame, const Rest& rest);
  Form branch(CXCursor statement, Frame& frame, const Rest& rest);
  void declare(CXCursor statement, Frame& frame);
  Form call(CXCursor call, Frame& frame);
  Form inlined(CXCursor call, CXCursor function, const Statements& arguments, Frame inner, Frame& outer);
  std::optional<Form> conversion_call(CXCursor call, const Statements& parts, Frame& frame);
  CXCursor callee(CXCursor call, CXCursor name, std::size_t arguments) const;
  void bind_template(CXCursor call, CXCursor name, CXCursor function, const Frame& outer, Frame& inner);
  Form entry_argument(CXCursor parameter) const;
  [[nodiscard]] Expression entry_size(CXCursor type, const Frame& frame) const;
  [[nodiscard]] CXCursor definition(CXCursor function) const;
  [[nodiscard]] Statements parameters(CXCursor function) const;

  // ast_expression.cpp: expressions
  Form read(CXCursor e, Frame& frame, CXType wanted);
  Form read_plain(CXCursor e, Frame& frame, CXType wanted);
  Expression scalar(CXCursor e, Frame& frame);
  Form one_child(CXCursor e, Frame& frame, CXType wanted);
  Form unary(CXCursor e, Frame& frame);
  Form binary(CXCursor e, Frame& frame);
  Form choice(CXCursor e, Frame& frame, CXType wanted);
  Form cast(CXCursor e, Frame& frame);
  Form size_of(CXCursor e, Frame& frame);
  Form literal(CXCursor e) const;
  Form select(const Expression& condition, const Form& first, const Form& second) const;
  [[nodiscard]] static Expression converted(Expression e, CXTypeKind from, CXTypeKind to);
  [[nodiscard]] std::optional<Value> evaluated(CXCursor e) const;
  /// One more level of what the reader recurses over, and one more step. Throws BadKernel where there are too many: the stack is limited,
  /// and a function that calls another twice, which calls a third twice, is read in 2^n steps.
  class Level {
   public:
    Level(AstReader& of, CXCursor where);
    ~Level() { --of_.levels_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    AstReader& of_;
  };
  [[noreturn]] void cannot(CXCursor where, std::string_view what) const;

  // ast_names.cpp: names, members, braced lists
  Form named(CXCursor e, Frame& frame);
  Form member(CXCursor e, Frame& frame);
  Form list(CXCursor e, Frame& frame, CXType wanted);
  Form defaults(CXType type, CXCursor where);
  Form default_of(CXCursor field);

  // ast_notes.cpp: where pieces stand in the source
  [[nodiscard]] int line_of(const Expression& piece) const;
  void remember(CXCursor e, const Form& form, const Frame& frame);
  void remember_condition(CXCursor statement, CXCursor written, const Expression& condition, const Frame& frame);

  const Unit& unit_;
  std::string reading_;
  std::vector<std::string> types_;
  int depth_ = 0;               ///< of calls
  int levels_ = 0, steps_ = 0;  ///< see Level
  struct Remembered {
    Expression piece;
    Note note;
  };
  std::vector<Remembered> remembered_;
  std::unordered_map<std::string, Note> conditions_;  ///< what a list of conditions asks for in each of its statements, by text
};

}  // namespace hone::kernel
