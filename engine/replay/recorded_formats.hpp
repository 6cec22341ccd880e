#pragma once
// The file formats of recorded spaces, brought to one form.

#include <string>
#include <vector>

#include "engine/replay/recorded_json.hpp"
#include "engine/replay/recorded_space.hpp"

namespace hone::recorded {

/// One record: the parameters' values as the file spells them.
struct Record {
  std::vector<Json> values;
  RecordedTrial trial;
};

struct Recording {
  std::string device_name, kernel_name;   ///< empty if the file does not say
  std::vector<std::string> names;         ///< of the parameters
  std::vector<std::vector<Json>> values;  ///< of each parameter, in the file's order; empty if the file lists none
  std::vector<Json> defaults;             ///< of each parameter; empty if the file names none
  std::vector<Record> records;
};

/// Errors (without the file's name): neither a Kernel Tuner cache nor T4, or a broken record.
Result<Recording> read_recording(const Json& root);

}  // namespace hone::recorded
