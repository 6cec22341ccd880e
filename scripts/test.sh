#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests; options go to ctest (scripts/test.sh -R store, scripts/test.sh -L unit).
# Tests that need a GPU skip themselves where there is none.
set -euo pipefail
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$scripts/install_dependencies.sh"
source "$scripts/environment.sh"
build
exec ctest --test-dir "$build_folder" --parallel "$(nproc)" --output-on-failure --no-tests=error "$@"
