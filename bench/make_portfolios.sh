#!/bin/bash
# Makes the portfolios of this machine's GPU. Run again, it goes on where it stopped.
#
#   bench/make_portfolios.sh HONE FOLDER [SHARE [NAME...]]
#
# FOLDER gets the store and NAME.json for kernels_src/portfolios/DEVICE. SHARE of the budgets below (default 1), of about 85
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
attention bf16 attention.bf16 300 batch=1..64,heads=1..64,group=1|4|8,queries=1..16384,keys=16..16384
attention bf16 attention.bf16.head64 240 batch=1..64,heads=1..64,group=1|4|8,queries=1..16384,keys=16..16384,head=64
attention bf16 attention.bf16.head256 240 batch=1..64,heads=1..64,group=1|4|8,queries=1..16384,keys=16..16384,head=256
attention bf16 attention.bf16.full 240 batch=1..64,heads=1..64,group=1|4|8,queries=1..16384,keys=16..16384,causal=0
attention bf16 attention.bf16.window 120 batch=1..64,heads=1..64,group=1|4|8,queries=1..16384,keys=16..16384,window=64..8192
attention bf16 attention.bf16.packed 120 batch=1..64,heads=1..32,group=1|4|8,queries=64..32768,keys=64..32768,packed=1,varied=0|1..100
attention_fp8 bf16 attention_fp8.bf16 150 batch=1..64,heads=1..64,group=1|4|8,queries=1..16384,keys=16..16384
attention_fp8 bf16 attention_fp8.bf16.head64 90 batch=1..64,heads=1..64,group=1|4|8,queries=1..16384,keys=16..16384,head=64
attention_fp8 bf16 attention_fp8.bf16.head256 90 batch=1..64,heads=1..64,group=1|4|8,queries=1..16384,keys=16..16384,head=256
attention_backward bf16 attention_backward.bf16 120 batch=1..64,heads=1..64,group=1|4|8,queries=16..16384,keys=16..16384
attention_backward bf16 attention_backward.bf16.head64 80 batch=1..64,heads=1..64,group=1|4|8,queries=16..16384,keys=16..16384,head=64
decode T=bf16,KV=bf16 decode.bf16 330 sequences=1..256,heads=1..16,group=1..16,queries=1..8,longest=32..65536,varied=0|1..100,page=16|32|64|128|256|512|1024|2048|4096|8192|16384|32768|65536
decode T=bf16,KV=e4m3 decode.e4m3 240 sequences=1..256,heads=1..16,group=1..16,queries=1..8,longest=32..65536,varied=0|1..100,page=16|32|64|128|256|512|1024|2048|4096|8192|16384|32768|65536
decode_latent bf16 decode_latent.bf16 150 sequences=1..256,heads=8..128,queries=1..8,longest=32..65536,varied=0|1..100,page=16|32|64|128|256|512|1024|2048|4096|8192|16384|32768|65536
rope_append bf16 rope_append.bf16 90 tokens=1..32768,heads=1..32,group=1..16,positions=32..65536,slots=64..131072
residual_rmsnorm bf16 residual_rmsnorm.bf16 150 rows=1..65536,cols=1..131072
bias_gelu bf16 bias_gelu.bf16 80 rows=1..65536,cols=1..131072
row_sum bf16 row_sum.bf16 90 rows=1..65536,cols=1..131072
transpose bf16 transpose.bf16 60 rows=1..65536,cols=1..65536
full_sum f32 full_sum.f32 50 n=1..268435456
scan f32 scan.f32 80 n=1..268435456
copy f32 copy.f32 40 n=1..268435456
row_sum f32 row_sum.f32.long 35 rows=1..4096,cols=131073..4194304
row_sum bf16 row_sum.bf16.long 35 rows=1..4096,cols=131073..4194304
softmax f32 softmax.f32.long 70 rows=1..4096,cols=131073..4194304
softmax bf16 softmax.bf16.long 70 rows=1..4096,cols=131073..4194304
layernorm f32 layernorm.f32.long 35 rows=1..4096,cols=131073..4194304
layernorm bf16 layernorm.bf16.long 35 rows=1..4096,cols=131073..4194304
rmsnorm f32 rmsnorm.f32.long 35 rows=1..4096,cols=131073..4194304
rmsnorm bf16 rmsnorm.bf16.long 35 rows=1..4096,cols=131073..4194304
JOBS
