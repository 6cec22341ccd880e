#include "engine/measure/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>

namespace hone::measure {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostAxes = 32;
constexpr std::int64_t kMostElements = std::int64_t{1} << 48;

/// The header: a Python dictionary of three entries, as numpy writes it.
class Header {
 public:
  explicit Header(std::string_view text) : rest_(text) {}

  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;

  [[nodiscard]] bool read() {
    if (!take('{')) {
      return false;
    }
    int entries = 0;
    while (!take('}')) {
      const auto key = string();
      if (!key || !take(':') || !entry(*key)) {
        return false;
      }
      ++entries;
      if (!take(',')) {
        return take('}') && entries == 3 && rest_.find_first_not_of(" \n") == std::string_view::npos;
      }
    }
    return entries == 3 && rest_.find_first_not_of(" \n") == std::string_view::npos;
  }

 private:
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size())); }
  bool take(char c) {
    skip();
    const bool here = rest_.starts_with(c);
    rest_.remove_prefix(here ? 1 : 0);
    return here;
  }
  bool take_word(std::string_view word) {
    skip();
    const bool here = rest_.starts_with(word);
    rest_.remove_prefix(here ? word.size() : 0);
    return here;
  }
  std::optional<std::string> string() {
    skip();
    if (!rest_.starts_with('\'') && !rest_.starts_with('"')) {
      return std::nullopt;
    }
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool entry(const std::string& key) {
    if (key == "descr") {
      auto text = string();
      descr = text.value_or("");
      return text.has_value();
    }
    if (key == "fortran_order") {
      fortran_order = take_word("True");
      return fortran_order || take_word("False");
    }
    return key == "shape" && axes();
  }
  bool axes() {
    if (!take('(')) {
      return false;
    }
    while (!take(')')) {
      skip();
      std::int64_t extent = -1;
      const auto [end, failed] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (failed != std::errc() || extent < 0 || shape.size() == kMostAxes) {
        return false;
      }
      shape.push_back(extent);
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      if (!take(',')) {
        return take(')');
      }
    }
    return true;
  }

  std::string_view rest_;
};

Error refused(const std::string& name, const std::string& why) {
  return Error{ErrorCode::kInvalidArgument, fmt::format("{}: {}", name, why)};
}

/// "<f4": byte order, kind, bytes.
Result<void> read_type(const std::string& descr, const std::string& name, NpyArray& array) {
  const std::size_t at = !descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos ? 1 : 0;
  const char order = at == 1 ? descr[0] : '|';
  const bool kind_known = descr.size() > at && std::string_view("fiubV").find(descr[at]) != std::string_view::npos;
  std::size_t width = 0;
  const char* const end = descr.data() + descr.size();
  if (!kind_known || std::from_chars(descr.data() + at + 1, end, width).ptr != end || width < 1 || width > 8 ||
      (width & (width - 1)) != 0) {
    return refused(name, fmt::format("its elements are of type '{}'; Hone reads floats, integers and bools of 1 to 8 bytes", descr));
  }
  if (order == '>' && width > 1) {
    return refused(name, fmt::format("its elements are big-endian ('{}'); save a.astype('<{}')", descr, descr.substr(1)));
  }
  array.kind = descr[at];
  array.width = width;
  return {};
}

}  // namespace

Result<NpyArray> parse_npy(std::string_view text, const std::string& name) {
  constexpr std::size_t kVersion = kMagic.size(), kLength = kVersion + 2;
  if (!text.starts_with(kMagic) || text.size() < kLength + 2) {
    return refused(name, "it is not a .npy file: save the array with numpy.save");
  }
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(text[at])); };
  const std::size_t version = byte(kVersion), width = version == 1 ? 2 : 4;
  if (version < 1 || version > 3 || text.size() < kLength + width) {
    return refused(name, fmt::format("it is of version {} of the .npy format; 1 to 3 are known", version));
  }
  std::size_t length = 0;
  for (std::size_t i = width; i-- > 0;) {
    length = length << 8U | byte(kLength + i);
  }
  const std::size_t begin = kLength + width;
  if (length > text.size() - begin) {
    return refused(name, "it ends within its header");
  }
  Header header(text.substr(begin, length));
  if (!header.read()) {
    return refused(name, "its header cannot be read: an array of plain numbers has 'descr', 'fortran_order' and 'shape'");
  }
  NpyArray array;
  HONE_TRY(read_type(header.descr, name, array));
  if (header.fortran_order && header.shape.size() > 1) {
    return refused(name, "it is stored column by column; save numpy.ascontiguousarray(a)");
  }
  std::int64_t elements = 1;
  for (const std::int64_t extent : header.shape) {
    if (__builtin_mul_overflow(elements, extent, &elements) || elements > kMostElements) {
      return refused(name, "its shape is too large");
    }
  }
  const std::string_view data = text.substr(begin + length);
  if (data.size() != static_cast<std::size_t>(elements) * array.width) {
    return refused(name, fmt::format("it holds {} bytes of elements; its shape and type make {}", data.size(),
                                     static_cast<std::size_t>(elements) * array.width));
  }
  array.shape = std::move(header.shape);
  const auto bytes = std::as_bytes(std::span(data));
  array.bytes.assign(bytes.begin(), bytes.end());
  return array;
}

Result<NpyArray> read_npy(const std::filesystem::path& file) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file, failed)) {
    return Error{ErrorCode::kNotFound, fmt::format("{}: no such file", file.string())};
  }
  std::ifstream stream(file, std::ios::binary);
  std::string text(static_cast<std::size_t>(std::filesystem::file_size(file, failed)), '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!stream || stream.gcount() != static_cast<std::streamsize>(text.size())) {
    return Error{ErrorCode::kIo, fmt::format("{} cannot be read", file.string())};
  }
  return parse_npy(text, file.string());
}

}  // namespace hone::measure
