#!/usr/bin/env bash
# Installs what Hone builds and tests with, on Debian 12, Ubuntu 24.04 or later. Asks nothing; installs only what is missing, and where
# nothing is missing it touches neither apt nor the network. docs/dependencies.md says what each package is for.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=()   # to install
need_command() { command -v "$1" >/dev/null || packages+=("$2"); }
need_header() {
  local directory
  for directory in /usr/include /usr/local/include /usr/include/"$(uname -m)"-linux-gnu; do
    [[ -e $directory/$1 ]] && return
  done
  packages+=("$2")
}

# The newest libclang (17 or later) that is here with its headers, as a version number.
libclang_here() {
  local directory
  for directory in $(printf '%s\n' /usr/lib/llvm-*/ | sort -rV); do
    local version=${directory#/usr/lib/llvm-}
    version=${version%/}
    if [[ $version =~ ^[0-9]+$ && $version -ge 17 && -e $directory/include/clang-c/Index.h ]] && compgen -G "$directory/lib/libclang*.so*" >/dev/null; then
      echo "$version"
      return
    fi
  done
}

# 19 is what Hone is tested with, and both distributions carry it; else the newest they have.
libclang_package() {
  local version
  for version in 19 $(apt-cache --names-only search '^libclang-[0-9]+-dev$' | sed -E 's/^libclang-([0-9]+)-dev.*/\1/' | sort -rn); do
    if [[ $version -ge 17 ]] && apt-cache show "libclang-$version-dev" >/dev/null 2>&1; then
      echo "libclang-$version-dev"
      return
    fi
  done
  echo "no libclang 17 or later in this distribution: your own kernel files cannot be read" >&2
}

need_command g++ g++
need_command cmake cmake
need_command ninja ninja-build
need_command git git
need_command python3 python3
need_command sqlite3 sqlite3
need_command pkg-config pkg-config
need_header boost/asio.hpp libboost-dev
need_header boost/context/fiber.hpp libboost-context-dev
need_header doctest/doctest.h doctest-dev
need_header cxxopts.hpp libcxxopts-dev
need_header nlohmann/json.hpp nlohmann-json3-dev
need_header toml++/toml.h libtomlplusplus-dev
need_header fmt/format.h libfmt-dev
need_header sqlite3.h libsqlite3-dev
need_header zlib.h zlib1g-dev
need_header xxhash.h libxxhash-dev
compgen -G '/usr/lib/*/libboost_context.*' >/dev/null || compgen -G '/usr/local/lib/libboost_context.*' >/dev/null || packages+=(libboost-context-dev)

# NVRTC compiles kernels for GPUs, on machines without one too. A CUDA toolkit brings it; else it comes from its wheel.
nvrtc_here() {
  [[ -n ${HONE_NVRTC:-} ]] || ldconfig -p 2>/dev/null | grep -q 'libnvrtc\.so\.1[23]' \
    || compgen -G '/usr/local/cuda*/lib64/libnvrtc.so*' >/dev/null || compgen -G "${CUDA_HOME:-/nonexistent}/lib64/libnvrtc.so*" >/dev/null
}
nvrtc_wheel() { compgen -G '.cache/nvrtc/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.1[23]'; }
if ! nvrtc_here && ! nvrtc_wheel >/dev/null; then
  python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)
  wheel_wanted=yes
fi

if [[ ${#packages[@]} -gt 0 || -z $(libclang_here) ]]; then
  if ! command -v apt-get >/dev/null; then
    echo "this machine has no apt-get; install by hand (Debian's names): ${packages[*]} $([[ -n $(libclang_here) ]] || echo libclang-19-dev)" >&2
    exit 1
  fi
  root=()
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || { echo "run this as root, or install sudo" >&2; exit 1; }
    root=(sudo)
  fi
  "${root[@]}" apt-get update -q
  [[ -n $(libclang_here) ]] || mapfile -t -O "${#packages[@]}" packages < <(libclang_package)
  echo "installing: ${packages[*]}"
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends -o Dpkg::Use-Pty=0 "${packages[@]}"
fi

if [[ -n ${wheel_wanted:-} ]]; then
  echo "no CUDA toolkit here: taking NVRTC from PyPI into .cache/nvrtc"
  if ! { python3 -m venv .cache/nvrtc && .cache/nvrtc/bin/python -m pip install -q --disable-pip-version-check 'nvidia-cuda-nvrtc==13.0.*'; }; then
    rm -rf .cache/nvrtc
    echo "NVRTC could not be had: kernels are not compile-tested for a GPU here; everything else works" >&2
  fi
fi
