#pragma once
// What became of the trials of a range's run.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/device/trial.hpp"
#include "engine/kernel/kernel_spec.hpp"
#include "hone/problem.hpp"

namespace hone {

/// Trials of a kernel that prove that their configurations must not be served (is_wrong), and the first of them.
struct WrongTrials {
  std::string kernel;
  std::int64_t count = 0;
  std::string configuration;  ///< as text
  Shape shape;                ///< of the operation
  Outcome outcome = Outcome::kWrongResult;
  std::string detail;
};

class RangeOutcomes {
 public:
  void add(const Shape& shape, const KernelSpec& spec, const std::vector<Trial>& trials);
  /// Of what was tried before and is only checked: what is wrong, which is news, and no trial.
  void add_wrong(const Shape& shape, const KernelSpec& spec, const std::vector<Trial>& trials);
  /// What another has counted; where both have wrong trials of a kernel, the first is this one's.
  void add(const RangeOutcomes& other);

  [[nodiscard]] std::int64_t trials() const;
  [[nodiscard]] const std::map<Outcome, std::int64_t>& counts() const { return counts_; }
  /// Of each kernel that has any, in the order in which they were met.
  [[nodiscard]] const std::vector<WrongTrials>& wrong() const { return wrong_; }

 private:
  WrongTrials& wrong_of(const WrongTrials& first);

  std::map<Outcome, std::int64_t> counts_;
  std::vector<WrongTrials> wrong_;
};

}  // namespace hone
