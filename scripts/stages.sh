# shellcheck shell=bash
# Sourced by ci.sh and check_all.sh: runs stages, one line each of name, minutes and verdict. A stage is a function stage_NAME; what it prints
# goes to build-checks/NAME.log and, where it fails, to the terminal. `stages` names all, in their order.
verdicts=()
failed=()

# needs STAGE: ends the stage that calls it where that one failed, since it builds on it.
needs() {
  local one
  for one in "${failed[@]}"; do
    if [[ $one == "$1" ]]; then
      echo "not run: stage $1 failed"
      exit 3
    fi
  done
  if [[ $1 == build && ! -e build-ci/build.ninja ]]; then
    echo "not run: scripts/ci.sh build comes first"
    exit 3
  fi
}

run_stage() {
  local name=$1 start=$SECONDS log=build-checks/$1.log verdict=ok
  mkdir -p build-checks
  echo "== $name: $(declare -f "stage_$name" | sed -n 's/^ *: "\(.*\)";*$/\1/p')"
  (set -euo pipefail; "stage_$name") >"$log" 2>&1 </dev/null &
  wait $! || {
    verdict=$([[ $? -eq 3 ]] && echo "not run" || echo FAILED)
    failed+=("$name")
    tail -n "${HONE_LOG_LINES:-80}" "$log"
  }
  grep -hE '^(note|skipped): ' "$log" | sort | uniq || true
  verdicts+=("$(awk -v name="$name" -v seconds=$((SECONDS - start)) -v verdict="$verdict" 'BEGIN { printf "%-14s %6.1f min  %s", name, seconds / 60, verdict }')")
  echo "   ${verdicts[-1]}"
}

# run_stages NAME...: these, all of them without a name; the exit code is 1 where one failed.
run_stages() {
  local name start=$SECONDS
  for name in "$@"; do
    if [[ $name == --list ]]; then
      printf '%s\n' "${stages[@]}"
      return
    fi
    if ! declare -F "stage_$name" >/dev/null; then
      echo "no stage '$name'; there are: ${stages[*]}" >&2
      return 2
    fi
  done
  for name in "${@:-"${stages[@]}"}"; do
    run_stage "$name"
  done
  echo
  printf '%s\n' "${verdicts[@]}"
  if [[ ${#failed[@]} -gt 0 ]]; then
    echo "FAILED: ${failed[*]} (logs in build-checks)"
    return 1
  fi
  echo "all green in $(((SECONDS - start + 59) / 60)) min"
}
