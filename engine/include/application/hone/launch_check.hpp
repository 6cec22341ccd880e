#pragma once
// What a sampled check of a launch found (EngineOptions::check_one_in).

#include <cstdint>
#include <string>

#include "hone/problem.hpp"

namespace hone {

/// The outputs of a launch, held against those of the kernel's default configuration on copies of the same inputs.
struct LaunchCheck {
  enum class Finding {
    kAgrees,
    kNotFinite,  ///< it agrees, but there are NaNs or infinities in outputs, and none in inputs
    kDiffers,    ///< by more than two right results may; the engine serves the default in its place from now on
  };
  std::string kernel;  ///< of an operation, the one that was launched
  Problem problem;
  std::string configuration;
  Finding finding = Finding::kAgrees;
  /// Of all outputs, the largest difference in times what is allowed; the largest double where one of the two is no number.
  double worst = 0.0;
  std::uint64_t not_finite = 0;  ///< NaNs and infinities in outputs
  // Of the first output that differs:
  std::string argument = {};
  std::uint64_t elements = 0, wrong = 0;
  std::uint64_t first_wrong = 0;          ///< the index of an element,
  double actual = 0.0, of_default = 0.0;  ///< and what it is
  /// All that as a sentence: "gemm bf16 m=64,n=64,k=64 (block=128): argument 'out': 3 of 4096 elements differ from the default's, ..."
  std::string text = {};
};

}  // namespace hone
