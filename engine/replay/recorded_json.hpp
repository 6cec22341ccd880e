#pragma once
// Large JSON files, compressed or not, possibly cut off.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "hone/error.hpp"

namespace hone::recorded {

/// Objects keep the order of the file: it is the order of the parameters.
using Json = nlohmann::ordered_json;

/// The file's text, decompressed.
Result<std::string> read_text(const std::filesystem::path& file);

/// Parses; text that ends early is read up to its last complete record.
Result<Json> parse_recorded(const std::string& text, const std::filesystem::path& file);

}  // namespace hone::recorded
