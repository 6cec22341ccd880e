#pragma once
// NumPy's .npy files, as numpy.lib.format describes them (versions 1 to 3): one array of numbers, little-endian, row by row.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "hone/error.hpp"

namespace hone::measure {

struct NpyArray {
  char kind = 'f';        ///< f: float, i and u: integer, b: bool, V: bytes without a meaning
  std::size_t width = 0;  ///< bytes of an element
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  [[nodiscard]] std::size_t count() const { return width == 0 ? 0 : bytes.size() / width; }
};

/// `name` is for messages. Errors: kInvalidArgument, with what is wrong and how to save the array otherwise.
Result<NpyArray> parse_npy(std::string_view text, const std::string& name);
/// Errors: as parse_npy; kNotFound, no such file; kIo.
Result<NpyArray> read_npy(const std::filesystem::path& file);

}  // namespace hone::measure
