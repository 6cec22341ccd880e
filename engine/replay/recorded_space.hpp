#pragma once
// A tuning space that someone measured exhaustively: every valid configuration with what came of it, for replaying a search.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/objective.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/space/search_space.hpp"

namespace hone {

/// What the record says of one configuration.
struct RecordedTrial {
  Outcome outcome = Outcome::kOk;
  std::string detail;              ///< the record's word for a failure
  std::vector<double> samples_us;  ///< empty unless kOk, or kTooSlow where the record says how slow
  double time_us =
      0.0;  ///< the record's own figure, which other tools that replay the file go by (Kernel Tuner: the mean); 0 if there is none
  std::optional<Figure> energy_j = {};  ///< of a run, where the file, recorded for the time, says it, too
  StageSeconds seconds;
  Resources resources;  ///< zeros where the record does not say
};

/// What a recorded space is of.
struct RecordedSubject {
  std::string kernel, source_hash, device_name;
  Problem problem;
  std::vector<Parameter> parameters;  ///< with their defaults: where a replayed search begins
};

/// Writes trials in the format of a Kernel Tuner cache, with their resources, compressed if the name ends with .gz: load() reads it back.
/// A configuration may be there once. Errors: kInvalidArgument (no trials), kIo.
Result<void> write_recorded_space(const std::filesystem::path& file, const RecordedSubject& subject, const std::vector<Trial>& trials);

class RecordedSpace {
 public:
  /// Reads a Kernel Tuner cache or a FAIR T4 file, plain or compressed with gzip; one that was cut off keeps its complete records.
  /// A file that was recorded for another objective than the time is read by that: what is to be small counts as microseconds, of what is
  /// to be large (GFLOP/s, GB/s) the reciprocal, so that best / found are the fraction that other tools see. Errors: kNotFound, kIo (cannot
  /// be read or decompressed), kInvalidArgument (neither format, or an objective of which it is not known whether more is better; says what
  /// is missing).
  static Result<RecordedSpace> load(const std::filesystem::path& file);

  /// The same from the text of a file; `file` is its name, for name() and messages.
  static Result<RecordedSpace> parse(const std::string& text, const std::filesystem::path& file);

  RecordedSpace(RecordedSpace&&) noexcept;
  RecordedSpace& operator=(RecordedSpace&&) noexcept;
  ~RecordedSpace();

  [[nodiscard]] const SearchSpace& space() const { return *shared_space(); }
  [[nodiscard]] const std::shared_ptr<const SearchSpace>& shared_space() const;
  [[nodiscard]] const std::string& name() const;         ///< the file's name without its endings: "gemm.RTX_Titan"
  [[nodiscard]] const std::string& kernel_name() const;  ///< the file's name up to its first '.' where the record names none
  [[nodiscard]] const std::string& device_name() const;  ///< "unknown device" where the record names none
  /// Other than the file's: two files in different folders may have one name.
  void rename(std::string name);
  [[nodiscard]] const std::string& digest() const;  ///< of the file's bytes: 32 hex digits
  /// Whether configurations can be compared by an objective. Errors: kInvalidArgument, none of the right ones has what that takes.
  [[nodiscard]] Result<void> check_objective(const Objective& objective) const;
  /// Null if the position is outside the space.
  [[nodiscard]] const RecordedTrial* find(Count position) const;
  /// The smallest median over the record; infinity if all failed.
  [[nodiscard]] double best_us() const;
  /// The smallest RecordedTrial::time_us; infinity if all failed.
  [[nodiscard]] double best_time_us() const;

 private:
  struct Impl;
  explicit RecordedSpace(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone
