#include "cli/defaults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "cli/known_options.hpp"
#include "cli/suite/toml.hpp"
#include "engine/base/names.hpp"

namespace hone::cli {
namespace {

namespace fs = std::filesystem;

/// Of one verb, or of all (""): option and value, several times for one that is repeatable.
using Loaded = std::map<std::string, std::vector<std::pair<std::string, std::string>>, std::less<>>;

Loaded& loaded_defaults() {
  static Loaded loaded;
  return loaded;
}

Error wrong_at(const fs::path& file, const toml::source_region& at, const std::string& what) {
  return {ErrorCode::kInvalidArgument, fmt::format("{}:{}: {}", file.string(), at.begin.line, what)};
}

/// As a command line would give it. Nothing for tables and dates.
std::optional<std::string> option_text(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) {
    return *text;
  }
  if (const auto integer = node.value_exact<std::int64_t>()) {
    return fmt::format("{}", *integer);
  }
  if (const auto number = node.value_exact<double>()) {
    return fmt::format("{}", *number);
  }
  if (const auto boolean = node.value_exact<bool>()) {
    return *boolean ? "true" : "false";
  }
  return std::nullopt;
}

/// `names`: the options that there are. Those tables that are verbs' are not for this.
Result<void> load_table(const fs::path& file, const toml::table& table, const std::string& verb, const std::set<std::string>& names) {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (verb.empty() && node.is_table()) {
      continue;
    }
    if (!names.contains(name)) {
      return wrong_at(file, key.source(), unknown_name("option", name, std::vector<std::string>(names.begin(), names.end())));
    }
    std::vector<const toml::node*> values{&node};
    if (const toml::array* const several = node.as_array()) {
      values.clear();
      for (const toml::node& one : *several) {
        values.push_back(&one);
      }
    }
    for (const toml::node* const value : values) {
      const std::optional<std::string> text = option_text(*value);
      if (!text) {
        return wrong_at(file, value->source(), fmt::format("'{}' is a text in quotes, a number, true, false, or a list of them", name));
      }
      loaded_defaults()[verb].emplace_back(name, *text);
    }
  }
  return {};
}

/// What a file may give: whether to print help or JSON is for whoever calls.
std::set<std::string> names_of(const Verb& verb) {
  std::set<std::string> names;
  for (const KnownOption& option : options_of(verb)) {
    if (option.name != "help" && option.name != "json" && option.name != "kernel") {
      names.insert(option.name);
    }
  }
  return names;
}

Result<void> load_all(const fs::path& file, const toml::table& table) {
  std::vector<std::string> verb_names;
  std::set<std::string> all;
  for (const Verb& verb : verbs()) {
    verb_names.emplace_back(verb.name);
    all.merge(names_of(verb));
  }
  HONE_TRY(load_table(file, table, "", all));
  for (const auto& [key, node] : table) {
    if (!node.is_table()) {
      continue;
    }
    const auto verb = std::ranges::find(verbs(), key.str(), &Verb::name);
    if (verb == verbs().end()) {
      return wrong_at(file, key.source(), unknown_name("verb", std::string(key.str()), verb_names));
    }
    HONE_TRY(load_table(file, *node.as_table(), std::string(verb->name), names_of(*verb)));
  }
  return {};
}

/// Whether something that was given excludes or replaces the option.
bool is_overridden(const std::string& name, const cxxopts::ParseResult& arguments) {
  const char* const store = std::getenv("HONE_STORE");
  return arguments.count(name) > 0 || (name == "store" && store != nullptr && *store != '\0') ||
         (name == "device" && arguments.count("arch") > 0);
}

}  // namespace

fs::path defaults_file() {
  if (const char* const named = std::getenv("HONE_CONFIG")) {
    return named;
  }
  const char* const folder = std::getenv("XDG_CONFIG_HOME");
  const char* const home = std::getenv("HOME");
  if ((folder == nullptr || *folder == '\0') && home == nullptr) {
    return {};
  }
  const fs::path file = (folder != nullptr && *folder != '\0' ? fs::path(folder) : fs::path(home) / ".config") / "hone" / "config.toml";
  std::error_code failed;
  return fs::exists(file, failed) ? file : fs::path();
}

Result<void> load_defaults() {
  const fs::path file = defaults_file();
  if (file.empty()) {
    return {};
  }
  HONE_ASSIGN(const std::string text, suite::read_text(file));
  HONE_ASSIGN(const toml::table table, suite::parse_toml(text, file));
  return table.empty() ? Result<void>() : load_all(file, table);
}

std::vector<std::string> default_words(std::string_view verb, const cxxopts::ParseResult& arguments) {
  const Loaded& loaded = loaded_defaults();
  const auto own = loaded.find(verb);
  std::vector<std::string> words;
  for (const auto& [owner, options] : loaded) {
    if (!owner.empty() && owner != verb) {
      continue;
    }
    for (const auto& [name, value] : options) {
      const auto is_same = [&](const auto& other) { return other.first == name; };
      const bool replaced = owner.empty() && own != loaded.end() && std::ranges::any_of(own->second, is_same);
      if (!replaced && !is_overridden(name, arguments)) {
        words.push_back(fmt::format("--{}={}", name, value));
      }
    }
  }
  return words;
}

}  // namespace hone::cli
