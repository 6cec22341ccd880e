#pragma once
// What went wrong in a session, and what the configurations that went wrong have in common.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/trial.hpp"

namespace hone::report {

struct Message {
  std::string text;  ///< one line
  std::size_t count = 0;
};

struct FailureKind {
  Outcome outcome = Outcome::kWrongResult;
  std::size_t count = 0;
  std::vector<Message> messages = {};    ///< the most frequent first, numbers in them aside; at most 5
  std::size_t further = 0;               ///< messages that are not among these
  std::string example = {};              ///< the configuration of the first
  std::vector<std::string> common = {};  ///< "block=1024": all of the kind have it, and fewer than half of the other trials
};

/// The most frequent kind first.
std::vector<FailureKind> failures_of(const std::vector<Parameter>& parameters, std::span<const Trial> trials);

/// What went wrong, of a detail of many lines: a compiler says first where it was, and then what it minds.
std::string_view headline(std::string_view detail);

}  // namespace hone::report
