#pragma once
// Where the code of this library lies, and what was installed around it.

#include <filesystem>

namespace hone {

/// Of what holds this code: the shared library, or the program that was linked with the static one. Empty if it cannot be found out.
std::filesystem::path own_folder();

/// The folder of Python packages that this code is a part of (the wheel's): pip puts CUDA's and clang's libraries there, too. Else empty.
std::filesystem::path own_site_packages();

}  // namespace hone
