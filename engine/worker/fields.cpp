#include "engine/worker/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hone::wire {
namespace {

const Message kNoEntries = Message::array();
const Message kNoFields = Message::object();

/// Bytes of the UTF-8 character that begins at `at`, 0 if none does. Overlong forms and surrogates are none.
std::size_t character_bytes(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xc2 && first <= 0xdf) {
    return follows(1) ? 2 : 0;
  }
  if (first >= 0xe0 && first <= 0xef) {
    const bool allowed = !(first == 0xe0 && byte(1) < 0xa0) && !(first == 0xed && byte(1) > 0x9f);
    return allowed && follows(1) && follows(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool allowed = !(first == 0xf0 && byte(1) < 0x90) && !(first == 0xf4 && byte(1) > 0x8f);
    return allowed && follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string readable(std::string_view text, std::size_t most) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_bytes(text, at);
    if (result.size() + std::max<std::size_t>(bytes, 1) > most) {
      break;
    }
    result += bytes == 0 ? std::string_view("?") : text.substr(at, bytes);
    at += std::max<std::size_t>(bytes, 1);
  }
  return result;
}

Fields::Fields(const Message& message) : message_(message) {
  if (!message.is_object()) {
    error_ = Error{ErrorCode::kDevice, fmt::format("a message is an object, not {}", message.type_name())};
  }
}

const Message* Fields::find(const char* key, const char* wanted, bool (*fits)(const Message&)) {
  if (error_) {
    return nullptr;
  }
  const auto found = message_.find(key);
  if (found == message_.end() || !fits(*found)) {
    refuse(key, found == message_.end() ? "is missing" : fmt::format("is {}, not {}", found->type_name(), wanted));
    return nullptr;
  }
  return &*found;
}

void Fields::refuse(const char* key, std::string_view what) {
  if (!error_) {
    error_ = Error{ErrorCode::kDevice, fmt::format("field '{}' {}", key, what)};
  }
}

bool Fields::boolean(const char* key) {
  const Message* found = find(key, "a boolean", [](const Message& m) { return m.is_boolean(); });
  return found != nullptr && found->get<bool>();
}

double Fields::number(const char* key, double least) {
  const Message* found = find(key, "a number", [](const Message& m) { return m.is_number(); });
  const double value = found == nullptr ? 0.0 : found->get<double>();
  if (found != nullptr && !(std::isfinite(value) && value >= least)) {
    refuse(key, fmt::format("is {}", value));
    return 0.0;
  }
  return value;
}

double Fields::magnitude(const char* key) {
  const Message* found = find(key, "a number", [](const Message& m) { return m.is_number(); });
  const double value = found == nullptr ? 0.0 : found->get<double>();
  if (!(value >= 0.0)) {
    refuse(key, fmt::format("is {}", value));
    return 0.0;
  }
  return value;
}

std::int64_t Fields::integer(const char* key, std::int64_t least, std::int64_t most) {
  const Message* found = find(key, "an integer", [](const Message& m) { return m.is_number_integer(); });
  if (found == nullptr) {
    return 0;
  }
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool too_large = found->is_number_unsigned() && found->get<std::uint64_t>() > kLargest;
  const std::int64_t value = too_large ? 0 : found->get<std::int64_t>();
  if (too_large || value < least || value > most) {
    refuse(key, "is out of its range");
    return 0;
  }
  return value;
}

std::uint64_t Fields::natural(const char* key) {
  const Message* found = find(key, "a natural number", [](const Message& m) { return m.is_number_unsigned(); });
  return found == nullptr ? 0 : found->get<std::uint64_t>();
}

std::string Fields::text(const char* key) {
  const Message* found = find(key, "text", [](const Message& m) { return m.is_string(); });
  return found == nullptr ? std::string() : readable(found->get_ref<const std::string&>(), kMostText);
}

const Message& Fields::array(const char* key) {
  const Message* found = find(key, "an array", [](const Message& m) { return m.is_array(); });
  return found == nullptr ? kNoEntries : *found;
}

const Message& Fields::object(const char* key) {
  const Message* found = find(key, "an object", [](const Message& m) { return m.is_object(); });
  return found == nullptr ? kNoFields : *found;
}

const Message::binary_t* Fields::binary(const char* key) {
  const Message* found = find(key, "bytes", [](const Message& m) { return m.is_binary(); });
  return found == nullptr ? nullptr : &found->get_binary();
}

std::map<std::string, std::string> Fields::texts_by_name(const char* key) {
  std::map<std::string, std::string> result;
  for (const auto& [name, entry] : object(key).items()) {
    if (!entry.is_string()) {
      refuse(key, "texts alone");
      return {};
    }
    result.emplace(readable(name, kMostText), readable(entry.get_ref<const std::string&>(), kMostText));
  }
  return result;
}

std::vector<std::string> Fields::texts(const char* key) {
  std::vector<std::string> result;
  for (const Message& entry : array(key)) {
    if (!entry.is_string()) {
      refuse(key, "holds something that is not text");
      return {};
    }
    result.push_back(readable(entry.get_ref<const std::string&>(), kMostText));
  }
  return result;
}

std::vector<double> Fields::numbers(const char* key) {
  std::vector<double> result;
  for (const Message& entry : array(key)) {
    const double value = entry.is_number() ? entry.get<double>() : std::numeric_limits<double>::quiet_NaN();
    if (!(std::isfinite(value) && value >= 0.0)) {
      refuse(key, "holds something that is not a finite number of at least zero");
      return {};
    }
    result.push_back(value);
  }
  return result;
}

}  // namespace hone::wire
