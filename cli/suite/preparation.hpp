#pragma once
// From an entry of a suite to what a worker measures.

#include <cxxopts.hpp>
#include <optional>
#include <stop_token>
#include <string>

#include "cli/suite/suite_file.hpp"
#include "engine/tune/session.hpp"

namespace hone::cli::suite {

/// What all entries of a run share.
struct Surroundings {
  const cxxopts::ParseResult* arguments = nullptr;  ///< flags for reading kernel files
  Registry::Found device;
  Store* store = nullptr;    ///< records of config = "best"; may be null
  Store* scratch = nullptr;  ///< compiled code
  MeasureSettings measure;
  std::uint64_t seed = 0;
  std::stop_token stop = {};
  std::function<void(const SessionEvent&)> on_event = {};  ///< of sessions that choose configurations
};

struct Prepared {
  TuneRequest request;
  Configuration configuration;
  std::string what;             ///< ExpectedCase::what
  std::optional<Trial> failed;  ///< what counts for it where nothing can be measured: its kernel or, in a session, its default failed
};

/// Reads the kernel and chooses the configuration; where the entry has a budget, by a session of its own. A kernel that
/// does not compile or fails is Prepared::failed, and the others are measured nevertheless. Errors: the entry names what there is not (a
/// kernel, a type, a shape, a value, a record); kCancelled, a missing device or compiler, a failing store.
Result<Prepared> prepare(const Entry& entry, const Surroundings& surroundings);

/// Validates and times it once in a process of its own. A kernel that cannot even be tried fails like one that was. Errors: as prepare(),
/// but for the entry's.
Result<Trial> measure(const Prepared& prepared, const Surroundings& surroundings);

}  // namespace hone::cli::suite
