#pragma once
// Reads the fields of a message that nobody vouches for.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/worker/wire.hpp"
#include "hone/error.hpp"

namespace hone::wire {

/// The same text with '?' for every byte that is not part of valid UTF-8: reports are JSON, which has no other. Cut after `most` bytes.
std::string readable(std::string_view text, std::size_t most);

/// Typed access to an object's fields. The first field that is missing, of another type or out of its range is remembered; it and all that
/// follow read as zero or empty, so that a reader is written without branches and asks error() once, at its end.
class Fields {
 public:
  explicit Fields(const Message& message);

  [[nodiscard]] bool has(const char* key) const { return message_.is_object() && message_.contains(key); }
  bool boolean(const char* key);
  /// Finite, and at least `least`.
  double number(const char* key, double least = 0.0);
  /// At least zero; infinity is a value.
  double magnitude(const char* key);
  std::int64_t integer(const char* key, std::int64_t least = 0, std::int64_t most = std::numeric_limits<std::int64_t>::max());
  std::uint64_t natural(const char* key);
  /// Readable text of at most kMostText bytes; what is more is cut off.
  std::string text(const char* key);
  std::vector<std::string> texts(const char* key);
  /// The texts of an object, by their names.
  std::map<std::string, std::string> texts_by_name(const char* key);
  std::vector<double> numbers(const char* key);
  /// An array's entries, or none.
  const Message& array(const char* key);
  const Message& object(const char* key);
  const Message::binary_t* binary(const char* key);

  /// Notes that a field holds what it must not.
  void refuse(const char* key, std::string_view what);
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  static constexpr std::size_t kMostText = 1 << 16;

 private:
  const Message* find(const char* key, const char* wanted, bool (*fits)(const Message&));

  const Message& message_;
  std::optional<Error> error_;
};

}  // namespace hone::wire
