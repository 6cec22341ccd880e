#pragma once
// The kernels that take part in a session of an operation, and what is known of all of them together.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/tune/operation_session.hpp"
#include "engine/tune/tuning_session.hpp"
#include "engine/tune/turns.hpp"

namespace hone {

/// A kernel that is legal here.
struct Entrant {
  std::size_t place = 0;  ///< in the report
  TuneRequest request;
  std::unique_ptr<TuningSession> session;
  bool out = false;   ///< gets no more turns, and is in no final round
  bool done = false;  ///< gets no more turns
  double turn_seconds = 0.0;
  std::size_t turn_trials = 0;
  std::optional<Measurement> measured;  ///< of its winner, beside the others'
};

class Entrants {
 public:
  using OnProgress = std::function<void(const std::string& kernel, const Progress& progress)>;

  /// All kernels that are legal for the problem, in the order of the operation. `reports` gets one of each kernel; those of the others say
  /// why they are not. Errors: none is.
  Result<void> enter(const OperationRequest& request, Store& store, const OnProgress& on_progress, std::vector<KernelReport>& reports);

  [[nodiscard]] auto begin() const { return all_.begin(); }
  [[nodiscard]] auto end() const { return all_.end(); }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] Entrant& operator[](std::size_t i) const { return *all_[i]; }
  /// The one that serves where nothing was measured.
  [[nodiscard]] Entrant& front() const { return *all_.front(); }

  /// The one that an application would get now; front() until it is known.
  [[nodiscard]] Entrant& serving() const { return *all_[serving_]; }
  void set_serving(std::size_t i) { serving_ = i; }
  /// Whether what serves without this session was tried: nothing may take its place before, however short the budget.
  [[nodiscard]] bool knows_serving() const;
  /// The places of all: of what serves, then of the others in their order.
  [[nodiscard]] std::vector<std::size_t> serving_first() const;

  /// Those that are not out.
  [[nodiscard]] std::size_t alive() const;
  /// Of all of them.
  [[nodiscard]] std::size_t trials() const;
  /// What came of them: a count per outcome.
  [[nodiscard]] std::map<Outcome, std::int64_t> outcomes() const;
  /// Whether the device's memory, as far as that is known, holds the buffers of one kernel and not of all of them at once.
  [[nodiscard]] bool one_at_a_time() const { return one_at_a_time_; }
  /// The fastest trial of all but one.
  [[nodiscard]] std::optional<double> best_us(const Entrant* left_out = nullptr) const;
  /// What would run untuned; nothing where it was not measured.
  [[nodiscard]] std::optional<double> default_us() const;
  /// How far each has come.
  [[nodiscard]] std::vector<Runner> runners() const;
  /// Tells each what the others reach.
  void tell_rivals() const;

 private:
  /// Of the arrays of all of them at once.
  [[nodiscard]] double argument_bytes() const;

  std::vector<std::unique_ptr<Entrant>> all_;  ///< sessions refer to their requests
  std::size_t serving_ = 0;
  bool one_at_a_time_ = false;
};

}  // namespace hone
