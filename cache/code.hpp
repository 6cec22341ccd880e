#pragma once
// What ties compiled code to the configuration and the source it was made of, and to who made it. docs/trust.md says what for.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hone/error.hpp"

namespace hone::cache {

/// 122 bits of SHA-1 (a name-based UUID) as 32 hex digits: unlike hone::digest, no other bytes can be made to have them.
std::string fingerprint(std::span<const std::byte> bytes);

/// An artifact's bytes of what the store keeps of them, or nothing where they are not those of `digest`.
std::optional<std::vector<std::byte>> unpack_artifact(const std::vector<std::byte>& packed, std::int64_t size, const std::string& digest);

/// All that a piece of code stands for in a row of the store; of compiled code that is nobody's winner `kernel` and `shape` are empty.
struct CodeIdentity {
  std::string kernel, source_hash, dtype, shape, configuration, architecture, compiler;
  std::string symbols;   ///< JSON, as stored
  std::string artifact;  ///< digest
  std::string content;   ///< fingerprint of the artifact's bytes; empty where they were not there
};

/// What a row keeps besides: over all of the identity, so that no column can be changed alone.
std::string code_digest(const CodeIdentity& identity);

/// A user's secret, by which the user's own code is known again. HMAC over SHA-1: what a seal is of cannot be changed without the secret.
class SealKey {
 public:
  /// From the user's data directory; made there where there is none. Errors, kStore: it cannot be made, or others could read it.
  static Result<SealKey> find_or_make();
  /// Errors, kStore: as above; kNotFound: there is none.
  static Result<SealKey> find();

  [[nodiscard]] std::string seal(std::string_view text) const;

 private:
  static constexpr std::size_t kBytes = 32;
  using Bytes = std::array<unsigned char, kBytes>;
  explicit SealKey(const Bytes& bytes) : bytes_(bytes) {}
  Bytes bytes_;
};

}  // namespace hone::cache
