#!/usr/bin/env bash
# Opens the reports of docs/reports, and one of a session that it runs, in a browser (tests/pages/pages_test.py):
#   scripts/pages.sh [HONE]       the command; build-ci/bin/hone without it
#   scripts/pages.sh HONE --pictures DIR
# The checker is installed into .cache/pages; Debian's package chromium must be there.
set -euo pipefail
[[ ${1:-} != --help ]] || { sed -n '2,5s/^# //p' "$0" && exit; }
hone=$(realpath "${1:-build-ci/bin/hone}")
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
python=.cache/pages/bin/python
if [[ ! -x $python ]]; then
  python3 -m venv .cache/pages
  .cache/pages/bin/pip install --quiet "axe-playwright-python==0.1.8"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Every part that a page may have: two sessions, and one that minimized energy.
"$python" tests/pages/made_up_space.py >"$work/space.json"
for objective in time energy edp; do
  "$hone" tune "$work/space.json" --device replay --budget 40trials --objective "$objective" --store "$work/S.db" --json >"$work/$objective.json"
done
"$hone" report 1 --kernel "$work/space.json" --store "$work/S.db" --out "$work/one.html" >/dev/null
"$hone" report 2 --kernel "$work/space.json" --store "$work/S.db" --out "$work/energy.html" >/dev/null
"$hone" report 1 2 3 --kernel "$work/space.json" --store "$work/S.db" --out "$work/several.html" >/dev/null
"$python" tests/pages/pages_test.py "$work"/one.html "$work"/energy.html "$work"/several.html docs/reports/*.html "${@:2}"
