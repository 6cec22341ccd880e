#pragma once
// How a kernel file is read.

#include <string>
#include <vector>

namespace hone {

/// Compiler options given to a kernel file from outside.
struct ReadOptions {
  std::vector<std::string> flags =
      {};  ///< "-Iinclude", "-DNAME=1", "--use_fast_math"; several words in one text, or an option and its value in two
};

}  // namespace hone
