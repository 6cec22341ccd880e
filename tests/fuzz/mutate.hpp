#pragma once
// What both engines (libFuzzer and fuzz_driver.cpp) change inputs with.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

/// libFuzzer's own entry points; fuzz_driver.cpp provides LLVMFuzzerMutate where libFuzzer does not.
extern "C" {  // NOLINTBEGIN(readability-identifier-naming)
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed);
}  // NOLINTEND(readability-identifier-naming)

namespace hone::fuzz {

/// splitmix64: a run is the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()();
  /// Below `end`, which is at least 1.
  std::size_t below(std::size_t end) { return static_cast<std::size_t>((*this)() % end); }
  bool one_in(std::size_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

/// Overwrites, inserts, removes, repeats and swaps bytes and numbers; `words` are pieces that the format knows.
std::size_t mutate_bytes(Random& random, std::span<const std::string_view> words, std::uint8_t* data, std::size_t size,
                         std::size_t max_size);

/// Changes a place or two of a JSON value: another type, an extreme number, a piece removed, repeated, moved or nested. `words` are texts
/// and keys.
void mutate_json(Random& random, std::span<const std::string_view> words, nlohmann::json& json);

/// The same for JSON as text. One input in `bytes_one_in`, and what is no JSON, is changed byte by byte.
std::size_t mutate_json_text(Random& random, std::span<const std::string_view> words, std::uint8_t* data, std::size_t size,
                             std::size_t max_size, std::size_t bytes_one_in);

/// Numbers and texts that tend to break a reader.
nlohmann::json awkward_value(Random& random, std::span<const std::string_view> words);

/// Ends the process with a message, as an assertion that NDEBUG does not remove: the invariant that an input has broken.
[[noreturn]] void broken(std::string_view invariant, std::string_view detail);
inline void require(bool holds, std::string_view invariant, std::string_view detail = {}) {
  if (!holds) {
    broken(invariant, detail);
  }
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) { return {reinterpret_cast<const char*>(data), size}; }

/// Puts `text` into the fuzzer's buffer; 0 if it does not fit.
std::size_t put(std::string_view text, std::uint8_t* data, std::size_t max_size);

}  // namespace hone::fuzz
