// Kernel files, and texts of them, for an engine.
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "engine/c/engine.hpp"

namespace hone::c {
namespace {

/// A file for the text of a kernel, in a directory that goes with it.
class KernelText {
 public:
  static Result<KernelText> write(const std::string& name, const char* text) {
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("'{}' is no name for a kernel's text: a file's, without a folder", name)};
    }
    std::error_code failed;
    std::string folder = (std::filesystem::temp_directory_path(failed) / "hone-text-XXXXXX").string();
    if (failed || ::mkdtemp(folder.data()) == nullptr) {
      return Error{ErrorCode::kIo, fmt::format("no directory can be made for the text of {}: is TMPDIR right?", name)};
    }
    KernelText made(std::filesystem::path(folder), name);
    std::ofstream file(made.file(), std::ios::binary);
    if (!(file << text << std::flush)) {
      return Error{ErrorCode::kIo, fmt::format("{} cannot be written: is the disk full?", made.file().string())};
    }
    return made;
  }
  KernelText(KernelText&& other) noexcept : folder_(std::exchange(other.folder_, {})), name_(std::move(other.name_)) {}
  KernelText& operator=(KernelText&&) = delete;
  ~KernelText() {
    std::error_code ignored;
    if (!folder_.empty()) {
      std::filesystem::remove_all(folder_, ignored);
    }
  }
  [[nodiscard]] std::filesystem::path file() const { return folder_ / name_; }
  /// A message without the directory that nobody knows.
  [[nodiscard]] std::string without_folder(std::string message) const {
    const std::string prefix = folder_.string() + "/";
    for (std::size_t at = message.find(prefix); at != std::string::npos; at = message.find(prefix, at)) {
      message.erase(at, prefix.size());
    }
    return message;
  }

 private:
  KernelText(std::filesystem::path folder, std::string name) : folder_(std::move(folder)), name_(std::move(name)) {}
  std::filesystem::path folder_;
  std::string name_;
};

}  // namespace
}  // namespace hone::c

using namespace hone;

hone_status hone_engine_add_kernel_file(hone_engine* engine, const char* file, const char* const* flags, size_t flag_count,
                                        hone_error** error) {
  return c::call(error, __func__, [&] {
    hone_engine& known = c::need(engine, "engine");
    return known.engine.add_kernel_file(c::need_text(file, "file"), {c::texts_of(flags, flag_count, "flags")});
  });
}

hone_status hone_engine_add_kernel_source(hone_engine* engine, const char* name, const char* text, const char* const* flags,
                                          size_t flag_count, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    hone_engine& known = c::need(engine, "engine");
    c::need_text(name, "name");
    c::need_text(text, "text");
    const ReadOptions options{c::texts_of(flags, flag_count, "flags")};
    HONE_ASSIGN(const c::KernelText written, c::KernelText::write(name, text));
    if (const Result<void> added = known.engine.add_kernel_file(written.file(), options); !added) {
      return Error{added.error().code, written.without_folder(added.error().message)};
    }
    return {};
  });
}
