#!/usr/bin/env python3
"""Checks that every C++ and CUDA source stands in the CMake file of its folder: what is not listed is not built, and a
test that is not listed passes unseen."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("src", "kernels", "matrices", "examples", "benchmarks", "tests", "python")
# Projects of their own, which name main.cpp themselves, and a program that such projects share.
OWN_PROJECTS = ("examples/02_link_the_library/", "tests/package/")


def list_of(source):
    """The nearest CMakeLists.txt above a source."""
    return next(folder / "CMakeLists.txt" for folder in source.parents if (folder / "CMakeLists.txt").exists())


def main():
    missing = []
    for folder in FOLDERS:
        for source in sorted((ROOT / folder).rglob("*.c*")):
            path = source.relative_to(ROOT).as_posix()
            if not path.endswith((".cpp", ".cu", ".c", ".cpp.in", ".cu.in")) or path.startswith(OWN_PROJECTS):
                continue
            # Lists of tests name the folder once and then the files.
            words = set(re.findall(r"[\w./-]+", list_of(source).read_text(encoding="utf-8")))
            inside = source.relative_to(list_of(source).parent)
            if inside.as_posix() not in words and not {inside.name, inside.parent.as_posix()} <= words:
                missing.append(f"{path} is not in {list_of(source).relative_to(ROOT)}")
    print("\n".join(missing) if missing else "listed: every source stands in a CMake file")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
