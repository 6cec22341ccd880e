#pragma once
// Lookups that find their code in the store and nothing in memory, and the first launch of a process.

#include <nlohmann/json.hpp>
#include <string>

#include "hone/error.hpp"
#include "hone/problem.hpp"

namespace hone::bench {

/// A problem of a kernel or an operation.
struct Asked {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
};

/// The problems of the store of this benchmark: those of softmax first.
std::vector<Asked> asked_on(const std::string& device);

/// In a process of its own: milliseconds of opening, of each problem's first lookup, of a lookup's stages.
Result<nlohmann::json> cold_lookups(const std::string& store, const std::string& device);

}  // namespace hone::bench
