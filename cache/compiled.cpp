// Compiled code: found again by what it was compiled from. Losing an entry costs a compilation, so damage counts as absence.

#include <fmt/format.h>
#include <zlib.h>

#include "cache/rows.hpp"
#include "cache/sql_store.hpp"
#include "engine/base/digest.hpp"

namespace hone::cache {
namespace {

constexpr std::size_t kZlibMaximumRatio = 1032;  // of deflate: a larger size is damage, not data

Result<std::vector<std::byte>> deflate(const std::vector<std::byte>& bytes) {
  uLongf size = compressBound(bytes.size());
  std::vector<std::byte> packed(size);
  // Level 1: a cubin shrinks almost as far as at level 6, in a third of the time.
  const int code = compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), 1);
  if (code != Z_OK) {
    return Error{ErrorCode::kStore, fmt::format("cannot compress {} bytes of compiled code (zlib {})", bytes.size(), code)};
  }
  packed.resize(size);
  return packed;
}

CodeIdentity identity_of(const CompiledKey& key) {
  CodeIdentity code;
  code.source_hash = key.source_hash;
  code.dtype = name(key.dtype);
  code.configuration = key.configuration;
  code.architecture = key.architecture;
  code.compiler = key.compiler;
  return code;
}

}  // namespace

std::optional<std::vector<std::byte>> unpack_artifact(const std::vector<std::byte>& packed, std::int64_t size, const std::string& wanted) {
  if (size < 0 || static_cast<std::size_t>(size) > packed.size() * kZlibMaximumRatio) {
    return std::nullopt;
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  uLongf written = bytes.size();
  Bytef nothing = 0;  // zlib wants an address also for no bytes
  auto* target = bytes.empty() ? &nothing : reinterpret_cast<Bytef*>(bytes.data());
  const int code = uncompress(target, &written, reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  if (code != Z_OK || written != bytes.size() || digest(bytes) != wanted) {
    return std::nullopt;
  }
  return bytes;
}

Result<void> SqlStore::put_compiled(const CompiledKey& key, const Compiled& compiled) {
  constexpr std::string_view kDoing = "keep compiled code";
  if (compiled.artifact == nullptr) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("compiled code of {} has no artifact", key.configuration)};
  }
  HONE_ASSIGN(const std::vector<std::byte> packed, deflate(compiled.artifact->bytes));
  CodeIdentity code = identity_of(key);
  code.symbols = json_text(compiled.symbols);
  code.artifact = compiled.artifact->digest;
  code.content = fingerprint(compiled.artifact->bytes);
  const std::lock_guard lock(mutex_);
  return written([&]() -> Result<void> {
    HONE_ASSIGN(Transaction transaction, begin_write(kDoing, Writers::kMany));
    // Many configurations share one artifact; bytes that differ from these under the same digest are damaged.
    HONE_ASSIGN(Statement artifact,
                database().prepare("INSERT INTO artifact (digest, size, bytes) VALUES (?1, ?2, ?3) ON CONFLICT (digest) DO UPDATE "
                                   "SET size = ?2, bytes = ?3 WHERE artifact.size <> ?2 OR artifact.bytes <> ?3"));
    artifact.text(compiled.artifact->digest).integer(static_cast<std::int64_t>(compiled.artifact->bytes.size())).blob(packed);
    HONE_TRY(artifact.run(kDoing));
    HONE_ASSIGN(Statement insert,
                database().prepare("INSERT INTO compiled (source_hash, dtype, architecture, compiler, configuration, "
                                   "artifact, symbols, registers, spill_bytes, stack_bytes, shared_bytes, occupancy, created_at, "
                                   "content, code_digest, seal) "
                                   "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
                                   "ON CONFLICT (source_hash, dtype, architecture, compiler, configuration) DO UPDATE SET "
                                   "artifact = excluded.artifact, symbols = excluded.symbols, registers = excluded.registers, "
                                   "spill_bytes = excluded.spill_bytes, stack_bytes = excluded.stack_bytes, "
                                   "shared_bytes = excluded.shared_bytes, occupancy = excluded.occupancy, "
                                   "created_at = excluded.created_at, content = excluded.content, code_digest = excluded.code_digest, "
                                   "seal = excluded.seal"));
    insert.text(key.source_hash).text(code.dtype).text(key.architecture).text(key.compiler).text(key.configuration);
    insert.text(code.artifact).text(code.symbols);
    bind_resources(insert, compiled.resources);
    insert.text(utc_now());
    bind_seal(insert, code);
    HONE_TRY(insert.run(kDoing));
    return transaction.commit(kDoing);
  });
}

Result<std::optional<Compiled>> SqlStore::find_compiled(const CompiledKey& key) {
  const std::lock_guard lock(mutex_);
  HONE_TRY(prepare_read());
  HONE_ASSIGN(
      Statement select,
      database().prepare("SELECT artifact, symbols, registers, spill_bytes, stack_bytes, shared_bytes, occupancy, compiler, content, "
                         "code_digest, seal FROM "
                         "compiled WHERE source_hash = ? AND dtype = ? AND architecture = ? AND configuration = ? AND "
                         "(compiler = ?5 OR ?5 = '') ORDER BY created_at DESC"));
  select.text(key.source_hash).text(name(key.dtype)).text(key.architecture).text(key.configuration).text(key.compiler);
  for (;;) {
    HONE_ASSIGN(const bool row, select.step("look up compiled code"));
    if (!row) {
      return std::optional<Compiled>();
    }
    HONE_ASSIGN(std::optional<Compiled> compiled, read_compiled(select, key));
    if (compiled) {
      return compiled;
    }
  }
}

Result<std::optional<Compiled>> SqlStore::read_compiled(Statement& row, const CompiledKey& key) {
  Compiled compiled;
  Sealed code{.identity = identity_of(key), .digest = {}, .seal = {}};
  code.identity.artifact = row.read_text();
  code.identity.symbols = row.read_text();
  compiled.symbols = read_json_list(code.identity.symbols);
  compiled.resources = read_resources(row);
  code.identity.compiler = row.read_text();
  code.identity.content = row.read_text();
  code.digest = row.read_text();
  code.seal = row.read_text();
  HONE_ASSIGN(const CodeState state, state_of(code));
  if (state != CodeState::kTrusted) {
    return std::optional<Compiled>();
  }
  HONE_ASSIGN(compiled.artifact, read_artifact(code.identity.artifact));
  const bool sound =
      compiled.artifact != nullptr && (code.identity.content.empty() || fingerprint(compiled.artifact->bytes) == code.identity.content);
  return sound ? std::optional(std::move(compiled)) : std::optional<Compiled>();
}

const SealKey* SqlStore::seal_key(bool make) {
  if (!key_ && (make || no_key_.empty())) {
    Result<SealKey> found = make ? SealKey::find_or_make() : SealKey::find();
    no_key_ = found || found.error().code == ErrorCode::kNotFound ? "" : found.error().message;
    if (found) {
      key_ = *found;
    }
  }
  return key_ ? &*key_ : nullptr;
}

void SqlStore::bind_seal(Statement& statement, const CodeIdentity& identity) {
  const std::string digest = code_digest(identity);
  // Without a key the code is kept and works in this process's session; whoever launches it later has to trust the store.
  const SealKey* const key = seal_key(true);
  statement.text(identity.content).text(digest).text(key == nullptr ? "" : key->seal(digest));
}

Result<CodeState> SqlStore::state_of(const Sealed& code) {
  if (code.identity.artifact.empty()) {
    return CodeState::kNone;
  }
  if (code.digest.empty()) {
    if (!trusted_) {
      return CodeState::kForeign;
    }
    HONE_ASSIGN(const bool known, was_compiled(code.identity));
    return known ? CodeState::kTrusted : CodeState::kBroken;
  }
  if (code.digest != code_digest(code.identity)) {
    return CodeState::kBroken;
  }
  if (trusted_) {
    return CodeState::kTrusted;
  }
  const SealKey* const key = seal_key(false);
  return key != nullptr && code.seal == key->seal(code.digest) ? CodeState::kTrusted : CodeState::kForeign;
}

Result<bool> SqlStore::was_compiled(const CodeIdentity& identity) {
  HONE_ASSIGN(
      Statement select,
      database().prepare("SELECT count(*) FROM compiled WHERE source_hash = ? AND dtype = ? AND architecture = ? AND compiler = ? AND "
                         "configuration = ? AND artifact = ? AND symbols = ?"));
  select.text(identity.source_hash).text(identity.dtype).text(identity.architecture).text(identity.compiler);
  select.text(identity.configuration).text(identity.artifact).text(identity.symbols);
  HONE_ASSIGN(const bool row, select.step("look up compiled code"));
  return row && select.read_integer() > 0;
}

Result<std::shared_ptr<const Artifact>> SqlStore::read_artifact(const std::string& wanted) {
  HONE_ASSIGN(Statement select, database().prepare("SELECT size, bytes FROM artifact WHERE digest = ?"));
  select.text(wanted);
  HONE_ASSIGN(const bool row, select.step("read compiled code"));
  if (!row) {
    return std::shared_ptr<const Artifact>();
  }
  const std::int64_t size = select.read_integer();
  std::optional<std::vector<std::byte>> bytes = unpack_artifact(select.read_blob(), size, wanted);
  if (!bytes) {
    return std::shared_ptr<const Artifact>();
  }
  return std::shared_ptr<const Artifact>(std::make_shared<Artifact>(Artifact{wanted, std::move(*bytes)}));
}

}  // namespace hone::cache
