#pragma once
// Options of compilers: those in a file's FLAGS("...") and those that come with it.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/reader/clang_unit.hpp"

namespace hone::kernel {

struct Flags {
  std::vector<std::string> include_dirs;
  std::vector<std::string> others;  ///< one option each: "-DNAME=1", "-UNAME", "--use_fast_math"

  /// Those that libclang gets.
  [[nodiscard]] std::vector<std::string> for_reading() const;
};

/// Adds the options in `texts`, each one or several words. Folders are relative to `base`. Error: an option without its value, a word that
/// is none, an option that Hone gives itself.
Result<void> add_flags(const std::vector<std::string>& texts, const std::filesystem::path& base, Flags& flags);

/// The same for each FLAGS("...") of a file; errors are at their lines.
Result<void> add_flags_of_file(const SourceFile& file, Flags& flags);

}  // namespace hone::kernel
