#!/usr/bin/env python3
"""Writes into a program, after it was linked, the hash of what it is made of (.ci/sources_sha256.py).

  build_hash.py PROGRAM MAP COMPILE_COMMANDS OBJCOPY

MAP is the linker's map, which names the members of libraries that were taken; COMPILE_COMMANDS is CMake's
compile_commands.json, which names the sources of objects.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / ".ci"))
import sources_sha256  # noqa: E402

MEMBER = re.compile(r"^\S*?lib(\w+)\.a\(([^)]+)\)", re.MULTILINE)
TARGET = re.compile(r"CMakeFiles/([^/]+)\.dir/")
OUTPUT = re.compile(r" -o (\S+)")


def sources_by_object(commands):
    """(target, name of the object file): sources; files of one name in several folders are one object here."""
    found = {}
    for command in commands:
        output = command.get("output") or OUTPUT.search(command["command"]).group(1)
        target = TARGET.search(output)
        if target:
            found.setdefault((target.group(1), os.path.basename(output)), set()).add(
                os.path.join(command["directory"], command["file"]))
    return found


def linked(program, link_map, objects):
    """Sources of the program itself and of the library members that the linker took."""
    taken = {key for key in objects if key[0] == program}
    for library, member in MEMBER.findall(link_map):
        # the internals of a shared library are an archive of the same objects
        key = library.removesuffix("_internals"), member
        taken |= {key} & set(objects)
    return set().union(*(objects[key] for key in taken))


def in_tree(tree, build, files):
    """Names from the root. Of a source that CMake made, which lies in the build folder: what it includes."""
    names = set()
    for file in files:
        path = pathlib.Path(os.path.normpath(file))
        if path.is_relative_to(tree.root) and not path.is_relative_to(build):
            names.add(path.relative_to(tree.root).as_posix())
        else:
            names |= set(tree.included_by("", path.read_text(encoding="utf-8")))
    return sorted(names)


def commit(root):
    """Name of the commit, "+changes" behind it if the tree has any; empty outside of git."""
    answer = subprocess.run(["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+changes"], cwd=root,
                            capture_output=True, text=True, check=False)
    return answer.stdout.strip() if answer.returncode == 0 else ""


def main():
    program, link_map, commands, objcopy = map(pathlib.Path, sys.argv[1:])
    tree = sources_sha256.Tree()
    objects = sources_by_object(json.loads(commands.read_text(encoding="utf-8")))
    text = link_map.read_text(encoding="utf-8", errors="replace")
    sources = in_tree(tree, commands.parent, linked(program.name, text, objects))
    if not sources:
        sys.exit(f"build_hash: {program}: no source of it is known")
    build = {"blockjacobi_build": 1, "program": program.name,
             "sha256": tree.program_sha256(program.name, sources), "commit": commit(tree.root), "sources": sources}
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".json") as file:
        file.write(json.dumps(build) + "\n")
        file.flush()
        subprocess.run([objcopy, f"--add-section=.blockjacobi_build={file.name}", program], check=True)
    link_map.unlink()


if __name__ == "__main__":
    main()
