# shellcheck shell=bash
# Sourced by the other scripts: goes to the repository's root and sets what configuring, building and running need.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
if [[ -z ${HONE_NVRTC:-} ]]; then
  # The wheel that install_dependencies.sh fetched, where there is no CUDA toolkit.
  for library in .cache/nvrtc/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.1[23]; do
    [[ -e $library ]] && export HONE_NVRTC=$PWD/$library
  done
fi

# Configures and builds; the arguments go to cmake --build (--target ... for a part).
build() {
  cmake --preset release
  cmake --build --preset release --parallel "$(nproc)" "$@"
}
