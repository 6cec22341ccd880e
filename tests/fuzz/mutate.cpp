#include "tests/fuzz/mutate.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

namespace hone::fuzz {
namespace {

using nlohmann::json;

constexpr std::uint8_t kBytes[] = {0, 1, 0x7f, 0x80, 0xff, '"', '{', '[', ']', '}', ',', ':', '-', '0', '9', ' ', '\n', '$', '(', ')'};

/// Overwrites a stretch with a number of 1, 2, 4 or 8 bytes.
void overwrite_number(Random& random, std::uint8_t* data, std::size_t size) {
  constexpr std::int64_t kNumbers[] = {0,
                                       1,
                                       -1,
                                       127,
                                       128,
                                       255,
                                       256,
                                       32767,
                                       65535,
                                       65536,
                                       0x7fffffff,
                                       0xffffffff,
                                       std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max()};
  const std::size_t width = std::min<std::size_t>(std::size_t{1} << random.below(4), size);
  std::int64_t number = kNumbers[random.below(std::size(kNumbers))];
  const std::size_t at = random.below(size - width + 1);
  for (std::size_t i = 0; i < width; ++i, number >>= 8) {
    data[at + i] = static_cast<std::uint8_t>(number);
  }
}

std::size_t insert(std::string_view piece, std::size_t at, std::uint8_t* data, std::size_t size, std::size_t max_size) {
  if (size + piece.size() > max_size) {
    return size;
  }
  std::memmove(data + at + piece.size(), data + at, size - at);
  std::memcpy(data + at, piece.data(), piece.size());
  return size + piece.size();
}

std::size_t mutate_once(Random& random, std::span<const std::string_view> words, std::uint8_t* data, std::size_t size,
                        std::size_t max_size) {
  if (size == 0) {
    return insert(words.empty() ? "0" : words[random.below(words.size())], 0, data, size, max_size);
  }
  const std::size_t at = random.below(size);
  switch (random.below(words.empty() ? 7 : 10)) {
    case 0:
      data[at] ^= static_cast<std::uint8_t>(1U << random.below(8));
      return size;
    case 1:
      data[at] = kBytes[random.below(std::size(kBytes))];
      return size;
    case 2:
      overwrite_number(random, data, size);
      return size;
    case 3: {  // a stretch is removed
      const std::size_t length = 1 + random.below(std::min<std::size_t>(size - at, 32));
      std::memmove(data + at, data + at + length, size - at - length);
      return size - length;
    }
    case 4: {  // a stretch is repeated elsewhere
      const std::string piece(reinterpret_cast<const char*>(data) + at, 1 + random.below(std::min<std::size_t>(size - at, 32)));
      return insert(piece, random.below(size + 1), data, size, max_size);
    }
    case 5:
      std::swap(data[at], data[random.below(size)]);
      return size;
    case 6:
      return random.one_in(4) ? at
                              : insert(std::string(1 + random.below(8), static_cast<char>(kBytes[random.below(std::size(kBytes))])), at,
                                       data, size, max_size);
    default: {
      const std::string_view word = words[random.below(words.size())];
      if (random.one_in(2) && at + word.size() <= size) {
        std::memcpy(data + at, word.data(), word.size());
        return size;
      }
      return insert(word, at, data, size, max_size);
    }
  }
}

/// All values within `root`, itself included.
void collect(json& root, std::vector<json*>& all) {
  all.push_back(&root);
  if (root.is_structured()) {
    for (json& child : root) {
      collect(child, all);
    }
  }
}

void mutate_array(Random& random, json& array) {
  const std::size_t at = random.below(array.size());
  switch (random.below(4)) {
    case 0:
      array.erase(array.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    case 1:
      array.push_back(json(array[at]));
      return;
    case 2:
      std::swap(array[at], array[random.below(array.size())]);
      return;
    default: {
      const json copy = array[at];
      for (std::size_t i = random.below(8); i-- > 0;) {
        array.push_back(copy);
      }
    }
  }
}

void mutate_object(Random& random, std::span<const std::string_view> words, json& object) {
  auto at = object.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(random.below(object.size())));
  json value = at.value();
  if (random.one_in(2)) {
    object.erase(at);
  }
  if (random.one_in(2) && !words.empty()) {
    object[std::string(words[random.below(words.size())])] = std::move(value);
  }
}

void mutate_number(Random& random, json& number) {
  if (number.is_number_integer()) {
    const auto value = static_cast<std::uint64_t>(number.get<std::int64_t>());
    number = static_cast<std::int64_t>(random.one_in(2) ? value + 1 - 2 * random.below(2) : value << random.below(63));
  } else {
    number = number.get<double>() * (random.one_in(2) ? -1.0 : 1e300);
  }
}

void mutate_text(Random& random, std::span<const std::string_view> words, json& text) {
  std::string changed = text.get<std::string>();
  std::vector<std::uint8_t> buffer(changed.begin(), changed.end());
  buffer.resize(changed.size() + 64);
  const std::size_t size = mutate_bytes(random, words, buffer.data(), changed.size(), buffer.size());
  text = std::string(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size));
}

void mutate_value(Random& random, std::span<const std::string_view> words, json& chosen) {
  if (chosen.is_array() && !chosen.empty()) {
    mutate_array(random, chosen);
  } else if (chosen.is_object() && !chosen.empty()) {
    mutate_object(random, words, chosen);
  } else if (chosen.is_number()) {
    mutate_number(random, chosen);
  } else if (chosen.is_string()) {
    mutate_text(random, words, chosen);
  } else {
    chosen = awkward_value(random, words);
  }
}

}  // namespace

std::uint64_t Random::operator()() {
  std::uint64_t x = state_ += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::size_t mutate_bytes(Random& random, std::span<const std::string_view> words, std::uint8_t* data, std::size_t size,
                         std::size_t max_size) {
  for (std::size_t changes = 1 + random.below(4); changes-- > 0;) {
    size = mutate_once(random, words, data, size, max_size);
  }
  return size;
}

json awkward_value(Random& random, std::span<const std::string_view> words) {
  switch (random.below(words.empty() ? 11 : 16)) {
    case 0:
      return nullptr;
    case 1:
      return random.one_in(2);
    case 2:
      return std::numeric_limits<std::int64_t>::min();
    case 3:
      return std::numeric_limits<std::int64_t>::max();
    case 4:
      return std::numeric_limits<std::uint64_t>::max();
    case 5:
      return random.one_in(2) ? 1e300 : -1e300;
    case 6:
      return random.one_in(2) ? -0.0 : 5e-324;
    case 7:
      return json::array();
    case 8:
      return json::object();
    case 9:
      return random.one_in(2) ? "" : "\xff\x00";
    case 10:
      return static_cast<std::int64_t>(random.below(7)) - 2;
    default:
      return std::string(words[random.below(words.size())]);
  }
}

void mutate_json(Random& random, std::span<const std::string_view> words, json& json_value) {
  for (std::size_t changes = 1 + random.below(3); changes-- > 0;) {
    std::vector<json*> all;
    collect(json_value, all);
    json& chosen = *all[random.below(all.size())];
    const std::size_t way = random.below(6);
    if (way == 0) {
      chosen = awkward_value(random, words);
    } else if (way == 1) {
      chosen = json(*all[random.below(all.size())]);  // by way of a copy: it may hold `chosen`
    } else if (way == 2 && random.one_in(8)) {
      for (std::size_t depth = random.one_in(8) ? 400 : 1 + random.below(8); depth-- > 0;) {
        chosen = random.one_in(2) ? json::array({std::move(chosen)}) : json{{"a", std::move(chosen)}};
      }
    } else {
      mutate_value(random, words, chosen);
    }
  }
}

void broken(std::string_view invariant, std::string_view detail) {
  std::fprintf(stderr, "broken: %.*s%s%.*s\n", static_cast<int>(invariant.size()), invariant.data(), detail.empty() ? "" : ": ",
               static_cast<int>(detail.size()), detail.data());
  std::abort();
}

std::size_t put(std::string_view text, std::uint8_t* data, std::size_t max_size) {
  if (text.size() > max_size) {
    return 0;
  }
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

std::size_t mutate_json_text(Random& random, std::span<const std::string_view> words, std::uint8_t* data, std::size_t size,
                             std::size_t max_size, std::size_t bytes_one_in) {
  json parsed = random.one_in(bytes_one_in) ? json(json::value_t::discarded) : json::parse(text_of(data, size), nullptr, false);
  if (parsed.is_discarded()) {
    return random.one_in(2) ? LLVMFuzzerMutate(data, size, max_size) : mutate_bytes(random, words, data, size, max_size);
  }
  mutate_json(random, words, parsed);
  const std::size_t made = put(parsed.dump(-1, ' ', false, json::error_handler_t::ignore), data, max_size);
  return made != 0 ? made : LLVMFuzzerMutate(data, size, max_size);
}

}  // namespace hone::fuzz
