#include "cli/suite/toml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "engine/base/names.hpp"

namespace hone::cli::suite {

Result<std::string> read_text(const std::filesystem::path& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{} is a folder, not a file", path.string())};
  }
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return in.is_open() && !in.bad() ? Result<std::string>(std::move(text))
                                   : Error{ErrorCode::kNotFound, fmt::format("{} cannot be read", path.string())};
}

Result<toml::table> parse_toml(std::string_view text, const std::filesystem::path& path) {
  toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::source_position at = parsed.error().source().begin;
    return Error{ErrorCode::kInvalidArgument, fmt::format("{}:{}:{}: {}", path.string(), at.line, at.column, parsed.error().description())};
  }
  return std::move(parsed).table();
}

Result<TomlTable> TomlTable::of(const toml::table& table, const std::filesystem::path& file,
                                std::initializer_list<std::string_view> known) {
  TomlTable result(table, file);
  for (const auto& [key, value] : table) {
    if (std::ranges::find(known, key.str()) == known.end()) {
      const std::vector<std::string> names(known.begin(), known.end());
      return Error{ErrorCode::kInvalidArgument, fmt::format("{}:{}: {}", file.string(), key.source().begin.line,
                                                            unknown_name("setting", std::string(key.str()), names))};
    }
  }
  return result;
}

Error TomlTable::wrong(const std::string& what, std::string_view name) const {
  const toml::node* const node = table_->get(name);
  const toml::source_position at = (node == nullptr ? *table_ : *node).source().begin;
  return {ErrorCode::kInvalidArgument, fmt::format("{}:{}: {}", file_.string(), at.line, what)};
}

template <class T>
Result<T> TomlTable::value(std::string_view name, const T& otherwise, std::string_view type) const {
  const toml::node* const node = table_->get(name);
  if (node == nullptr) {
    return otherwise;
  }
  const std::optional<T> value = node->value<T>();
  return value ? Result<T>(*value) : wrong(fmt::format("'{}' is not {}", name, type), name);
}

Result<std::string> TomlTable::text(std::string_view name, const std::string& otherwise) const {
  return value<std::string>(name, otherwise, "a text in quotes");
}
Result<double> TomlTable::number(std::string_view name, double otherwise) const { return value<double>(name, otherwise, "a number"); }
Result<bool> TomlTable::boolean(std::string_view name, bool otherwise) const { return value<bool>(name, otherwise, "true or false"); }

Result<std::vector<const toml::table*>> TomlTable::tables(std::string_view name) const {
  std::vector<const toml::table*> found;
  const toml::node* const node = table_->get(name);
  if (node == nullptr) {
    return found;
  }
  const toml::array* const array = node->as_array();
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
    if (const toml::table* const one = array->get(i)->as_table()) {
      found.push_back(one);
    }
  }
  if (array == nullptr || found.size() != array->size()) {
    return wrong(fmt::format("'{}' is not a list of tables, [[{}]]", name, name), name);
  }
  return found;
}

}  // namespace hone::cli::suite
