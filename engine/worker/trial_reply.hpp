#pragma once
// What a trial comes to while the worker is at it.

#include <string>
#include <vector>

#include "engine/device/trial.hpp"
#include "hone/error.hpp"

namespace hone {

/// A trial and how it ended for the process.
struct TrialReply {
  Trial trial;
  bool fatal = false;                   ///< the device is in an error state: this process must be replaced
  bool blameless = false;               ///< it failed before the candidate had run
  bool asks_default = false;            ///< nobody knows whether the default is wrong for the inputs that it is wrong for
  std::vector<std::string> notes = {};  ///< for people, of a trial that is ok

  void fail(const Error& error) {
    trial.detail = error.message;
    fatal = error.code == ErrorCode::kDevice;
    if (fatal) {
      trial.outcome = Outcome::kIllegalAccess;
    } else if (error.message.starts_with("deadlock:")) {
      trial.outcome = Outcome::kDeadlock;
    } else {
      trial.outcome = Outcome::kLaunchFailure;
    }
  }
};

}  // namespace hone
