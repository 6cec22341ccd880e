#!/usr/bin/env bash
# One session over the GPUs of several hosts, by plain ssh: a worker for each GPU, and here the command that coordinates them.
#   ssh_workers.sh gpu1:8,gpu2:8 postgres://tuner@db.example.org/hone softmax --shape rows=4096,cols=4096 --budget 10m
# `hone` is in the hosts' PATH; the password, if there is one, in every ~/.pgpass. What follows the store goes to `hone tune`. SSH names another command,
# WORKER has further options of the workers.
set -euo pipefail
IFS=, read -ra hosts <<<"$1"
store=$2
shift 2
workers=()
finish() {
  kill "${workers[@]}" 2>/dev/null || true # the hosts see a hang-up, and workers give back what they are at
  wait
}
trap finish EXIT
for host in "${hosts[@]}"; do
  for ((gpu = 0; gpu < ${host##*:}; ++gpu)); do
    ${SSH:-ssh} -tt -o BatchMode=yes "${host%:*}" "hone serve-trials --device cuda:$gpu --store ${store@Q} --quiet ${WORKER:-}" </dev/null &
    workers+=($!)
  done
done
hone tune "$@" --workers --store "$store"
