# shellcheck shell=bash
# Sourced by the other scripts: goes to the repository's root and sets what configuring, building and running need.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
if [[ -z ${HONE_NVRTC:-} ]]; then
  # The wheel that install_dependencies.sh fetched, where there is no CUDA toolkit.
  for library in .cache/nvrtc/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.1[23]; do
    [[ -e $library ]] && export HONE_NVRTC=$PWD/$library
  done
fi

# Which preset is built and tested, and where it lies.
preset=${HONE_PRESET:-release}
build_folder=build$([[ $preset == release ]] || echo "-$preset")

# Configures and builds; the arguments go to cmake --build (--target ... for a part).
build() {
  cmake --preset "$preset"
  cmake --build --preset "$preset" --parallel "$(nproc)" ${HONE_TARGETS:+--target $HONE_TARGETS} "$@"
}
