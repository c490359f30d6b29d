#!/usr/bin/env bash
# Compiles the consumer with the flags of pkg-config alone, and runs it.
#   run.sh PREFIX/lib/pkgconfig COMPILER VERSION
set -euo pipefail
export PKG_CONFIG_PATH=$1
compiler=$2
version=$3

found=$(pkg-config --modversion blockjacobi)
if [[ "$found" != "$version" ]]; then
  echo "pkg-config says version $found, not $version" >&2
  exit 1
fi
# A shared library is found at run time where it was installed.
read -r -a cflags <<<"$(pkg-config --cflags blockjacobi)"
read -r -a libs <<<"$(pkg-config --static --libs blockjacobi) -Wl,-rpath,$(pkg-config --variable=libdir blockjacobi)"
"$compiler" -std=c++20 -Wall -Wextra -Werror "${cflags[@]}" -o consumer "$(dirname "$0")/../main.cpp" "${libs[@]}"
./consumer "$version"
