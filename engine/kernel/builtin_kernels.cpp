#include "engine/kernel/builtin_kernels.hpp"

#include <zlib.h>

#include "engine/base/names.hpp"

namespace hone {
namespace {

void append(std::string& text, const EmbeddedText& part, std::string_view dictionary) {
  const std::size_t had = text.size();
  text.resize(had + part.bytes);
  z_stream stream{};
  stream.next_in = const_cast<Bytef*>(part.compressed.data());
  stream.avail_in = static_cast<uInt>(part.compressed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data() + had);
  stream.avail_out = static_cast<uInt>(part.bytes);
  int state = ::inflateInit(&stream);
  state = state == Z_OK ? ::inflate(&stream, Z_FINISH) : state;
  if (state == Z_NEED_DICT) {
    ::inflateSetDictionary(&stream, reinterpret_cast<const Bytef*>(dictionary.data()), static_cast<uInt>(dictionary.size()));
    state = ::inflate(&stream, Z_FINISH);
  }
  ::inflateEnd(&stream);
  if (state != Z_STREAM_END || stream.avail_out != 0) {
    throw ContractError("the built-in kernels are damaged: this is not the binary that was built");
  }
}

EmbeddedSpecs& parsed() {
  static EmbeddedSpecs& all = *new EmbeddedSpecs(embedded_kernels());  // never goes: a static engine may outlive what was made after it
  return all;
}

}  // namespace

const KernelSpec* EmbeddedSpecs::at(std::size_t i) {
  const std::lock_guard lock(mutex_);
  if (specs_[i] == nullptr) {
    if (dictionary_.empty()) {
      append(dictionary_, kernels_[i].dictionary, "");
    }
    std::string text;
    for (const EmbeddedText& part : kernels_[i].texts) {
      append(text, part, dictionary_);
    }
    specs_[i] = std::make_unique<const KernelSpec>(parse_embedded(text));
  }
  return specs_[i].get();
}

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
