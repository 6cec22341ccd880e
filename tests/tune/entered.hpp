#pragma once
// Kernels of an operation that have entered its session, before anything was tried.

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/tune/operation_budget.hpp"
#include "engine/tune/scratch_store.hpp"

namespace hone::test {

/// The two kernels of matmul that multiply a vector in f32 have entered, and nothing was tried. Each has 64 MiB of arguments.
class Entered {
 public:
  explicit Entered(const char* whole, std::int64_t memory = std::int64_t{1} << 40) {
    request_.operation = &operation_;
    request_.problem = make_problem(*operation_.definition, DType::kF32, {{"m", 1}, {"n", 4096}, {"k", 4096}}).value();
    request_.common.device = builtin_registry().device("cpu").value();
    request_.common.device.info.properties["memory"] = memory;
    request_.common.budget = parse_budget(whole).value();
    REQUIRE(entrants.enter(request_, scratch_.store(), {}, reports).ok());
    REQUIRE(entrants.size() == 2);
  }
  /// Their sessions begin; no process starts.
  void open() const {
    for (const auto& entrant : entrants) {
      REQUIRE(entrant->session->open(builtin_registry()).ok());
    }
  }
  [[nodiscard]] TuneRequest& common() { return request_.common; }
  [[nodiscard]] const OperationRequest& request() const { return request_; }
  [[nodiscard]] Store& store() { return scratch_.store(); }

 private:
  Operation operation_ = find_operation("matmul").value();
  OperationRequest request_;
  ScratchStore scratch_ = ScratchStore::create().value();

 public:
  std::vector<KernelReport> reports;
  Entrants entrants;
  OperationBudget budget{request_.common, entrants};
};

}  // namespace hone::test
