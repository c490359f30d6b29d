#!/usr/bin/env bash
# Checks the formatting of all C++ and CUDA sources; with --fix rewrites them. Any clang-format but 14 is an error,
# since other versions format differently.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

formatter=$(command -v clang-format-14 || command -v clang-format || true)
if [[ -z "$formatter" ]]; then
  echo "format: clang-format 14 is not installed" >&2
  exit 1
fi
version=$("$formatter" --version)
if [[ ! "$version" =~ version\ 14\. ]]; then
  echo "format: clang-format 14 is needed, $formatter is: $version" >&2
  exit 1
fi

# Files that git ignores are not ours.
mapfile -d '' sources < <(git ls-files -z --cached --others --exclude-standard -- '*.hpp' '*.h' '*.cpp' '*.c' '*.cu' '*.cuh')
existing=()
for source in "${sources[@]}"; do
  if [[ -f "$source" ]]; then
    existing+=("$source")
  fi
done
if [[ ${#existing[@]} -eq 0 ]]; then
  echo "format: found no sources" >&2
  exit 1
fi

if [[ "${1:-}" == --fix ]]; then
  "$formatter" -i "${existing[@]}"
else
  "$formatter" --dry-run --Werror "${existing[@]}"
fi
echo "format: ${#existing[@]} files"
