#pragma once
// The part of cuBLASLt's interface that Hone uses, in our own words: the library is opened at run time. Names in comments are those of
// cublasLt.h; layouts and numbers are the same in its versions 12 and 13.

#include <array>
#include <cstddef>
#include <cstdint>

#include "plugins/cuda/driver_api.hpp"

namespace hone::cuda {

struct LtContextTag;
using LtHandle = LtContextTag*;  ///< cublasLtHandle_t

/// cublasLtMatmulDescOpaque_t has 8 words in version 11 and 32 in version 13: room for more. Copied by value.
struct LtOperation {
  std::array<std::uint64_t, 64> data{};
};
/// cublasLtMatrixLayoutOpaque_t, cublasLtMatmulPreferenceOpaque_t
struct LtLayout {
  std::array<std::uint64_t, 16> data{};
};
struct LtPreference {
  std::array<std::uint64_t, 16> data{};
};
/// cublasLtMatmulAlgo_t
struct LtAlgorithm {
  std::array<std::uint64_t, 8> data{};
};
/// cublasLtMatmulHeuristicResult_t
struct LtSuggestion {
  LtAlgorithm algorithm;
  std::size_t workspace_bytes = 0;
  int status = 0;
  float waves = 0;
  std::array<int, 4> reserved{};
};

inline constexpr int kLtSuccess = 0, kLtNotSupported = 15;  // cublasStatus_t
inline constexpr int kLtComputeF32 = 68;                    // CUBLAS_COMPUTE_32F: no TF32
inline constexpr int kLtF32 = 0, kLtF16 = 2, kLtBf16 = 14;  // cudaDataType_t
inline constexpr int kLtTranspose = 1;                      // CUBLAS_OP_T
inline constexpr std::uint32_t kLtRelu = 2, kLtBias = 4;    // cublasLtEpilogue_t; both: their sum
inline constexpr std::uint32_t kLtSumsInFloat = 1 + 2;      // CUBLASLT_REDUCTION_SCHEME_INPLACE, _COMPUTE_TYPE

enum class LtOperationAttribute : int { kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8 };
enum class LtPreferenceAttribute : int {
  kMaxWorkspaceBytes = 1,
  kReductions = 3,
  kAlignmentA = 5,
  kAlignmentB = 6,
  kAlignmentC = 7,
  kAlignmentD = 8
};
/// cublasLtMatmulAlgoConfigAttributes_t
enum class LtAlgorithmAttribute : int { kId, kTile, kSplit, kReduction, kSwizzle, kOption, kStages, kInnerShape, kClusterShape };

/// cublasLtMatmulAlgoCapAttributes_t
enum class LtCapability : int { kSplit = 0, kSwizzle = 2, kMostOption = 7 };

struct CublasLtApi {
  std::size_t (*get_version)();
  const char* (*get_status_name)(int);
  int (*create)(LtHandle*);
  int (*destroy)(LtHandle);
  int (*operation_init)(LtOperation*, std::size_t, int compute_type, int scale_type);
  int (*operation_set)(LtOperation*, LtOperationAttribute, const void*, std::size_t);
  int (*layout_init)(LtLayout*, std::size_t, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading);
  int (*preference_init)(LtPreference*, std::size_t);
  int (*preference_set)(LtPreference*, LtPreferenceAttribute, const void*, std::size_t);
  int (*suggest)(LtHandle, LtOperation*, LtLayout* a, LtLayout* b, LtLayout* c, LtLayout* d, LtPreference*, int most, LtSuggestion*,
                 int* count);
  int (*algorithm_ids)(LtHandle, int compute_type, int scale_type, int a, int b, int c, int d, int most, int* ids, int* count);
  int (*algorithm_init)(LtHandle, int compute_type, int scale_type, int a, int b, int c, int d, int id, LtAlgorithm*);
  int (*algorithm_set)(LtAlgorithm*, LtAlgorithmAttribute, const void*, std::size_t);
  int (*algorithm_get)(const LtAlgorithm*, LtAlgorithmAttribute, void*, std::size_t, std::size_t* written);
  int (*algorithm_capability)(const LtAlgorithm*, LtCapability, void*, std::size_t, std::size_t* written);
  int (*algorithm_check)(LtHandle, LtOperation*, LtLayout* a, LtLayout* b, LtLayout* c, LtLayout* d, const LtAlgorithm*, LtSuggestion*);
  int (*matmul)(LtHandle, LtOperation*, const void* alpha, const void* a, LtLayout*, const void* b, LtLayout*, const void* beta,
                const void* c, LtLayout*, void* d, LtLayout*, const LtAlgorithm*, void* workspace, std::size_t workspace_bytes,
                StreamHandle);
};

}  // namespace hone::cuda
