#!/bin/bash
# Makes the portfolios of this machine's GPU. Run again, it goes on where it stopped.
#
#   bench/make_portfolios.sh HONE FOLDER [SHARE]
#
# FOLDER gets the store and OPERATION.DTYPES.json for kernels_src/portfolios/DEVICE. SHARE of the budgets below (default 1), of about nine
# minutes in all. An operation that fails does not end the run.
set -u
hone=$1 folder=$2 share=${3:-1}
mkdir -p "$folder"
while read -r operation dtype seconds each range; do
  budget=$(awk "BEGIN {print int($seconds * $share)}")
  timeout $((budget + 60)) "$hone" tune "$operation" --dtype "$dtype" --shapes "$range" --budget "${budget}s" --each "$each" \
    --store "$folder/store.db" --out "$folder/$operation.$dtype.json" --json > "$folder/$operation.$dtype.report.json" ||
    echo "$operation $dtype: exit status $?" >&2
done <<'JOBS'
row_sum f32 45 0.9 rows=1..65536,cols=1..131072
transpose f32 45 0.9 rows=1..65536,cols=1..65536
softmax f32 55 0.9 rows=1..65536,cols=1..131072
layernorm f32 50 0.9 rows=1..65536,cols=1..131072
rmsnorm f32 50 0.9 rows=1..65536,cols=1..131072
matmul bf16 170 1.8 m=1..16384,n=16..16384,k=16..16384
matmul f32 110 1.8 m=1..8192,n=16..16384,k=16..16384
JOBS
