// hone_embed_kernels OUT.cpp FILES...: reads kernel files while Hone is built and writes a source that defines hone::embedded_kernels(),
// so that an installed Hone tunes its own kernels without libclang.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kernel/builtin_kernels.hpp"

namespace {

std::string bytes_of(const std::string& text) {
  uLongf size = ::compressBound(text.size());
  std::vector<unsigned char> packed(size);
  if (::compress2(packed.data(), &size, reinterpret_cast<const Bytef*>(text.data()), text.size(), Z_BEST_COMPRESSION) != Z_OK) {
    throw std::runtime_error("zlib does not compress a kernel");
  }
  packed.resize(size);
  return fmt::format("{}", fmt::join(packed, ","));
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

std::string source(const std::vector<hone::KernelSpec>& specs) {
  std::vector<Texts> of_kernels;
  std::map<std::string, int> users, numbers;
  for (const auto& spec : specs) {
    for (const std::string& text : of_kernels.emplace_back(hone::embed(spec))) {
      ++users[text];
    }
  }
  std::string arrays, lists, table;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    std::string list;
    for (const std::string& text : joined(of_kernels[i], users)) {
      const auto [number, is_new] = numbers.emplace(text, static_cast<int>(numbers.size()));
      if (is_new) {
        arrays += fmt::format("constexpr unsigned char k{}[] = {{{}}};\n", number->second, bytes_of(text));
      }
      list += fmt::format("{{k{}, {}}}, ", number->second, text.size());
    }
    lists += fmt::format("constexpr EmbeddedText k_{}[] = {{{}}};\n", specs[i].name, list);
    table += fmt::format("    {{\"{0}\", \"{1}\", k_{0}}},\n", specs[i].name, specs[i].operation);
  }
  return fmt::format(
      "#include \"engine/kernel/builtin_kernels.hpp\"\n\nnamespace hone {{\nnamespace {{\n\n{}{}\nconst EmbeddedKernel kKernels[] = "
      "{{\n{}}};\n\n"
      "}}  // namespace\n\nstd::span<const EmbeddedKernel> embedded_kernels() {{ return kKernels; }}\n\n}}  // namespace hone\n",
      arrays, lists, table);
}

}  // namespace

namespace hone {

// The tool that makes the built-in kernels has none itself.
std::span<const EmbeddedKernel> embedded_kernels() { return {}; }

}  // namespace hone

int main(int count, char** arguments) {
  if (count < 2) {
    std::fputs("usage: hone_embed_kernels OUT.cpp FILES...\n", stderr);
    return 2;
  }
  std::vector<hone::KernelSpec> specs;
  bool ok = true;
  for (int i = 2; i < count; ++i) {
    auto spec = hone::read_kernel_file(arguments[i]);
    if (spec) {
      // Where the file lay on the machine that built this binary says nothing to its user.
      spec->file = spec->name + ".cu";
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
  out << source(specs);
  if (!out.flush()) {
    fmt::print(stderr, "{}: cannot be written\n", arguments[1]);
    return 1;
  }
  return 0;
}
