"""Runs the lines `// sample run: PROGRAM ARGUMENTS` (in Fortran `! sample run: ...`) of example sources; each must end with status 0.

usage: sample_runs_test.py FOLDER_OF_PROGRAMS SOURCE...

Runs in the current folder, so that paths of matrices in the lines are relative to it.
"""

import pathlib
import re
import shlex
import subprocess
import sys


def sample_runs(source):
    return re.findall(r"^(?://|!) sample run: (.+)$", source.read_text(encoding="utf-8"), re.MULTILINE)


def run(folder, line):
    """True if the line ends with status 0."""
    print(f"== {line}", flush=True)
    # A program may stand behind mpirun.
    command = [folder / word if (folder / word).is_file() else word for word in shlex.split(line)]
    return subprocess.run(command, check=False).returncode == 0


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder, *sources = map(pathlib.Path, arguments)
    failed = []
    for source in sources:
        lines = sample_runs(source)
        if not lines:
            failed.append(f"{source}: no sample run")
        failed += [f"{source}: {line}" for line in lines if not run(folder.resolve(), line)]
    for failure in failed:
        print(f"FAILED {failure}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
