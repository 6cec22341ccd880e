#pragma once
// Tests that cannot run on a machine, and say so.

#include <string>

namespace hone::tests {

/// Notes that the test case at hand cannot run here: `why`, for people; `needs`, one word for what is missing (libclang, nvrtc, gpu, ...).
/// The caller returns. Where nothing else ran the binary ends with 77, which ctest reports as skipped; else it prints how many were. With
/// HONE_TESTS_NEED=libclang,nvrtc in the environment, what needs one of these fails instead: so a machine that has them cannot skip.
void skip(const std::string& needs, const std::string& why);

}  // namespace hone::tests
