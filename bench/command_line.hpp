#pragma once
// The main of a program that measures: wrong options are a line on standard error and exit code 2.

#include <cstdio>
#include <cxxopts.hpp>

inline int refuse_wrong_options(int (*run)(int, char**), int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const cxxopts::exceptions::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
