#pragma once
// What a user keeps about stores, outside of them.

#include <filesystem>

namespace hone::cache {

/// $XDG_DATA_HOME/hone, else ~/.local/share/hone.
std::filesystem::path data_directory();

/// Whether the user said so (trust_store), or the store is the one in the user's own data directory. `path` is absolute and resolved.
bool is_trusted(const std::filesystem::path& path);

}  // namespace hone::cache
