#pragma once
// The kernels that are built in: read when Hone was built, kept compressed, parsed when they are asked for.

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kernel/kernel_spec.hpp"

namespace hone {

/// Compressed by zlib.
struct EmbeddedText {
  std::span<const unsigned char> compressed;
  std::size_t bytes = 0;  ///< uncompressed
};
/// What embed() writes, one text behind the other. Headers that several kernels include are there once.
struct EmbeddedKernel {
  std::string_view name, operation;
  std::span<const EmbeddedText> texts;
  EmbeddedText dictionary;  ///< the texts of all kernels are compressed with this one, which has much in common with them
};

/// Those of this binary. Generated when it is built.
std::span<const EmbeddedKernel> embedded_kernels();

/// A spec in the form that is read fastest, for the same binary: JSON whose expressions share what they have in common (ExpressionTable),
/// and behind it the source and each of its includes as they are.
std::vector<std::string> embed(const KernelSpec& spec);
/// Of these texts in one. Throws ContractError on what embed() did not write.
KernelSpec parse_embedded(std::string_view text);

/// Embedded kernels, parsed when they are asked for: all of them are some megabytes and take 30 ms to parse; a program wants one or two.
/// Specs stay where they are. Thread-safe.
class EmbeddedSpecs {
 public:
  explicit EmbeddedSpecs(std::span<const EmbeddedKernel> kernels) : kernels_(kernels), specs_(kernels.size()) {}

  const KernelSpec* at(std::size_t i);

 private:
  std::span<const EmbeddedKernel> kernels_;
  std::mutex mutex_;
  std::string dictionary_;
  std::vector<std::unique_ptr<const KernelSpec>> specs_;
};

/// All of them, by name. They need no libclang, and stay where they are.
std::vector<const KernelSpec*> builtin_kernels();
/// One of them; the error names the nearest ones.
Result<const KernelSpec*> find_builtin_kernel(std::string_view kernel);

}  // namespace hone
