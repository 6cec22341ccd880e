#include "engine/tune/scratch_store.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <utility>

namespace hone {

namespace fs = std::filesystem;

Result<ScratchStore> ScratchStore::create() {
  std::string path = (fs::temp_directory_path() / "hone-scratch-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) {
    return Error{ErrorCode::kIo, fmt::format("cannot make a directory in {}", fs::temp_directory_path().string())};
  }
  ScratchStore scratch(path);
  HONE_ASSIGN(scratch.store_, open_store(scratch.directory_ / "scratch.db", StoreMode::kReadWrite));
  return scratch;
}

ScratchStore::ScratchStore(ScratchStore&& other) noexcept
    : directory_(std::exchange(other.directory_, {})), store_(std::move(other.store_)) {}

ScratchStore::~ScratchStore() {
  store_.reset();
  std::error_code ignored;
  if (!directory_.empty()) {
    fs::remove_all(directory_, ignored);
  }
}

}  // namespace hone
