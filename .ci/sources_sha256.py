#!/usr/bin/env python3
"""The hash of what a test or benchmark program is made of, and whether a record of GPU tests still speaks of this tree.

A program is made of its own sources, of the objects of the library that the linker took, of all headers that these
include, and of the rules of the CMake files that decide how they are compiled. Comments and white space do not count.
cmake/build_hash.py writes the hash into the program when it is linked, with the commit and the names of the sources, so
that a record says what ran and not what lay in the tree meanwhile; the same hash is computed here from the tree.

  sources_sha256.py --check RECORD.json    say which programs of the record are stale, and what it lacks; status 1 if
                                           there are any; with --tests, of a record of some programs whose tests alone ran;
                                           with --failures, status 1 only for what failed of these sources
  sources_sha256.py --of PROGRAM...        say what each program was built from; status 1 if that is not this tree
  sources_sha256.py --gpu-programs         names of the test programs with cases for CUDA
"""

import argparse
import functools
import hashlib
import json
import os
import pathlib
import re
import sys

import test_lists

ROOT = test_lists.ROOT
# Where an #include is looked for after the folder of the file that has it.
INCLUDE_FOLDERS = ("include", "src", "", "tests", "benchmarks")
# Files and commands that decide how the sources of the library are compiled; the lists of sources count where a program
# is made of them.
RULE_FILES = ("CMakeLists.txt", "cmake/BuildDefaults.cmake", "cmake/Gpu.cmake", "cmake/HostIsas.cmake",
              "cmake/Targets.cmake", "src/CMakeLists.txt", "kernels/CMakeLists.txt", "matrices/CMakeLists.txt")
RULE_COMMANDS = {"add_compile_definitions", "add_compile_options", "set_property", "set_source_files_properties",
                 "set_target_properties", "target_compile_definitions", "target_compile_features",
                 "target_compile_options", "target_link_options"}
PROGRAM_FILES = ("tests/CMakeLists.txt", "benchmarks/CMakeLists.txt")
MARK = b'{"blockjacobi_build": 1'

TOKEN = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/|\\\n)
      | (?P<newline>\n)
      | (?P<code>(?:u8|[uUL])?R"(?P<fence>[^()\\\s]{0,16})\(.*?\)(?P=fence)"
          | "(?:\\.|[^"\\\n])*"
          | \.?\d(?:'\w|[eEpP][+-]|[\w.])*
          | [A-Za-z_]\w*
          | '(?:\\.|[^'\\\n])+'
          | <<=|>>=|<=>|\.\.\.|->\*|::|->|\+\+|--|<<|>>|&&|\|\||[-+*/%&|^<>=!]=|\#\#|\S)""", re.DOTALL | re.VERBOSE)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
STATEMENT = re.compile(r"(\w+)\s*\(")


def code_of(text):
    """C++ without comments, its tokens one space apart; only directives keep the ends of their lines."""
    parts, is_directive, is_line_begin = [], False, True
    for match in TOKEN.finditer(text):
        if match.lastgroup == "newline":
            if is_directive:
                parts.append("\n")
            is_directive, is_line_begin = False, True
        elif match.lastgroup != "comment":
            token = match.group("code")
            is_directive = is_directive or (is_line_begin and token == "#")
            is_line_begin = False
            parts.append(token)
    return " ".join(parts)


def statements(text):
    """(command, words) of the statements of a CMake file, without comments."""
    text = re.sub(r'("(?:\\.|[^"\\])*")|#[^\n]*', lambda match: match.group(1) or "", text)
    position = 0
    while match := STATEMENT.search(text, position):
        depth, position = 1, match.end()
        while depth > 0 and position < len(text):
            depth += {"(": 1, ")": -1}.get(text[position], 0)
            position += 1
        yield match.group(1).lower(), text[match.end():position - 1].split()


class Tree:
    """Sources as they lie in a folder. Each is read once."""

    def __init__(self, root=ROOT):
        self.root = pathlib.Path(root)
        self.closure_of_one = functools.lru_cache(None)(self._closure_of_one)
        self.file_sha256 = functools.lru_cache(None)(self._file_sha256)

    def exists(self, path):
        return (self.root / path).is_file()

    def read(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    def included_by(self, path, text=None):
        """Files of the tree that a source includes."""
        found = []
        for name in INCLUDE.findall(self.read(path) if text is None else text):
            for folder in (os.path.dirname(path), *INCLUDE_FOLDERS):
                candidate = os.path.normpath(os.path.join(folder, name))
                if not candidate.startswith("..") and self.exists(candidate):
                    found.append(candidate)
                    break
        return found

    def closure(self, sources):
        """Sources and all that they include, as far as they are there."""
        return sorted(set().union(*(self.closure_of_one(source) for source in sources)))

    def _closure_of_one(self, source):
        seen, todo = set(), [source]
        while todo:
            path = todo.pop()
            if path not in seen:
                seen.add(path)
                if self.exists(path):
                    todo += self.included_by(path)
        return frozenset(seen)

    def _file_sha256(self, path):
        if not self.exists(path):
            return "missing"
        return hashlib.sha256(code_of(self.read(path)).encode("utf-8")).hexdigest()

    def rules(self, program):
        """The statements that decide how the program and the library are compiled, one a line."""
        lines = []
        for path in filter(self.exists, RULE_FILES):
            lines += [" ".join([path, command, *words]) for command, words in statements(self.read(path))
                      if command in RULE_COMMANDS]
        for path in filter(self.exists, PROGRAM_FILES):
            for command, words in statements(self.read(path)):
                own = words and (words[0] == program or (words[0] == "${name}" and command in RULE_COMMANDS))
                # how a test is started and what ctest calls it is no matter of what it is made of
                if own and command not in ("add_test", "set_tests_properties"):
                    lines.append(" ".join([path, command, *words]))
        # Sources that CMake makes out of these are not in the tree.
        templates = sorted(path.relative_to(self.root).as_posix() for folder in ("kernels", "src")
                           for path in (self.root / folder).rglob("*.in"))
        return lines + [f"{path} {self.file_sha256(path)}" for path in templates]

    def program_sha256(self, program, sources):
        total = hashlib.sha256()
        for path in self.closure(sources):
            total.update(f"{self.file_sha256(path)}  {path}\n".encode("utf-8"))
        for line in self.rules(program):
            total.update(f"{line}\n".encode("utf-8"))
        return total.hexdigest()

    def gpu_programs(self):
        """Names of the test programs with cases for CUDA."""
        labels = {"cuda", "${backend_labels}"}
        return sorted(words[0] for command, words in statements(self.read("tests/CMakeLists.txt"))
                      if command == "blockjacobi_add_tests" and labels & set(words))


def built_from(binary):
    """What cmake/build_hash.py wrote into a program: program, sha256, commit, sources. None if it wrote nothing."""
    content = pathlib.Path(binary).read_bytes()
    begin = content.rfind(MARK)
    if begin < 0:
        return None
    return json.JSONDecoder().raw_decode(content[begin:].split(b"\n")[0].decode("utf-8"))[0]


def is_stale(tree, program, entry):
    known = entry.get("sha256") and entry.get("sources")
    return not known or tree.program_sha256(program, entry["sources"]) != entry["sha256"]


def tool_troubles(tool, outcome, patterns):
    """What keeps the outcome of a tool, if there is one, from being good for a list of tests."""
    if not outcome:
        return [f"{tool} not run"]
    found = [] if outcome["clean"] else [f"{tool} not clean"]
    if "lists" not in outcome:
        return found + [f"{tool} of an unknown list of tests"]
    return found + ([] if outcome["lists"] == test_lists.sha256(patterns) else [f"{tool} of another list of tests"])


def troubles(entry, tools):
    """What keeps the record of a program from being good for {tool: patterns of its tests}; see gpu_record.py for the
    fields."""
    found = [f"{entry['failed']} failed"] if entry.get("failed") else []
    if entry.get("wrong_skips"):
        found.append(f"{len(entry['wrong_skips'])} skips other than expected")
    if not entry.get("passed"):
        found.append("tests not run")
    for tool, patterns in tools.items():
        found += tool_troubles(tool, entry.get("sanitizers", {}).get(tool), patterns)
    return found


def unlaunched_troubles(result, unlaunched):
    """Where a result of gpu_reach.py and the list of kernels that no test launches are not of one mind."""
    names = set(result["launched_by_no_test"])
    found = [f"no test launches {name}" for name in sorted(names - set(unlaunched))]
    return found + [f"tests/unlaunched-kernels.txt: a test launches {name}, or it is no kernel"
                    for name in sorted(set(unlaunched) - names)]


def failures(entry, tools):
    """Of the troubles of an entry those that were found, not those that nothing was there to find: tests, and tools that
    are not clean over their list of today, or over one that is not known."""
    lists = {tool: outcome.get("lists") for tool, outcome in entry.get("sanitizers", {}).items()}
    found = ["tests"] if entry.get("failed") or entry.get("wrong_skips") else []
    return found + [tool for tool, patterns in tools.items() if tool in lists and not entry["sanitizers"][tool]["clean"]
                    and lists[tool] in (None, test_lists.sha256(patterns))]


def reach_troubles(result, programs, sanitized, unlaunched):
    """What keeps a result of gpu_reach.py from being good for programs of these hashes and for these lists."""
    if not result:
        return ["not run"]
    if result["programs"] != programs or result["lists"] != test_lists.sha256(sanitized):
        return ["of other programs or another tests/sanitizers.txt"]
    found = result["troubles"] + [f"{tool} misses {len(entry['missed'])} kernels"
                                  for tool, entry in result["tools"].items() if entry["missed"]]
    count = len(unlaunched_troubles(result, unlaunched))
    return found + ([f"{count} kernels not as in tests/unlaunched-kernels.txt"] if count else [])


def check(record, tree, tests_alone=False, failures_alone=False):
    """tests_alone: of the programs in the record, and no tools. failures_alone: the status is of what failed; that of
    other sources may be mended in these, which takes a GPU to tell."""
    path = pathlib.Path(record)
    values = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    entries = values.get("programs", {})
    programs = sorted(set(entries) | set([] if tests_alone and entries else tree.gpu_programs()))
    stale = [name for name in programs if is_stale(tree, name, entries.get(name, {}))]
    if stale:
        print(f"{record}: {len(stale)} of {len(programs)} stale: {', '.join(stale)}: rerun these (.ci/gpu --stale)")
    else:
        print(f"{record}: all {len(programs)} programs were built from these sources")
    tools = {} if tests_alone else test_lists.sanitizers(tree.root)
    wrong = {name: found for name in entries if (found := troubles(entries[name], tools.get(name, {})))}
    if not tests_alone:
        # of what the record says ran: stale programs are told above
        hashes = {name: entries.get(name, {}).get("sha256") for name in tree.gpu_programs()}
        if found := reach_troubles(values.get("reach"), hashes, tools, test_lists.unlaunched(tree.root)):
            wrong["reach"] = found
    for name, found in wrong.items():
        print(f"{record}: {name}: {', '.join(found)}")
    failed = {name: found for name in entries if name not in stale
              and (found := failures(entries[name], tools.get(name, {})))}
    for name, found in failed.items():
        print(f"{record}: FAILED of these sources: {name}: {', '.join(found)}")
    return 1 if failed or (not failures_alone and (stale or wrong)) else 0


def show(binaries, tree):
    status = 0
    for binary in binaries:
        build = built_from(binary)
        if build is None:
            print(f"{binary}: carries no hash")
            status = 1
            continue
        fits = tree.program_sha256(build["program"], build["sources"]) == build["sha256"]
        status = status if fits else 1
        print(f"{binary}: {build['sha256']}, commit {build['commit']}, "
              f"{'these sources' if fits else 'OTHER SOURCES than these'}")
    return status


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--check", metavar="RECORD", nargs="?", const="tests/gpu-record.json",
                        help="compare a record with the tree")
    wanted.add_argument("--of", metavar="PROGRAM", nargs="+", help="compare programs with the tree")
    wanted.add_argument("--gpu-programs", action="store_true", help="name the test programs with cases for CUDA")
    parser.add_argument("--tests", action="store_true")
    parser.add_argument("--failures", action="store_true")
    arguments = parser.parse_args()
    if arguments.gpu_programs:
        print("\n".join(Tree().gpu_programs()))
        return 0
    if arguments.check:
        return check(arguments.check, Tree(), arguments.tests, arguments.failures)
    return show(arguments.of, Tree())


if __name__ == "__main__":
    sys.exit(main())
