#!/usr/bin/env python3
"""Compares what a shared library shows with what the last release of the same soname showed, by libabigail.

usage: abi.py LIBRARY            status 1 if a symbol of the release is gone or has changed
       abi.py LIBRARY --write    at a release: keeps what the library shows as .ci/abi/SONAME.abi, for later ones
       abi.py --self-test        shows that the comparison finds what it should

Below 1.0 every minor version has a soname of its own, so there is nothing to compare until a soname has its first
release. A library without debug information tells its symbols: of C++ these hold the types of the parameters, but the
members of structures are seen only if both libraries were compiled with -g.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

DUMPS = pathlib.Path(__file__).resolve().parent / "abi"


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


def checked(*command):
    done = run(*command)
    if done.returncode != 0:
        raise SystemExit(f"abi: {' '.join(map(str, command))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def soname_of(library):
    found = re.search(r"SONAME.*\[(.+)\]", checked("readelf", "-d", library))
    if not found:
        raise SystemExit(f"abi: {library} has no soname")
    return found[1]


def dump(library, path):
    path.parent.mkdir(exist_ok=True)
    checked("abidw", "--no-corpus-path", "--no-comp-dir-path", "--out-file", path, library)


def difference(released, library):
    """What is gone or changed, as text; nothing where programs linked with the release go on working."""
    done = run("abidiff", "--no-added-syms", released, library)
    if done.returncode & 3:
        raise SystemExit(f"abi: abidiff: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout if done.returncode != 0 else ""


def check(library, dumps=DUMPS):
    released = dumps / f"{soname_of(library)}.abi"
    if not released.exists():
        print(f"abi: {library} has the soname {soname_of(library)}, of which there is no release yet")
        return 0
    found = difference(released, library)
    print(found or f"abi: all of {released.name} is there", end="" if found else "\n")
    return 1 if found else 0


def self_test():
    """A release with two functions, and what may and may not follow it."""
    release = ("struct Options {{ int size; }};\n"
               "int {name}({type} n) {{ return n != 0; }}\n"
               "int other(Options* o) {{ return o->size; }}\n")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def build(source, *flags):
            (folder / "library.cpp").write_text(source, encoding="utf-8")
            library = folder / "libtest.so"
            checked("c++", "-shared", "-fPIC", *flags, "-Wl,-soname,libtest.so.1", folder / "library.cpp", "-o", library)
            return library

        first = release.format(name="one", type="int")
        cases = (
            ("the same", first, (), 0),
            ("one more function", first + "int more() { return 1; }\n", (), 0),
            ("a function removed", first.replace("int one(int n) { return n != 0; }\n", ""), (), 1),
            ("another name", release.format(name="uno", type="int"), (), 1),
            ("another type of a parameter", release.format(name="one", type="long"), (), 1),
            ("a member before others, with -g", first.replace("int size;", "long more; int size;"), ("-g",), 1),
        )
        for what, source, flags, expected in cases:
            dump(build(first, *flags), folder / "libtest.so.1.abi")
            if check(build(source, *flags), folder) != expected:
                raise SystemExit(f"abi: self-test: {what}: expected {expected}")
        checked("rm", folder / "libtest.so.1.abi")
        if check(build(first), folder) != 0:
            raise SystemExit("abi: self-test: no release yet")
    print(f"abi: self-test: {len(cases) + 1} cases")
    return 0


def main(arguments):
    if not arguments or (len(arguments) > 1 and arguments[1:] != ["--write"]):
        print(__doc__, file=sys.stderr)
        return 2
    if shutil.which("abidiff") is None:
        raise SystemExit("abi: there is no abidiff (Debian: abigail-tools)")
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) == 1:
        return check(pathlib.Path(arguments[0]))
    dump(arguments[0], DUMPS / f"{soname_of(arguments[0])}.abi")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
