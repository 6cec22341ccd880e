#pragma once
// A store of its own for code that is compiled anew, gone at the end: what is measured leaves the user's store as it is.

#include <filesystem>
#include <memory>

#include "engine/store/store.hpp"

namespace hone {

class ScratchStore {
 public:
  /// Errors: kIo, no folder for temporary files.
  static Result<ScratchStore> create();
  ScratchStore(ScratchStore&& other) noexcept;
  ScratchStore& operator=(ScratchStore&&) = delete;
  ~ScratchStore();
  [[nodiscard]] Store& store() const { return *store_; }

 private:
  explicit ScratchStore(std::filesystem::path directory) : directory_(std::move(directory)) {}
  std::filesystem::path directory_;
  std::unique_ptr<Store> store_;
};

}  // namespace hone
