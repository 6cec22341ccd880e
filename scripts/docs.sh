#!/usr/bin/env bash
# Builds the pages of docs into a site, build-docs, with a search that needs no network; a warning is an error:
#   scripts/docs.sh [HONE]            HONE: the command, which makes the pictures; build-ci/bin/hone without it, or none where it is not built
#   python3 -m http.server -d build-docs   to read it: browsers do not let the search run on files
set -euo pipefail
hone=$(realpath -m "${1:-build-ci/bin/hone}")
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
if [[ ! -x .cache/docs/bin/mkdocs ]]; then
  python3 -m venv .cache/docs
  .cache/docs/bin/pip install --quiet "mkdocs==1.6.1" "mkdocs-material==9.8.2"
fi
rm -rf .cache/docs-pictures
if [[ -x $hone ]]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  python3 tests/pages/made_up_space.py >"$work/space.json"
  "$hone" tune "$work/space.json" --budget 40trials --objective energy --store "$work/S.db" >/dev/null
  "$hone" report 1 --kernel "$work/space.json" --store "$work/S.db" --svg .cache/docs-pictures >/dev/null
else
  echo "note: no pictures: $hone is not built"
fi
# With --quiet it would not count the warnings, either.
if ! NO_MKDOCS_2_WARNING=1 .cache/docs/bin/mkdocs build --strict --clean >.cache/docs.log 2>&1; then
  grep -vE '^INFO' .cache/docs.log >&2
  exit 1
fi
if grep -rlE "(src|href)=\"?https?://[^\" >]+\.(js|css|woff2?)|fonts\.g(oogleapis|static)" build-docs --include='*.html'; then
  echo "error: these pages load something from the network" >&2
  exit 1
fi
echo "$(find build-docs -name '*.html' | wc -l) pages in build-docs"
