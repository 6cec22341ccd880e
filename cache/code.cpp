#include "cache/code.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "cache/trust.hpp"

namespace hone::cache {
namespace {

namespace fs = std::filesystem;
using boost::uuids::uuid;

constexpr std::size_t kBlock = 64;  // of SHA-1

std::string hex(const uuid& id) {
  std::string digits;
  for (const auto byte : id) {
    digits += fmt::format("{:02x}", static_cast<unsigned>(byte));
  }
  return digits;
}

/// SHA-1 over `block` and `bytes`: the generator hashes the 16 bytes of its namespace, then the name.
uuid hash(const std::array<unsigned char, kBlock>& block, std::span<const std::byte> bytes) {
  uuid name_space{};
  std::copy_n(block.begin(), name_space.size(), name_space.begin());
  std::vector<std::byte> name(kBlock - name_space.size() + bytes.size());
  std::memcpy(name.data(), block.data() + name_space.size(), kBlock - name_space.size());
  std::copy(bytes.begin(), bytes.end(), name.begin() + static_cast<std::ptrdiff_t>(kBlock - name_space.size()));
  return boost::uuids::name_generator_sha1(name_space)(name.data(), name.size());
}

fs::path key_path() { return data_directory() / "seal.key"; }

Error unusable(const fs::path& path, std::string_view why) {
  return {ErrorCode::kStore, fmt::format("{}, the secret that marks compiled code as yours, {}", path.string(), why)};
}

/// Closed at the end.
struct Descriptor {
  int number;
  explicit Descriptor(int opened) : number(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) {
      close(number);
    }
  }
};

/// Under a name of its own first, so that no process ever reads half of a key and two that make one at once agree.
Result<void> make_key(const fs::path& path, std::span<const unsigned char> bytes) {
  std::error_code failure;
  fs::create_directories(path.parent_path(), failure);
  const fs::path draft = fmt::format("{}.{}.{:02x}{:02x}", path.string(), getpid(), bytes[0], bytes[1]);
  const Descriptor file(open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const bool written = file.number >= 0 && write(file.number, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
                       fsync(file.number) == 0 && (link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int why = errno;
  unlink(draft.c_str());
  return written ? Result<void>() : unusable(path, fmt::format("cannot be created: {}", std::strerror(why)));
}

}  // namespace

std::string fingerprint(std::span<const std::byte> bytes) {
  return hex(boost::uuids::name_generator_sha1(uuid{})(bytes.data(), bytes.size()));
}

std::string code_digest(const CodeIdentity& identity) {
  // As a list: no two identities have the same text. Driver's and compiler's texts may not be UTF-8.
  const nlohmann::ordered_json list{identity.kernel,        identity.source_hash,  identity.dtype,    identity.shape,
                                    identity.configuration, identity.architecture, identity.compiler, identity.symbols,
                                    identity.artifact,      identity.content};
  const std::string text = list.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return fingerprint(std::as_bytes(std::span(text)));
}

Result<SealKey> SealKey::find() {
  const fs::path path = key_path();
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.number < 0) {
    return Error{errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kStore,
                 unusable(path, fmt::format("cannot be read: {}", std::strerror(errno))).message};
  }
  struct stat status {};
  Bytes bytes{};
  if (fstat(file.number, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    return unusable(path,
                    "is accessible to other users. Remove it (stores that you tuned before then need hone trust), or chmod 600 it if "
                    "nobody else has read it");
  }
  if (read(file.number, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    return unusable(path, "is truncated. Remove it; stores that you tuned before then need hone trust");
  }
  return SealKey(bytes);
}

Result<SealKey> SealKey::find_or_make() {
  Result<SealKey> found = find();
  if (found || found.error().code != ErrorCode::kNotFound) {
    return found;
  }
  Bytes bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return unusable(key_path(), "cannot be created: the system provides no random numbers");
  }
  HONE_TRY(make_key(key_path(), bytes));
  return find();
}

std::string SealKey::seal(std::string_view text) const {
  std::array<unsigned char, kBlock> inner{}, outer{};
  std::copy(bytes_.begin(), bytes_.end(), inner.begin());
  outer = inner;
  for (std::size_t i = 0; i < kBlock; ++i) {
    inner[i] ^= 0x36;
    outer[i] ^= 0x5c;
  }
  const uuid within = hash(inner, std::as_bytes(std::span(text)));
  return hex(hash(outer, std::as_bytes(std::span(&*within.begin(), within.size()))));
}

}  // namespace hone::cache
