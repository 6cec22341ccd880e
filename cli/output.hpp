#pragma once
// What leaves the command: standard output, JSON, files. Lost output is a failure, never silence.

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "hone/error.hpp"

namespace hone::cli {

/// Writes to standard output, all of it and as far as the system takes it. Errors: kIo, e.g. a full device.
Result<void> print_out(std::string_view text);

/// JSON text; bytes that are not UTF-8 (a path, a comment in Latin-1, what a plugin says) become U+FFFD.
template <class Json>
std::string dump(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// Errors, kInvalidArgument: no name, or what is there is a store (an SQLite database) or a part of one, which nothing else is written
/// over.
Result<void> check_target(const std::filesystem::path& path);
/// Whether write_file will be able to, as far as can be told before there is anything to write. Errors: as check_target, and kIo: there is
/// no such folder, or nothing can be written there.
Result<void> check_writable(const std::filesystem::path& path);
/// Writes a file whole or not at all: under another name first, beside it. What is no regular file (/dev/stdout) is written as it is.
/// Errors: as check_target, and kIo, which leave the file as it was.
Result<void> write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
Result<void> write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace hone::cli
