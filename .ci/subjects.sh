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
# Already shared when they were found too long; history is not rewritten for them.
accepted='^(26e05ca|b7593f3|bcb6c35|f13f07c|ae0fc31)'
# Characters, not bytes.
long=$(git log --no-merges -n 50 --format='%h %s' "$rule"..HEAD | { grep -Ev "$accepted" || true; } |
  LC_ALL=C.UTF-8 awk '{ subject = substr($0, index($0, " ") + 1) } length(subject) > 72 { print $1 ": " length(subject) ": " subject }')
if [[ -n "$long" ]]; then
  echo "$long"
  echo "subjects: more than 72 characters"
  exit 1
fi
echo "subjects: none of more than 72 characters"
