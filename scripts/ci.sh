#!/usr/bin/env bash
# Checks what the repository declares, the cheap things first, in less than half an hour on two cores of a bare Debian 12 or Ubuntu 24.04:
#   scripts/ci.sh               all stages
#   scripts/ci.sh format tests  these alone
#   scripts/ci.sh --list        their names
# scripts/check_all.sh has what takes longer.
set -euo pipefail
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$scripts/environment.sh"
source "$scripts/stages.sh"
stages=(install repository format headers build floor fuzz package tests sanitizers)
jobs=$(nproc)
apart='^(fuzz_|package|headers)'  # entries of ctest that have a stage of their own
# Quick ones, over the parts that handle memory of other people's making. An address sanitizer's build of all tests takes a quarter of an hour.
sanitized=(test_base test_expression test_kernel_spec test_reader test_measure test_recorded_space test_store)
fuzzers=(expression_fuzz kernel_spec_fuzz recorded_space_fuzz reader_fuzz npy_fuzz wire_fuzz damaged_store_fuzz)

configure() { [[ -e build-ci/build.ninja ]] || cmake --preset ci; }
ctest_ci() { ctest --test-dir build-ci --output-on-failure --no-tests=error "$@"; }

stage_install() {
  : "packages of the distribution, and the pinned clang-format"
  "$scripts/install_dependencies.sh"
  "$scripts/install_checkers.sh" format
}
stage_repository() {
  : "subjects, paths, skips, source lists, links"
  "$scripts/check_repository.py"
}
stage_format() {
  : "clang-format at one version"
  "$scripts/check_format.py" --diff
}
stage_headers() {
  : "each public header compiles alone"
  configure
  cmake --build build-ci --parallel "$jobs" --target hone_headers
}
stage_build() {
  : "everything, warnings are errors"
  configure
  cmake --build build-ci --parallel "$jobs"
}
stage_floor() {
  : "no fewer tests than there were"
  needs build
  "$scripts/check_floor.py" build-ci
}
stage_fuzz() {
  : "the bounded runs of the fuzz targets"
  needs build
  ctest_ci -R '^fuzz_'
}
stage_package() {
  : "an installed copy and those who use it"
  needs build
  ctest_ci -R '^package'
}
stage_tests() {
  : "the other tests; what needs libclang or NVRTC may not skip itself"
  needs build
  source "$scripts/environment.sh"  # knows the NVRTC that stage install brought
  HONE_TESTS_NEED=libclang,nvrtc ctest_ci -E "$apart" -LE gpu
  grep -h '^skipped: ' build-ci/Testing/Temporary/LastTest.log || true
}
stage_sanitizers() {
  : "quick tests and the fuzz targets under the address and undefined-behaviour sanitizers"
  cmake --preset asan-ubsan
  cmake --build build-asan-ubsan --parallel "$jobs" --target "${sanitized[@]}" "${fuzzers[@]}"
  local IFS='|'
  local entries="${sanitized[*]#test_}"
  ctest --test-dir build-asan-ubsan --output-on-failure --no-tests=error -R "^($entries)\$|^fuzz_"
}

run_stages "$@"
