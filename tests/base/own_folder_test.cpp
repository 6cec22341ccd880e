#include "engine/base/own_folder.hpp"

#include <doctest/doctest.h>

namespace hone::test {

TEST_CASE("the code of a program is where the program is, and in no Python package") {
  const std::filesystem::path folder = own_folder();  // unknown where the program was called by a relative path
  CHECK((folder.empty() || folder == std::filesystem::canonical("/proc/self/exe").parent_path()));
  CHECK(own_site_packages().empty());
}

}  // namespace hone::test
