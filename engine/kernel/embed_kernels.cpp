// hone_embed_kernels OUT.cpp FILES...: reads kernel files while Hone is built and writes a source that defines hone::builtin_kernels(),
// so that an installed Hone tunes its own kernels without libclang.

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kernel/kernel_spec.hpp"

namespace {

constexpr std::size_t kLiteral = 8000;  // compilers limit the length of one literal

std::string literals(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); at += kLiteral) {
    result += fmt::format("    R\"hone_json({})hone_json\"\n", text.substr(at, kLiteral));
  }
  return result;
}

std::string source(const std::vector<hone::KernelSpec>& specs) {
  std::string result =
      "#include <string_view>\n\n#include \"engine/kernel/kernel_spec.hpp\"\n\nnamespace hone {\nnamespace {\n\n"
      "std::vector<KernelSpec> parse_all() {\n  std::vector<KernelSpec> specs;\n";
  for (const auto& spec : specs) {
    result += fmt::format("  specs.push_back(parse_kernel_spec(std::string_view(\n{}  )).value());\n", literals(spec.serialize()));
  }
  return result +
         "  return specs;\n}\n\n}  // namespace\n\nconst std::vector<KernelSpec>& builtin_kernels() {\n"
         "  static const std::vector<KernelSpec> specs = parse_all();\n  return specs;\n}\n\n}  // namespace hone\n";
}

}  // namespace

namespace hone {

// The tool that makes the built-in kernels has none itself.
const std::vector<KernelSpec>& builtin_kernels() {
  static const std::vector<KernelSpec> none;
  return none;
}

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
