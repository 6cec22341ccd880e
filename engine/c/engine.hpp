#pragma once
// The handle of an engine, and problems as C has them.

#include "engine/c/call.hpp"
#include "hone/engine.hpp"

struct hone_engine {
  hone::Engine engine;
  hone::EngineOptions options;  ///< that it was opened with
};

namespace hone::c {

/// 0: no limit. Errors, kInvalidArgument: below 0, or not a number.
Result<Budget> budget_of(double seconds, std::int64_t trials);
Shape shape_of(const hone_extent* extents, std::size_t count, const char* what);
/// What `dtypes`, which may be null, means for a kernel. Errors: an unknown kernel or dtype.
Result<DTypes> dtypes_of(const hone_engine& engine, const char* kernel, const char* dtypes);

}  // namespace hone::c
