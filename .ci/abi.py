#!/usr/bin/env python3
"""Compares what a shared library shows with what the last release of the same soname showed, by libabigail.

usage: abi.py LIBRARY            status 1 if a symbol of the release is gone or has changed
       abi.py LIBRARY --write    at a release: keeps what the library shows as .ci/abi/SONAME.abi, for later ones
       abi.py --self-test        shows that the comparison finds what it should

Below 1.0 every minor version has a soname of its own, so there is nothing to compare until a soname has its first
release. LIBRARY is compiled with -g: without debug information it tells its symbols alone, of which those of C++ hold the
types of the parameters, but not the members of structures. Of structures those count that public headers define. Functions
that public headers define do not count: each program has its own, and the library shows those that it happens to use.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DUMPS = ROOT / ".ci" / "abi"
HEADERS = ROOT / "include"
CLASS_TEMPLATE = re.compile(r"^template <\w+ T>\nclass BLOCKJACOBI_EXPORT (\w+)", re.MULTILINE)
SCALARS = ("float", "double", "std::complex<float>", "std::complex<double>")
# What the standard library and header-only ones define is not ours to keep, and would be two thirds of a dump.
OF_OTHERS = """[suppress_type]
  name_regexp = ^(std|__gnu_cxx|fmt|Eigen)::
  drop = yes
"""


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


def has_debug_information(library):
    return " .debug_info " in checked("readelf", "--wide", "--sections", library)


def defined_by_headers(headers):
    """The symbols of a program that includes all headers, keeps every inline function and has every class template for
    each scalar: what it defines, no program takes from the library. Adapters need headers of others and are in no library."""
    found = [path for path in sorted(headers.rglob("*.hpp")) if path.parent.name != "adapters"]
    templates = [name for path in found for name in CLASS_TEMPLATE.findall(path.read_text(encoding="utf-8"))]
    source = "#include <complex>\n" + "".join(f"#include \"{path.relative_to(headers)}\"\n" for path in found)
    source += "".join(f"template class blockjacobi::{name}<{scalar}>;\n" for name in templates for scalar in SCALARS)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "all.cpp").write_text(source, encoding="utf-8")
        checked("c++", "-std=c++20", "-fkeep-inline-functions", "-I", headers, "-c", folder / "all.cpp", "-o",
                folder / "all.o")
        symbols = checked("nm", "--defined-only", "--format=just-symbols", folder / "all.o")
    return sorted({symbol for symbol in symbols.split() if "11blockjacobi" in symbol})


def dump(library, path, headers=HEADERS):
    """Without names of folders, lines and parameters, and with types known by a hash of their names, so that a later one
    differs in little."""
    path.parent.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile("w", suffix=".ini") as suppressions:
        suppressions.write(OF_OTHERS)
        for symbol in defined_by_headers(headers):
            suppressions.write(f"[suppress_function]\n  symbol_name = {symbol}\n  drop = yes\n")
        suppressions.flush()
        checked("abidw", "--exported-interfaces-only", "--no-elf-needed", "--no-corpus-path", "--no-comp-dir-path",
                "--no-show-locs", "--no-parameter-names", "--type-id-style", "hash", "--headers-dir", headers,
                "--drop-private-types", "--suppressions", suppressions.name, "--out-file", path, library)


def difference(released, library, headers=HEADERS):
    """What is gone or changed, as text; nothing where programs linked with the release go on working."""
    with tempfile.TemporaryDirectory() as name:
        now = pathlib.Path(name) / released.name
        dump(library, now, headers)
        done = run("abidiff", "--no-added-syms", released, now)
    if done.returncode & 3:
        raise SystemExit(f"abi: abidiff: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout if done.returncode != 0 else ""


def check(library, dumps=DUMPS, headers=HEADERS):
    released = dumps / f"{soname_of(library)}.abi"
    if not released.exists():
        print(f"abi: {library} has the soname {soname_of(library)}, of which there is no release yet")
        return 0
    found = difference(released, library, headers)
    print(found or f"abi: all of {released.name} is there", end="" if found else "\n")
    return 1 if found else 0


def self_test():
    """A release with two functions, and what may and may not follow it."""
    header = ("#define BLOCKJACOBI_EXPORT __attribute__((visibility(\"default\")))\n"
              "struct Private;\nstruct Options { int size; Private* held; };\n"
              "namespace blockjacobi {\n"
              "template <class T>\nclass BLOCKJACOBI_EXPORT Value {\n"
              " public:\n  bool is_zero() const { return *this == T{}; }\n  bool operator==(T other) const;\n  T held;\n};\n"
              "}\n")
    release = ("#include \"options.hpp\"\n"
               "struct Private {{ int count; }};\n"
               "int {name}({type} n) {{ return n != 0; }}\n"
               "int other(Options* o) {{ return o->held != nullptr ? o->held->count : o->size; }}\n"
               "template <class T> bool blockjacobi::Value<T>::operator==(T other) const {{ return held == other; }}\n"
               "template bool blockjacobi::Value<double>::operator==(double) const;\n"
               "static bool shown(blockjacobi::Value<double> v) {{ return v.is_zero(); }}\n"
               "bool held_is_zero(double d) {{ return shown({{d}}); }}\n")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def build(source, options=header):
            (folder / "include").mkdir(exist_ok=True)
            (folder / "include" / "options.hpp").write_text(options, encoding="utf-8")
            (folder / "library.cpp").write_text(source, encoding="utf-8")
            library = folder / "libtest.so"
            checked("c++", "-shared", "-fPIC", "-g", "-I", folder / "include", "-Wl,-soname,libtest.so.1",
                    folder / "library.cpp", "-o", library)
            return library

        first = release.format(name="one", type="int")
        cases = (
            ("the same", first, header, 0),
            ("one more function", first + "int more() { return 1; }\n", header, 0),
            ("a function removed", first.replace("int one(int n) { return n != 0; }\n", ""), header, 1),
            ("a member of a template removed",
             first.replace("template bool blockjacobi::Value<double>::operator==(double) const;\n", "")
             .replace("return v.is_zero()", "return v.held == 0.0"), header, 1),
            ("an inline function that is not used any more", first.replace("return v.is_zero()", "return v == 0.0"), header, 0),
            ("an inline function that is in the library now",
             first + "template <class T> bool blockjacobi::Value<T>::is_zero() const { return held == 0.0; }\n",
             header.replace("{ return *this == T{}; }", ";"), 0),
            ("another name", release.format(name="uno", type="int"), header, 1),
            ("another type of a parameter", release.format(name="one", type="long"), header, 1),
            ("a member before others", first, header.replace("int size;", "long more; int size;"), 1),
            ("a member of what no header defines", first.replace("int count;", "long more; int count;"), header, 0),
        )
        for what, source, options, expected in cases:
            dump(build(first), folder / "libtest.so.1.abi", folder / "include")
            if check(build(source, options), folder, folder / "include") != expected:
                raise SystemExit(f"abi: self-test: {what}: expected {expected}")
        checked("rm", folder / "libtest.so.1.abi")
        if check(build(first), folder, folder / "include") != 0:
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
    if not has_debug_information(arguments[0]):
        raise SystemExit(f"abi: {arguments[0]} has no debug information, compile it with -g")
    if len(arguments) == 1:
        return check(pathlib.Path(arguments[0]))
    dump(arguments[0], DUMPS / f"{soname_of(arguments[0])}.abi")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
