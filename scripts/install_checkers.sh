#!/usr/bin/env bash
# Installs what checks Hone and is not needed to build it: scripts/install_checkers.sh [format] [clang] [coverage] [postgres] [pages], all without an argument.
# Asks nothing; installs only what is missing. Versions are pinned, so that each machine gives the same answer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

clang_format=14.0.6
gcovr=8.4
clang=19  # both distributions have it, and libclang is of the same version

apt_install() {
  local root=()
  [[ $(id -u) -eq 0 ]] || root=(sudo)
  "${root[@]}" apt-get update -q
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends -o Dpkg::Use-Pty=0 "$@"
}

# wheel NAME VERSION PROGRAM: into .cache/checkers, where no other version is there.
wheel() {
  local program=.cache/checkers/bin/$3
  [[ -x $program ]] && "$program" --version | grep -qF "$2" && return
  python3 -c 'import ensurepip, venv' 2>/dev/null || apt_install python3-venv
  [[ -x .cache/checkers/bin/python ]] || python3 -m venv .cache/checkers
  .cache/checkers/bin/python -m pip install -q --disable-pip-version-check "$1==$2"
}

format() {
  local system
  for system in clang-format-14 clang-format; do
    command -v "$system" >/dev/null && "$system" --version | grep -qF "version $clang_format" && return
  done
  # Both distributions have this version; where they do not, its wheel is as good.
  apt_install clang-format-14 && clang-format-14 --version | grep -qF "version $clang_format" && return
  wheel clang-format "$clang_format" clang-format
}
clang() { { command -v "clang++-$clang" && command -v "clang-tidy-$clang"; } >/dev/null || apt_install "clang-$clang" "clang-tidy-$clang" "libclang-rt-$clang-dev"; }
coverage() { wheel gcovr "$gcovr" gcovr; }
postgres() { { command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; } >/dev/null 2>&1 || apt_install postgresql; }
pages() { command -v chromium >/dev/null || apt_install chromium; }

for what in "${@:-format clang coverage postgres pages}"; do
  for one in $what; do
    case $one in
      format | clang | coverage | postgres | pages) "$one" ;;
      *) echo "install_checkers.sh: no checker '$one'; there are format, clang, coverage, postgres and pages" >&2 && exit 2 ;;
    esac
  done
done
