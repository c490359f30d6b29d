#!/usr/bin/env bash
# Commit subjects have at most 72 characters; the reason stands in the body. Looks at the last 50 commits, as far as they
# came after this rule.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

rule=$(git log --diff-filter=A --format=%H -n 1 -- .ci/subjects.sh 2>/dev/null || true)
if [[ -z "$rule" ]]; then
  echo "subjects: no commit after this rule"
  exit 0
fi
# Characters, not bytes.
long=$(git log --no-merges -n 50 --format='%h %s' "$rule"..HEAD |
  LC_ALL=C.UTF-8 awk '{ subject = substr($0, index($0, " ") + 1) } length(subject) > 72 { print $1 ": " length(subject) ": " subject }')
if [[ -n "$long" ]]; then
  echo "$long"
  echo "subjects: more than 72 characters"
  exit 1
fi
echo "subjects: none of more than 72 characters"
