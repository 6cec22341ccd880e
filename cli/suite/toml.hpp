#pragma once
// toml++ without exceptions, and tables of which every name must be known.

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

#include "hone/error.hpp"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// Some text that is no TOML fails one of its assertions, and ends the process, where its parser has an error to report.
#define TOML_ASSERT(expr) static_assert(true)
#include <toml++/toml.h>

namespace hone::cli::suite {

/// Errors: kNotFound, there is no such file; kInvalidArgument, it is a folder.
Result<std::string> read_text(const std::filesystem::path& path);
/// `path` is for messages. Errors: it is no TOML (file, line, column).
Result<toml::table> parse_toml(std::string_view text, const std::filesystem::path& path);

/// One table of a file: reads its values and remembers whose they are.
class TomlTable {
 public:
  /// Errors: a name that is none of `known`.
  static Result<TomlTable> of(const toml::table& table, const std::filesystem::path& file, std::initializer_list<std::string_view> known);

  /// `otherwise` where the name is not there. Errors: a value of another type.
  [[nodiscard]] Result<std::string> text(std::string_view name, const std::string& otherwise = "") const;
  [[nodiscard]] Result<double> number(std::string_view name, double otherwise) const;
  [[nodiscard]] Result<bool> boolean(std::string_view name, bool otherwise) const;
  /// The tables of an array; none where the name is not there. Errors: something else than tables.
  [[nodiscard]] Result<std::vector<const toml::table*>> tables(std::string_view name) const;
  /// "suite.toml:12: " before `what`: the line of the value of this name, or of the table where there is none.
  [[nodiscard]] Error wrong(const std::string& what, std::string_view name = "") const;

 private:
  TomlTable(const toml::table& table, const std::filesystem::path& file) : table_(&table), file_(file) {}
  template <class T>
  [[nodiscard]] Result<T> value(std::string_view name, const T& otherwise, std::string_view type) const;
  const toml::table* table_;
  std::filesystem::path file_;
};

}  // namespace hone::cli::suite
