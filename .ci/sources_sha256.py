#!/usr/bin/env python3
"""The hash of the sources that a record of GPU tests speaks of.

Covers the files under git's control in include, src, kernels, tests and cmake and every CMakeLists.txt, but not the
records themselves (tests/gpu-record*). Where the tree is no git repository, take the list of files along:

  sources_sha256.py                        print the hash
  sources_sha256.py --list                 print the names of the files, one a line
  sources_sha256.py --files LIST           hash the files named in LIST
  sources_sha256.py --check RECORD.json    say whether the record was made from these sources; status 1 if not
"""

import argparse
import hashlib
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("include/", "src/", "kernels/", "tests/", "cmake/")


def is_covered(path):
    if path.startswith("tests/gpu-record"):
        return False
    return path.startswith(FOLDERS) or path.split("/")[-1] == "CMakeLists.txt"


def files_of_git():
    """Names of the covered files, sorted by their bytes; None outside a git repository."""
    try:
        listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    names = [name for name in listing.decode("utf-8").split("\0") if name]
    return sorted((name for name in names if is_covered(name)), key=lambda name: name.encode("utf-8"))


def files_of_list(path):
    names = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    return sorted({name for name in names if name and is_covered(name)}, key=lambda name: name.encode("utf-8"))


def hash_of(names, root=ROOT):
    """SHA-256 over the lines "<SHA-256 of the content>  <name>"."""
    total = hashlib.sha256()
    for name in names:
        content = hashlib.sha256((root / name).read_bytes()).hexdigest()
        total.update(f"{content}  {name}\n".encode("utf-8"))
    return total.hexdigest()


def check(record, names):
    path = pathlib.Path(record)
    if not path.exists():
        print(f"{record}: does not exist; no GPU tests are on record")
        return 1
    recorded = json.loads(path.read_text(encoding="utf-8")).get("sources_sha256")
    now = hash_of(names)
    if recorded == now:
        print(f"{record}: made from these sources ({now})")
        return 0
    print(f"{record}: STALE, made from other sources (record {recorded}, now {now})")
    return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the names of the files")
    parser.add_argument("--files", metavar="LIST", help="take the names from LIST instead of git")
    parser.add_argument("--check", metavar="RECORD", help="compare with a record")
    arguments = parser.parse_args()

    names = files_of_list(arguments.files) if arguments.files else files_of_git()
    if not names:
        reason = "names no file" if arguments.files else "no git repository with these sources; name them with --files"
        print(f"sources_sha256: {arguments.files or ROOT}: {reason}", file=sys.stderr)
        return 2
    if arguments.list:
        print("\n".join(names))
        return 0
    if arguments.check:
        return check(arguments.check, names)
    print(hash_of(names))
    return 0


if __name__ == "__main__":
    sys.exit(main())
