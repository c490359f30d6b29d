#!/usr/bin/env python3
"""Objects of a CUDA build that older devices have other code in: those of sources that compare __CUDA_ARCH__, themselves
or in a header of theirs. Of those that CMake makes for each scalar only the ones of the letters named.

  guarded.py BUILD_DIR [LETTERS]    prints one object a line, as ninja names it"""

import json
import pathlib
import re
import sys

import sources_sha256

COMPARED = re.compile(r"__CUDA_ARCH__\s*[<>=]")
OUTPUT = re.compile(r" -o (\S+)")
OF_A_SCALAR = re.compile(r"_([sdcz])\.cu$")


def guarded(commands, letters, tree):
    for command in commands:
        source = pathlib.Path(command["file"])
        scalar = OF_A_SCALAR.search(source.name)
        if source.suffix != ".cu" or (scalar and scalar[1] not in letters):
            continue
        closure = tree.closure([source.resolve().relative_to(tree.root).as_posix()])
        if any(COMPARED.search(tree.read(path)) for path in closure):
            yield OUTPUT.search(command["command"])[1]


def main():
    commands = json.loads((pathlib.Path(sys.argv[1]) / "compile_commands.json").read_text(encoding="utf-8"))
    found = sorted(guarded(commands, sys.argv[2] if len(sys.argv) > 2 else "sdcz", sources_sha256.Tree()))
    print("\n".join(found))
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
