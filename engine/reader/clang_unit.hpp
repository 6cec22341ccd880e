#pragma once
// One parsed file, and the little of clang's AST that the reader looks at.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/reader/libclang.hpp"

namespace hone::kernel {

/// Thrown inside the reader only, where reading a kernel file cannot go on; what() is "file:line:column: error: text".
/// A descent through someone's AST has one way out and many places to leave from: that is what exceptions are for.
class BadKernel : public std::exception {
 public:
  explicit BadKernel(std::string diagnostic) : diagnostic_(std::move(diagnostic)) {}
  [[nodiscard]] const char* what() const noexcept override { return diagnostic_.c_str(); }

 private:
  std::string diagnostic_;
};

struct SourceFile {
  std::string path, text;
};

struct Location {
  std::string file;
  unsigned line = 0, column = 0;
};

std::string diagnostic(const Location& where, std::string_view message, std::string_view severity = "error");

/// The directory that the embedded headers seem to be in.
inline constexpr std::string_view kHeaderRoot = "/hone-headers";

class Unit {
 public:
  /// Parses `main` as C++20 in the reader's dialect, with the arguments -I, -D and -U given. Locations in the file `user_path` are shown as
  /// being in `shown_as`.
  static Result<std::unique_ptr<Unit>> parse(const SourceFile& main, const std::vector<SourceFile>& others,
                                             const std::vector<std::string>& arguments, std::string user_path, std::string shown_as);
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;
  ~Unit();

  /// Clang's errors, each "file:line:column: error: text"; without those about intrinsics the reader does not know. In a file that includes
  /// CUDA's own headers (see cuda_headers) only those in what the reader reads: bodies are for the device compiler to judge.
  [[nodiscard]] std::vector<std::string> errors() const;
  /// Where the user's text has a name that is deprecated, as clang words it: file:line:column: warning: text.
  [[nodiscard]] std::vector<std::string> warnings() const;

  /// Headers of CUDA, CCCL or CUTLASS that the file includes, as it names them. The reader does not open them.
  [[nodiscard]] std::vector<std::string> cuda_headers() const;

  [[nodiscard]] CXCursor root() const { return clang_.getTranslationUnitCursor(unit_); }
  /// The children of root(): what the file and all that it includes declare, and the cursors of includes and macros.
  [[nodiscard]] const std::vector<CXCursor>& top_level() const;
  [[nodiscard]] std::vector<CXCursor> children(CXCursor cursor) const;
  /// Children that are expressions: not the types, attributes and names that stand between them.
  [[nodiscard]] std::vector<CXCursor> expressions(CXCursor cursor) const;
  [[nodiscard]] CXCursorKind kind(CXCursor cursor) const { return clang_.getCursorKind(cursor); }
  [[nodiscard]] std::string spelling(CXCursor cursor) const { return clang_.take(clang_.getCursorSpelling(cursor)); }
  [[nodiscard]] CXCursor referenced(CXCursor cursor) const { return clang_.getCursorReferenced(cursor); }
  [[nodiscard]] CXType type(CXCursor cursor) const { return clang_.getCanonicalType(clang_.getCursorType(cursor)); }
  /// The type's name without const and volatile, as written.
  [[nodiscard]] std::string type_name(CXType type) const;
  /// The struct that a type names, or a null cursor.
  [[nodiscard]] CXCursor record(CXType type) const;
  [[nodiscard]] std::vector<CXCursor> fields(CXCursor record) const;
  /// Whether it is a member declared STATIC.
  [[nodiscard]] bool is_static_field(CXCursor cursor) const;

  /// Where the cursor is for people: #line directives count.
  [[nodiscard]] Location location(CXCursor cursor) const;
  /// Where it is in the text of its file.
  [[nodiscard]] std::string physical_file(CXCursor cursor) const;
  [[nodiscard]] std::size_t offset(CXCursor cursor) const;
  [[nodiscard]] std::size_t end_offset(CXCursor cursor) const;
  /// All that is written in its file.
  [[nodiscard]] std::string_view file_text(CXCursor cursor) const;
  /// The source text of a cursor of the main file; empty if it is elsewhere.
  [[nodiscard]] std::string source(CXCursor cursor) const;
  /// The first tokens of a cursor, at most `most`.
  [[nodiscard]] std::vector<std::string> first_tokens(CXCursor cursor, unsigned most) const;
  /// Whether the cursor is in a file of the user's.
  [[nodiscard]] bool is_users(CXCursor cursor) const;

  [[noreturn]] void fail(CXCursor where, std::string_view message) const;
  [[nodiscard]] const Libclang& clang() const { return clang_; }

 private:
  Unit(const Libclang& clang, SourceFile main, std::string user_path, std::string shown_as);
  [[nodiscard]] Location presumed(CXSourceLocation where) const;
  struct Range {
    std::string file;
    std::size_t begin, end;
  };
  /// Where the declarations stand that the reader reads: all but the bodies of kernels and of functions that they call.
  [[nodiscard]] std::vector<Range> ranges_read() const;
  [[nodiscard]] bool is_in(const std::vector<Range>& ranges, CXSourceLocation where) const;

  const Libclang& clang_;
  SourceFile main_;
  std::string user_path_, shown_as_;
  CXIndex index_ = nullptr;
  CXTranslationUnit unit_ = nullptr;
  mutable std::optional<std::vector<CXCursor>> top_level_;  // thousands: gathered once
};

}  // namespace hone::kernel
