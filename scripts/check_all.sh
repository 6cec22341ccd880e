#!/usr/bin/env bash
# What ci.sh has no time for; run before each release, some hours on two cores:
#   scripts/check_all.sh              all stages
#   scripts/check_all.sh tidy tsan    these alone
#   scripts/check_all.sh --list       their names
# HONE_FUZZ_SECONDS (default 120) is the time of each fuzz target; HONE_TARGETS and HONE_TESTS are as in ci.sh, HONE_FILES='engine/tune/' is the
# folder that clang-tidy reads.
set -euo pipefail
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$scripts/environment.sh"
source "$scripts/stages.sh"
stages=(install floor clang tidy asan tsan coverage fuzz python docs pages)
jobs=$(nproc)
mapfile -t fuzzers < <(sed -n 's/^hone_add_fuzz_target(\([a-z_]*\).*/\1/p' "$scripts/../tests/fuzz/CMakeLists.txt")

build_in() { cmake --build "$1" --parallel "$jobs" ${HONE_TARGETS:+--target $HONE_TARGETS} "${@:2}"; }
# The tests of a preset, with those of a store on a server.
run_tests_of() {
  cmake --preset "$1"
  build_in "build-$1" $([[ ${HONE_TARGETS:-} ]] || echo --target all hone_on_demand)
  [[ $1 != coverage ]] || find build-coverage -name '*.gcda' -delete
  ctest --preset "$1" --parallel "$jobs" -C postgres -R "${HONE_TESTS:-.}"
}

stage_install() {
  : "packages of the distribution, clang, gcovr, PostgreSQL's server, a browser"
  "$scripts/install_dependencies.sh"
  "$scripts/install_checkers.sh"
}
stage_floor() {
  : "tests/floor.txt is up to date"
  cmake --preset ci
  build_in build-ci --target all hone_on_demand
  "$scripts/check_floor.py" build-ci --exact
}
stage_clang() {
  : "everything, each source alone, with clang's warnings as errors"
  cmake --preset clang
  build_in build-clang -- -k 0
}
stage_tidy() {
  : "clang-tidy over all sources (.clang-tidy), those of a target together: their headers are read once"
  cmake --preset clang -B build-tidy -DHONE_UNITY_BUILD=ON
  # Headers and portfolios that the build embeds are sources, too.
  cmake --build build-tidy --target $(ninja -C build-tidy -t targets all | sed -n 's/^\([^/].*\.cpp\): CUSTOM_COMMAND$/\1/p' | grep -v ^generated/)
  local folders='(engine|plugins|search|cache|cli|tests|bench)/'
  local sources="$PWD/(build-tidy/)?${HONE_FILES:-$folders}.*\.(cpp|cxx)"
  grep -qE "\"file\": \"$sources\"" build-tidy/compile_commands.json || { echo "error: no source matches '${HONE_FILES:-$folders}'" && return 1; }
  run-clang-tidy-19 -quiet -p build-tidy -j "$jobs" -header-filter="/$folders.*\.(hpp|cpp)\$" "^$sources\$" 2>/dev/null
}
stage_asan() {
  : "all tests under the address and undefined-behaviour sanitizers"
  run_tests_of asan-ubsan
}
stage_tsan() {
  : "all tests under the thread sanitizer"
  run_tests_of tsan
}
stage_coverage() {
  : "lines that the tests run, with a floor (tests/coverage_floor.txt)"
  run_tests_of coverage
  "$scripts/check_coverage.py" build-coverage
}
stage_fuzz() {
  : "the fuzz targets with libFuzzer, HONE_FUZZ_SECONDS each"
  cmake --preset fuzz -DCMAKE_CXX_COMPILER=clang++-19
  cmake --build build-fuzz --parallel "$jobs" --target "${fuzzers[@]/%/_fuzz}"
  local name
  for name in "${fuzzers[@]}"; do
    mkdir -p "build-fuzz/found/$name"
    ASAN_OPTIONS=detect_leaks=0 "build-fuzz/bin/${name}_fuzz" -max_total_time="${HONE_FUZZ_SECONDS:-120}" -max_len=4096 -timeout=60 -rss_limit_mb=4096 \
      -artifact_prefix="build-fuzz/$name-" "build-fuzz/found/$name" "tests/fuzz/corpus/$name"
  done
}
stage_python() {
  : "the Python package, built by pip into an environment of its own, and all of its tests"
  python3 -m venv build-python-check
  build-python-check/bin/pip install ".[test]" pandas
  (cd python/tests && HONE_LONG_TESTS=1 ../../build-python-check/bin/python -m pytest -p no:cacheprovider .)
}
stage_docs() {
  : "the documentation as a site, without a warning, with a search that needs no network"
  needs floor
  scripts/docs.sh build-ci/bin/hone
}
stage_pages() {
  : "reports and the site in a browser: no error, nothing from the network, no serious finding of axe-core"
  needs floor
  scripts/pages.sh build-ci/bin/hone
  needs docs
  .cache/pages/bin/python tests/pages/pages_test.py index.html report.html objectives.html json.html --site build-docs --search energy=objectives.html
}

run_stages "$@"
