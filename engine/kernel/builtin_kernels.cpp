#include "engine/kernel/builtin_kernels.hpp"

#include <zlib.h>

#include <memory>
#include <mutex>

#include "engine/base/names.hpp"

namespace hone {
namespace {

/// All of them are some megabytes and take 30 ms to parse; a program wants one or two.
class Parsed {
 public:
  Parsed() : specs_(embedded_kernels().size()) {}

  const KernelSpec* at(std::size_t i) {
    const std::lock_guard lock(mutex_);
    if (specs_[i] == nullptr) {
      specs_[i] = std::make_unique<const KernelSpec>(parse_embedded(inflated(embedded_kernels()[i])));
    }
    return specs_[i].get();
  }

 private:
  static std::string inflated(const EmbeddedKernel& kernel) {
    std::string text;
    for (const EmbeddedText& part : kernel.texts) {
      const std::size_t had = text.size();
      text.resize(had + part.bytes);
      uLongf bytes = part.bytes;
      if (::uncompress(reinterpret_cast<Bytef*>(text.data() + had), &bytes, part.compressed.data(), part.compressed.size()) != Z_OK ||
          bytes != part.bytes) {
        throw ContractError("the built-in kernel " + std::string(kernel.name) + " is damaged: this is not the binary that was built");
      }
    }
    return text;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<const KernelSpec>> specs_;
};

Parsed& parsed() {
  static Parsed& all = *new Parsed;  // never goes: a static engine may outlive what was made after it
  return all;
}

}  // namespace

std::vector<const KernelSpec*> builtin_kernels() {
  std::vector<const KernelSpec*> all;
  for (std::size_t i = 0; i < embedded_kernels().size(); ++i) {
    all.push_back(parsed().at(i));
  }
  return all;
}

Result<const KernelSpec*> find_builtin_kernel(std::string_view kernel) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < embedded_kernels().size(); ++i) {
    if (embedded_kernels()[i].name == kernel) {
      return parsed().at(i);
    }
    names.emplace_back(embedded_kernels()[i].name);
  }
  return Error{ErrorCode::kNotFound, unknown_name("built-in kernel", kernel, names)};
}

}  // namespace hone
