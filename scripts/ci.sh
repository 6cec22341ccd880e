#!/usr/bin/env bash
# Checks what the repository declares, the cheap things first, in less than half an hour on two cores of a bare Debian 12 or Ubuntu 24.04:
#   scripts/ci.sh               all stages
#   scripts/ci.sh format tests  these alone
#   scripts/ci.sh --list        their names
# scripts/check_all.sh has what takes longer. HONE_TARGETS="test_base test_tune" builds these alone, HONE_TESTS='^(base|tune)$' runs these entries
# of ctest alone: for work on a stage itself.
set -euo pipefail
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$scripts/environment.sh"
source "$scripts/stages.sh"
stages=(install repository format headers build floor fuzz package tests sanitizers)
jobs=$(nproc)
apart='^(fuzz_|package|headers)'  # entries of ctest that have a stage of their own
# Quick ones, over the parts that handle memory of other people's making. An address sanitizer's build of all tests takes a quarter of an hour.
sanitized=(test_base test_expression test_kernel_spec test_reader test_measure test_recorded_space test_store)
mapfile -t fuzzers < <(sed -n 's/^hone_add_fuzz_target(\([a-z_]*\).*/\1_fuzz/p' "$scripts/../tests/fuzz/CMakeLists.txt")

configure() { [[ -e build-ci/build.ninja ]] || cmake --preset ci; }
build_in() { cmake --build "$1" --parallel "$jobs" ${HONE_TARGETS:+--target $HONE_TARGETS} "${@:2}"; }
ctest_in() { ctest --test-dir "$1" --parallel "$jobs" --output-on-failure --no-tests=error "${@:2}"; }

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
  cmake --build build-ci --parallel "$jobs" --target hone_header_tests -- -k 0
}
stage_build() {
  : "everything, also what is built on demand; warnings are errors"
  configure
  build_in build-ci $([[ ${HONE_TARGETS:-} ]] || echo --target all hone_on_demand) -- -k 0
}
stage_floor() {
  : "no fewer tests than there were"
  needs build
  "$scripts/check_floor.py" build-ci ${HONE_TARGETS:+--only $HONE_TARGETS}
}
stage_fuzz() {
  : "the bounded runs of the fuzz targets"
  needs build
  ctest_in build-ci -R "${HONE_TESTS:-^fuzz_}"
}
stage_package() {
  : "an installed copy and those who use it"
  needs build
  ctest_in build-ci -R '^package'
}
stage_tests() {
  : "the other tests; what needs libclang may not skip itself, nor what needs NVRTC where it is"
  needs build
  source "$scripts/environment.sh"  # knows the NVRTC that stage install brought
  local needed=libclang
  if build-ci/bin/hone doctor | grep -q '^ok *NVRTC'; then
    needed+=,nvrtc
  else
    echo "no NVRTC: kernels are not compile-tested for a GPU here"
  fi
  HONE_PRESET=ci HONE_TESTS_NEED=$needed "$scripts/test.sh" -R "${HONE_TESTS:-.}" -E "$apart" -LE gpu
  grep -h '^skipped: ' build-ci/Testing/Temporary/LastTest.log || true
}
stage_sanitizers() {
  : "quick tests and the fuzz targets under the address and undefined-behaviour sanitizers"
  cmake --preset asan-ubsan
  build_in build-asan-ubsan $([[ ${HONE_TARGETS:-} ]] || echo --target "${sanitized[@]}" "${fuzzers[@]}")
  local IFS='|'
  ctest_in build-asan-ubsan -R "${HONE_TESTS:-^(${sanitized[*]#test_})\$|^fuzz_}"
}

run_stages "$@"
