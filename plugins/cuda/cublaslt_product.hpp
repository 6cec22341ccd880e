#pragma once
// Matrix products by cuBLASLt: its algorithms for a problem, and one of them launched. The problem is that of the operation matmul
// (kernels_src/product.h): out[m, n] = activation(alpha * a b + beta * added + bias), all row by row.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "hone/problem.hpp"
#include "plugins/cuda/cublaslt.hpp"

namespace hone::cuda {

/// What an algorithm is: numbers that mean the same in every version of the library, but for `id`, which is a version's own.
struct LtTraits {
  enum Trait : std::uint8_t { kTile, kStages, kCluster, kInner, kSplit, kReduction, kSwizzle, kOption, kId, kCount };
  static constexpr std::array<std::string_view, kCount> kNames = {"tile",      "stages",  "cluster", "inner", "split",
                                                                  "reduction", "swizzle", "option",  "id"};
  std::array<std::int64_t, kCount> values{};
  friend bool operator==(const LtTraits&, const LtTraits&) = default;
};

struct LtChoice {
  LtTraits traits;
  LtAlgorithm algorithm;
  std::size_t workspace_bytes = 0;  ///< that it needs
};

/// A matrix product as the library sees it: column by column, so that out is written as its transpose, the product of b's and a's. Whoever
/// calls has the library's context as the current one (LtContext::enter).
class LtProduct {
 public:
  /// Errors, kInvalidArgument: a dtype, layout or activation that the library does not compute as the operation says.
  static Result<LtProduct> create(std::shared_ptr<const LtContext> context, const Problem& problem);

  /// What the library suggests where an algorithm may use so much workspace, its first choice first; at most `most`. Errors, kLaunch: none.
  [[nodiscard]] Result<std::vector<LtChoice>> suggested(std::size_t workspace_bytes, int most) const;
  /// Algorithms that differ from one of them in a single trait, as far as the library has them.
  [[nodiscard]] std::vector<LtChoice> variants(const LtChoice& choice, std::size_t workspace_bytes) const;
  /// The algorithm with these traits; where the library has it under another number, as another version may, that one. Errors, kLaunch: it
  /// has none, or none for this problem and workspace.
  [[nodiscard]] Result<LtChoice> find(const LtTraits& traits, std::size_t workspace_bytes) const;

  /// Of the workspace that the library gets; recent versions refuse less.
  static constexpr std::int64_t kWorkspaceAlignment = 256;

  struct Operands {
    const void *a = nullptr, *b = nullptr, *added = nullptr, *bias = nullptr;
    void *out = nullptr, *workspace = nullptr;      ///< where the choice needs a workspace, with kWorkspaceAlignment bytes more
    const float *alpha = nullptr, *beta = nullptr;  ///< in host memory
  };
  [[nodiscard]] Result<void> launch(const LtChoice& choice, StreamHandle stream, const Operands& operands) const;

  [[nodiscard]] const LtContext& context() const { return *context_; }

 private:
  explicit LtProduct(std::shared_ptr<const LtContext> context) : context_(std::move(context)) {}
  Result<void> describe(const Problem& problem);
  [[nodiscard]] std::optional<LtChoice> checked(const LtAlgorithm& algorithm, std::size_t workspace_bytes) const;
  [[nodiscard]] std::int64_t capability(const LtAlgorithm& algorithm, LtCapability capability) const;
  [[nodiscard]] std::vector<LtTraits> neighbours(const LtChoice& choice) const;
  [[nodiscard]] bool apply(const LtTraits& traits, LtAlgorithm& algorithm) const;
  [[nodiscard]] std::optional<LtTraits> traits_of(const LtAlgorithm& algorithm) const;

  std::shared_ptr<const LtContext> context_;
  int type_ = kLtF32;
  bool added_ = false, biased_ = false;
  // The library takes pointers to what it only reads.
  mutable LtOperation operation_;
  mutable LtLayout a_, b_, out_;
};

}  // namespace hone::cuda
