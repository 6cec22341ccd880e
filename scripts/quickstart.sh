#!/usr/bin/env bash
# From a fresh clone to a tuned kernel: installs what is missing, builds, tunes softmax on the best device of this machine, and prints
# the default against the best. Asks nothing. HONE_QUICKSTART_BUDGET (default 20s) is the time to search.
set -euo pipefail
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$scripts/install_dependencies.sh"
source "$scripts/environment.sh"
build --target hone hone-worker

store=build/quickstart.db
# A host is far slower than a GPU: a small problem lets it try many configurations in the same time.
shape=rows=64,cols=1024
if build/bin/hone devices --json | grep -q '"id":"cuda:'; then
  shape=rows=4096,cols=4096
fi
echo
build/bin/hone doctor --store "$store"
echo
echo "tuning softmax ($shape, f32) on the best device here ..."
build/bin/hone tune softmax --dtype f32 --shape "$shape" --budget "${HONE_QUICKSTART_BUDGET:-20s}" --seed 1 --store "$store"
cat <<END

next:
  build/bin/hone best softmax --dtype f32 --shape $shape --store $store
  build/bin/hone tune examples/own_kernel/bias_gelu.cu --shape $shape --budget 20s --store $store
  scripts/test.sh
END
