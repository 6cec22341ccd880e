#!/bin/bash
# Makes the portfolios of this machine's GPU. Run again, it goes on where it stopped.
#
#   bench/make_portfolios.sh HONE FOLDER [SHARE [NAME...]]
#
# FOLDER gets the store and NAME.json for kernels_src/portfolios/DEVICE. SHARE of the budgets below (default 1), of about 27
# minutes in all. NAME: only these (softmax.f32). An operation that fails does not end the run.
set -u
if [[ $# -lt 2 ]]; then
  echo "usage: bench/make_portfolios.sh HONE FOLDER [SHARE [NAME...]]" >&2
  exit 2
fi
hone=$1 folder=$2 share=${3:-1}
names=" ${*:4} "
mkdir -p "$folder"
while read -r operation dtype file seconds range; do
  [[ $names == "  " || $names == *" $file "* ]] || continue
  budget=$(awk "BEGIN {print int($seconds * $share)}")
  timeout $((budget + 60)) "$hone" tune "$operation" --dtype "$dtype" --shapes "$range" --budget "${budget}s" \
    --store "$folder/store.db" --out "$folder/$file.json" --json > "$folder/$file.report.json" ||
    echo "$file: exit status $?" >&2
done <<'JOBS'
row_sum f32 row_sum.f32 90 rows=1..65536,cols=1..131072
transpose f32 transpose.f32 90 rows=1..65536,cols=1..65536
softmax f32 softmax.f32 110 rows=1..65536,cols=1..131072
softmax bf16 softmax.bf16 150 rows=1..65536,cols=1..131072
layernorm f32 layernorm.f32 100 rows=1..65536,cols=1..131072
layernorm bf16 layernorm.bf16 150 rows=1..65536,cols=1..131072
rmsnorm f32 rmsnorm.f32 100 rows=1..65536,cols=1..131072
rmsnorm bf16 rmsnorm.bf16 150 rows=1..65536,cols=1..131072
matmul bf16 matmul.bf16 250 m=1..16384,n=16..16384,k=16..16384
matmul bf16 matmul.bf16.weights 250 m=1..16384,n=16..16384,k=16..16384,layout=2
matmul f32 matmul.f32 150 m=1..8192,n=16..16384,k=16..16384
JOBS
