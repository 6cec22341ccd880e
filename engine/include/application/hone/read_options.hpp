#pragma once
// How a kernel file is read.

#include <string>
#include <vector>

namespace hone {

/// What is given to a kernel file from outside, as to a compiler.
struct ReadOptions {
  std::vector<std::string> flags =
      {};  ///< "-Iinclude", "-DNAME=1", "--use_fast_math"; several words in one text, or an option and its value in two
};

}  // namespace hone
