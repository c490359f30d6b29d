#!/usr/bin/env bash
# clang-tidy over the lines of src/ that changed since a commit, by default since HEAD left origin/main, or in the last
# commit where it has not; within a minute, and .ci/nightly looks at all of src/.
#   .ci/tidy.sh BUILD_DIR [SINCE]    BUILD_DIR has compile_commands.json
# Status 1 if it finds something; what it did not come to in time is no failure, and said.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=$1
since=${2:-$(git merge-base HEAD origin/main 2>/dev/null || true)}
if [[ -z "$since" || "$since" == "$(git rev-parse HEAD)" ]]; then
  since=$(git rev-parse --verify -q HEAD~1 || true)
fi
differ=$(command -v clang-tidy-diff-14.py || command -v clang-tidy-diff.py || true)
if [[ -z "$differ" || -z "$since" ]]; then
  echo "tidy: SKIPPED: no clang-tidy 14, or no earlier commit"
  exit 0
fi

# Kernels are not for it, nor is what this build does not compile.
mapfile -t changed < <(git diff --name-only --diff-filter=d "$since" -- 'src/*.cpp' | while read -r file; do
  grep -q "/$file\"" "$build/compile_commands.json" && echo "$file"
done)
if [[ ${#changed[@]} -eq 0 ]]; then
  echo "tidy: no source of src/ changed since ${since:0:12}"
  exit 0
fi
status=0
found=$(git diff -U0 "$since" -- "${changed[@]}" |
  timeout 60 "$differ" -p1 -path "$build" -clang-tidy-binary "$(command -v clang-tidy-14 || command -v clang-tidy)" \
    -j "$(nproc)" -timeout 50 -quiet 2>/dev/null) || status=$?
if [[ $status -eq 124 ]]; then
  echo "tidy: not finished within a minute"
fi
if grep -E "(warning|error): " <<<"$found"; then
  echo "tidy: see above; ${#changed[@]} files changed since ${since:0:12}"
  exit 1
fi
echo "tidy: ${#changed[@]} files changed since ${since:0:12}, nothing found"
