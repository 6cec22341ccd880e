#pragma once
// Runs a program with a time limit, and leaves nothing of it behind.

#include <string>
#include <vector>

namespace hone::hostile {

struct Finished {
  int exit = -1;  ///< minus the signal's number if one killed it
  bool in_time = false;
  std::string out, err;
  double seconds = 0.0;
};

/// Every process that descends from this one and lost its parent becomes its child, so that `run` can end them.
void adopt_orphans();

/// `words` with a limit; `directory` takes its output. Afterwards none of its descendants is alive.
Finished run(std::vector<std::string> words, double limit_seconds, const std::string& directory);

}  // namespace hone::hostile
