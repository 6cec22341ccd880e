// hone_embed_kernels OUT.cpp FUNCTION [--without-code] FILES...: reads kernel files while Hone is built and writes a source that defines
// hone::FUNCTION(), e.g. embedded_kernels(), so that an installed Hone tunes its own kernels without libclang. Without code it has all but
// the kernels' texts: for what only launches and never compiles.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kernel/builtin_kernels.hpp"

namespace {

std::vector<unsigned char> packed(const std::string& text, const std::string& dictionary) {
  z_stream stream{};
  std::vector<unsigned char> bytes(::compressBound(text.size()) + 16);
  if (::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("zlib cannot be used");
  }
  if (!dictionary.empty()) {
    ::deflateSetDictionary(&stream, reinterpret_cast<const Bytef*>(dictionary.data()), static_cast<uInt>(dictionary.size()));
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = bytes.data();
  stream.avail_out = static_cast<uInt>(bytes.size());
  if (::deflate(&stream, Z_FINISH) != Z_STREAM_END) {
    throw std::runtime_error("zlib does not compress a kernel");
  }
  bytes.resize(stream.total_out);
  ::deflateEnd(&stream);
  return bytes;
}

using Texts = std::vector<std::string>;

/// Those that only this kernel has are one with their neighbours: together they compress better.
Texts joined(const Texts& texts, const std::map<std::string, int>& users) {
  Texts all;
  bool open = false;
  for (const std::string& text : texts) {
    const bool shared = users.at(text) > 1;
    if (open && !shared) {
      all.back() += text;
    } else {
      all.push_back(text);
    }
    open = !shared;
  }
  return all;
}

/// The one with which all of them, itself too, take the fewest bytes.
std::string best_dictionary(const std::set<std::string>& texts) {
  constexpr std::size_t kWindow = 32768;  // zlib looks no further back
  std::string best;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::string& dictionary : texts) {
    if (dictionary.size() > kWindow) {
      continue;
    }
    std::size_t bytes = packed(dictionary, "").size();
    for (const std::string& text : texts) {
      bytes += packed(text, dictionary).size();
    }
    if (bytes < least) {
      least = bytes;
      best = dictionary;
    }
  }
  return best;
}

std::string source(const std::string& function, const std::vector<hone::KernelSpec>& specs) {
  std::vector<Texts> of_kernels;
  std::map<std::string, int> users, numbers;
  for (const auto& spec : specs) {
    Texts& texts = of_kernels.emplace_back(hone::embed(spec));
    std::erase(texts, "");
    for (const std::string& text : texts) {
      ++users[text];
    }
  }
  std::set<std::string> all;
  for (Texts& texts : of_kernels) {
    texts = joined(texts, users);
    all.insert(texts.begin(), texts.end());
  }
  const std::string dictionary = best_dictionary(all);
  std::string arrays, lists, table;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    std::string list;
    for (const std::string& text : of_kernels[i]) {
      const auto [number, is_new] = numbers.emplace(text, static_cast<int>(numbers.size()));
      if (is_new) {
        arrays += fmt::format("constexpr unsigned char k{}[] = {{{}}};\n", number->second, fmt::join(packed(text, dictionary), ","));
      }
      list += fmt::format("{{k{}, {}}}, ", number->second, text.size());
    }
    lists += fmt::format("constexpr EmbeddedText k_{}[] = {{{}}};\n", specs[i].name, list);
    table += fmt::format("    {{\"{0}\", \"{1}\", k_{0}, kDictionary}},\n", specs[i].name, specs[i].operation);
  }
  arrays += fmt::format("constexpr unsigned char kDictionaryBytes[] = {{{}}};\n", fmt::join(packed(dictionary, ""), ","));
  lists += fmt::format("constexpr EmbeddedText kDictionary{{kDictionaryBytes, {}}};\n", dictionary.size());
  return fmt::format(
      "#include \"engine/kernel/builtin_kernels.hpp\"\n\nnamespace hone {{\nnamespace {{\n\n{}{}\nconst EmbeddedKernel kKernels[] = "
      "{{\n{}}};\n\n"
      "}}  // namespace\n\nstd::span<const EmbeddedKernel> {}();\nstd::span<const EmbeddedKernel> {}() {{ return kKernels; }}\n\n"
      "}}  // namespace hone\n",
      arrays, lists, table, function, function);
}

}  // namespace

namespace hone {

// The tool that makes the built-in kernels has none itself.
std::span<const EmbeddedKernel> embedded_kernels() { return {}; }

}  // namespace hone

int main(int count, char** arguments) {
  if (count < 3) {
    std::fputs("usage: hone_embed_kernels OUT.cpp FUNCTION [--without-code] FILES...\n", stderr);
    return 2;
  }
  std::vector<hone::KernelSpec> specs;
  bool ok = true;
  const bool with_code = count == 3 || std::string_view(arguments[3]) != "--without-code";
  for (int i = with_code ? 3 : 4; i < count; ++i) {
    auto spec = hone::read_kernel_file(arguments[i]);
    if (spec) {
      // Where the file lay on the machine that built this binary says nothing to its user.
      spec->file = spec->name + ".cu";
      if (!with_code) {
        spec->source.clear();
        spec->includes.clear();
      }
      specs.push_back(std::move(spec).value());
    } else {
      fmt::print(stderr, "{}\n", spec.error().message);
      ok = false;
    }
  }
  if (!ok) {
    return 1;
  }
  std::ofstream out(arguments[1], std::ios::binary);
  out << source(arguments[2], specs);
  if (!out.flush()) {
    fmt::print(stderr, "{}: cannot be written\n", arguments[1]);
    return 1;
  }
  return 0;
}
