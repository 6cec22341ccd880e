#pragma once
// What a suite expects of a product of device: a text beside the suite, which people review (docs/bench.md).

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/gate/gate.hpp"
#include "hone/device_info.hpp"

namespace hone::cli::suite {

/// What a run came to for a case.
struct RecordedRun {
  gate::Level level;
  std::string date, driver;  ///< when and with what, for people; the driver may be empty
  std::string machine = {};  ///< machine_of() its device
};

struct ExpectedCase {
  std::string name;
  std::string what;     ///< kernel, problem and configuration: recorded runs count for this alone
  std::string control;  ///< the same of its control, with the digest of its source; empty: none
  Outcome outcome = Outcome::kOk;
  std::vector<RecordedRun> runs;
};

struct Expectations {
  std::string product;
  std::vector<ExpectedCase> cases;

  [[nodiscard]] const ExpectedCase* find(const std::string& name) const;
};

/// A digest that tells devices of a product apart; empty where they have no uuid.
std::string machine_of(const DeviceInfo& device);
/// Whether all that is expected was recorded on one machine, and this is another: then the spread says nothing of how machines differ.
bool is_of_one_other_machine(const Expectations& expectations, const DeviceInfo& device);

/// "bench/suite.toml" and "NVIDIA H200": bench/suite.expected/NVIDIA_H200.toml
std::filesystem::path expectations_path(const std::filesystem::path& suite, const DeviceInfo& device);

/// `path` is for messages. Errors: those of parse_toml(); a case without what it needs, a time that is not above 0.
Result<Expectations> parse_expectations(std::string_view text, const std::filesystem::path& path);
/// Of a file; none where there is no such file.
Result<std::optional<Expectations>> read_expectations(const std::filesystem::path& path);
/// The text of the file. Reading it gives the same.
std::string expectations_text(const Expectations& expectations, const std::filesystem::path& suite);

}  // namespace hone::cli::suite
