#!/usr/bin/env bash
# Plain ssh: each host tunes its share of a file of problems on all of its GPUs; all keep their results in one store.
#   ssh_hosts.sh gpu1,gpu2 problems.txt postgres://tuner@db.example.org/hone --budget 10m
# `hone` is in the hosts' PATH; the password, if there is one, in their ~/.pgpass. What follows the store goes to `hone tune`. SSH names another command.
set -euo pipefail
IFS=, read -ra hosts <<<"$1"
problems=$2 store=$3
shift 3
running=()
trap 'kill "${running[@]}" 2>/dev/null || true' INT TERM
for place in "${!hosts[@]}"; do
  {
    failed=0
    while read -ra words; do
      # -tt: hone gets a hang-up when this script ends. Words are quoted for the shell of the other side.
      ${SSH:-ssh} -tt -o BatchMode=yes "${hosts[place]}" "hone tune ${words[*]@Q} --store ${store@Q} ${*@Q} --quiet" </dev/null || failed=1
    done < <(awk "NF && NR % ${#hosts[@]} == $place" "$problems")
    exit $failed
  } &
  running+=($!)
done
failed=0
for one in "${running[@]}"; do wait "$one" || failed=1; done
exit $failed
