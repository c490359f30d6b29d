"""A shared library shows the C interface and the namespace blockjacobi, and nothing else.

usage: symbols_test.py LIBRARY HEADER [SYMBOL...]

HEADER is blockjacobi.h, or petsc.h for the library of that adapter: every function that it declares must be there. So
must the SYMBOLs, which are also ours.
"""

import pathlib
import re
import subprocess
import sys

OWN = re.compile(r"bj_\w+$|(?:[\w:<>, ]+ )?(?:vtable for |typeinfo for |typeinfo name for )?blockjacobi::")


def visible(library, *options):
    """Names of the defined dynamic symbols."""
    listing = subprocess.run(["nm", "-D", "--defined-only", *options, library], capture_output=True, check=True, text=True)
    return [line.split(" ", 2)[2] for line in listing.stdout.splitlines() if line]


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    library, header, *others = arguments
    names = set(visible(library))
    declared = set(re.findall(r"\b(bj_\w+)\(", pathlib.Path(header).read_text(encoding="utf-8")))
    faults = [f"not visible: {name}" for name in sorted((declared | set(others)) - names)]
    faults += [f"declared nowhere: {name}" for name in sorted(names - declared) if name.startswith("bj_")]
    faults += [f"not ours: {name}" for name in visible(library, "--demangle")
               if name not in others and not OWN.match(name)]
    for fault in faults:
        print(f"{library}: {fault}", file=sys.stderr)
    print(f"{len(names)} symbols, {len(declared)} of them of the C interface")
    return 1 if faults or not declared else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
