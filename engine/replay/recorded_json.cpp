#include "engine/replay/recorded_json.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <type_traits>
#include <vector>

#include "engine/base/json_depth.hpp"

namespace hone::recorded {
namespace {

/// A record lies in the file's object and in its list of records.
constexpr std::size_t kDepthOfRecords = 2;

struct CloseGz {
  void operator()(gzFile file) const { gzclose(file); }
};

/// The text up to the last value that was closed inside the list of records, with the lists around it closed.
std::string without_cut_record(const std::string& text) {
  std::string open, closers;
  std::size_t complete = 0;
  each_json_bracket(text, [&](std::size_t i, char c) {
    if (c == '{' || c == '[') {
      open.push_back(c == '{' ? '}' : ']');
    } else if (!open.empty()) {
      open.pop_back();
      if (open.size() == kDepthOfRecords) {
        complete = i + 1;
        closers = open;
      }
    }
  });
  std::ranges::reverse(closers);
  return text.substr(0, complete) + closers;
}

}  // namespace

Result<std::string> read_text(const std::filesystem::path& file) {
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::status(file, failed);
  if (!std::filesystem::exists(status)) {
    return Error{ErrorCode::kNotFound, fmt::format("recorded space '{}': no such file", file.string())};
  }
  if (!std::filesystem::is_regular_file(status)) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("recorded space '{}': it is {}, not a file", file.string(),
                                                          std::filesystem::is_directory(status) ? "a directory" : "a device or a pipe")};
  }
  const std::unique_ptr<std::remove_pointer_t<gzFile>, CloseGz> stream(gzopen(file.c_str(), "rb"));  // reads plain files as they are
  if (!stream) {
    return Error{ErrorCode::kIo, fmt::format("recorded space '{}': cannot be opened: {}", file.string(), std::strerror(errno))};
  }
  std::string text;
  std::vector<char> block(std::size_t{1} << 20);
  for (;;) {
    const int read = gzread(stream.get(), block.data(), static_cast<unsigned>(block.size()));
    if (read < 0) {
      int code = 0;
      const std::string reason = gzerror(stream.get(), &code);
      return Error{ErrorCode::kIo, fmt::format("recorded space '{}': cannot be read: {}", file.string(), reason)};
    }
    if (read == 0) {
      return text;
    }
    text.append(block.data(), static_cast<std::size_t>(read));
  }
}

Result<Json> parse_recorded(const std::string& text, const std::filesystem::path& file) {
  if (json_depth(text) > kDeepestJson) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("recorded space '{}': nested more deeply than {} levels", file.string(), kDeepestJson)};
  }
  Json parsed = Json::parse(text, nullptr, false);
  if (parsed.is_discarded()) {
    parsed = Json::parse(without_cut_record(text), nullptr, false);
  }
  if (!parsed.is_object()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("recorded space '{}': not a JSON object", file.string())};
  }
  return parsed;
}

}  // namespace hone::recorded
