#!/usr/bin/env python3
"""Fetches systems of the SuiteSparse Matrix Collection, verifies them and stores them as NAME.mtx.

  fetch.py nasa4704 bcsstk16                 download into ./suitesparse
  fetch.py --all-small --out DIR             every system with at most 300 000 nonzeros
  fetch.py Serena --mirror DIR               from a folder instead of the network
  fetch.py --list                            what there is

The catalog beside this program (suitesparse.tsv) says what a system must be. A system with a digest in the catalog must
have it. Any other file is read whole: it must have the right number of rows, hold as many entries as its header
announces, be symmetric or Hermitian if the catalog says so, and have the catalog's number of nonzeros. The collection
counts nonzeros of the expanded matrix and counts stored zeros apart; files exist with the stored zeros and without.
Right is therefore a file whose expanded entries number nnz (without stored zeros) or whose expanded entries that are
not zero do (with them).

A mirror folder may hold NAME.mtx, NAME.mtx.gz or NAME.tar.gz, directly or in a folder named as the group. A file
becomes visible under its final name only after it is verified; what is there and verified is not fetched again. Exit
status: 0 everything is there, 1 a system could not be had, 2 bad usage.
"""

import argparse
import csv
import dataclasses
import difflib
import gzip
import hashlib
import http.client
import json
import os
import pathlib
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
import zlib

URL_TEMPLATE = "https://sparse.tamu.edu/MM/{group}/{name}.tar.gz"
SMALL_NNZ = 300_000
TIMEOUT_SECONDS = 60
CHUNK = 1 << 20
# A general file is held in memory to see whether its values are symmetric; above this the banner must say so.
SYMMETRY_CHECK_ENTRIES = 5_000_000


class FetchError(Exception):
    """A system could not be had; the message says why."""


@dataclasses.dataclass(frozen=True)
class System:
    group: str
    name: str
    n: int
    nnz: int
    kind: str
    symmetry: str
    spd: bool
    sha256: str
    note: str


# --- catalog ---------------------------------------------------------------------------------------------------------


def read_catalog(path):
    """Systems by name."""
    with open(path, encoding="utf-8", newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    systems = {}
    for row in csv.DictReader(lines, delimiter="\t"):
        system = System(row["group"], row["name"], int(row["n"]), int(row["nnz"]), row["kind"], row["symmetry"],
                        row["spd"] == "yes", "" if row["sha256"] == "-" else row["sha256"], row["note"])
        if system.name in systems:
            raise ValueError(f"{path}: {system.name} stands there twice")
        systems[system.name] = system
    return systems


def find_system(catalog, wanted):
    """Takes NAME and GROUP/NAME."""
    group, _, name = wanted.rpartition("/")
    system = catalog.get(name)
    if system is None or group not in ("", system.group):
        near = difflib.get_close_matches(name, catalog, n=3)
        hint = f"; near: {', '.join(f'{catalog[n].group}/{n}' for n in near)}" if near else ""
        raise FetchError(f"{wanted}: not in the catalog{hint} (--list shows all)")
    return system


def print_list(catalog):
    print(f"{'system':32} {'n':>9} {'nnz':>11}  {'symmetry':9} {'spd':3}  kind; note")
    for s in sorted(catalog.values(), key=lambda s: s.nnz):
        print(f"{s.group + '/' + s.name:32} {s.n:9} {s.nnz:11}  {s.symmetry:9} {'yes' if s.spd else 'no':3}  "
              f"{s.kind}{'' if s.note == '-' else '; ' + s.note}")


# --- verification ----------------------------------------------------------------------------------------------------


class MatrixMarketReader:
    """Reads a coordinate file line by line and counts what the catalog knows."""

    FIELDS = {"real": 1, "integer": 1, "pattern": 0, "complex": 2}
    SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")

    def __init__(self, path, name):
        self.path = path
        self.name = name
        self.line = 0
        self.entries = 0  # of the expanded matrix
        self.nonzeros = 0  # those of them that are not zero
        self.kept = {}  # (row, col) -> value, for files whose symmetry is to be found out

    def fail(self, message):
        raise FetchError(f"{self.name}.mtx:{self.line}: {message}")

    def read(self, look_for_symmetry):
        with open(self.path, "rb") as file:
            self._read_header(file)
            self.keep = look_for_symmetry and self.symmetry == "general" and self.announced <= SYMMETRY_CHECK_ENTRIES
            self._read_entries(file)
        return self

    def _read_header(self, file):
        words = self._next(file).decode("latin-1").lower().split()
        if len(words) != 5 or words[:3] != ["%%matrixmarket", "matrix", "coordinate"]:
            self.fail("not a Matrix Market coordinate file")
        self.field, self.symmetry = words[3:]
        if self.field not in self.FIELDS or self.symmetry not in self.SYMMETRIES:
            self.fail(f"unknown field '{self.field}' or symmetry '{self.symmetry}'")
        line = self._next(file)
        while line.startswith(b"%") or (line and not line.strip()):
            line = self._next(file)
        try:
            self.rows, self.cols, self.announced = (int(word) for word in line.split())
        except ValueError:
            self.fail("no line with rows, columns and entries")

    def _next(self, file):
        self.line += 1
        return file.readline()

    def _read_entries(self, file):
        words_of_entry = 2 + self.FIELDS[self.field]
        twice = self.symmetry != "general"
        read = 0
        for text in file:
            self.line += 1
            words = text.split()
            if not words or words[0].startswith(b"%"):
                continue
            read += 1
            try:
                if len(words) != words_of_entry:
                    raise ValueError
                row, col = int(words[0]), int(words[1])
                value = tuple(float(word) for word in words[2:]) or (1.0,)
            except ValueError:
                self.fail(f"malformed entry '{text.decode('latin-1').strip()[:60]}'")
            if not (1 <= row <= self.rows and 1 <= col <= self.cols):
                self.fail(f"entry ({row}, {col}) is outside {self.rows} x {self.cols}")
            copies = 2 if twice and row != col else 1
            self.entries += copies
            if any(value):
                self.nonzeros += copies
            if self.keep:
                self.kept[row, col] = value
        if read != self.announced:
            self.fail(f"{read} entries, the header announces {self.announced}: the file is truncated or damaged")

    def value_symmetry(self):
        """Of the values, whatever the banner says; None if it was not looked at."""
        if self.symmetry == "hermitian" and self.field != "complex":
            return "symmetric"
        if self.symmetry != "general":
            return self.symmetry
        if not self.keep:
            return None
        if self._matches(lambda value: value):
            return "symmetric"
        if self.field == "complex" and self._matches(lambda value: (value[0], -value[1])):
            return "hermitian"
        return "general"

    def _matches(self, mirrored):
        zero = (0.0,) * max(1, self.FIELDS[self.field])
        return all(self.kept.get((col, row), zero) == mirrored(value) for (row, col), value in self.kept.items())


def digest(path):
    sha256 = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            sha256.update(chunk)
    return sha256.hexdigest()


def verify(path, system):
    """Raises FetchError unless the file is the system; says what was looked at."""
    if system.sha256:
        found = digest(path)
        if found != system.sha256:
            raise FetchError(f"{system.name}.mtx: sha256 is {found}, must be {system.sha256}")
        return "sha256"
    wants_symmetry = system.symmetry != "general"
    matrix = MatrixMarketReader(path, system.name).read(look_for_symmetry=wants_symmetry)
    if (matrix.rows, matrix.cols) != (system.n, system.n):
        raise FetchError(f"{system.name}.mtx: {matrix.rows} x {matrix.cols}, must be {system.n} x {system.n}")
    if system.nnz not in (matrix.entries, matrix.nonzeros):
        raise FetchError(f"{system.name}.mtx: {matrix.entries} entries, {matrix.nonzeros} of them not zero; "
                         f"one of these must be {system.nnz}")
    found = matrix.value_symmetry()
    if wants_symmetry and found != system.symmetry:
        seen = "too large to look at its values" if found is None else f"its values are {found}"
        raise FetchError(f"{system.name}.mtx: must be {system.symmetry}, the banner says {matrix.symmetry} and {seen}")
    if not wants_symmetry and found is not None and found != "general":
        raise FetchError(f"{system.name}.mtx: must be general, is {found}")
    return "rows, nonzeros, symmetry" if wants_symmetry else "rows, nonzeros"


# --- sources ---------------------------------------------------------------------------------------------------------


def copy_stream(source, target):
    while chunk := source.read(CHUNK):
        target.write(chunk)


def member_of_matrix(archive, system):
    """Finds NAME/NAME.mtx. Nothing is unpacked by the names in the archive, and one that would leave its folder makes
    the whole archive suspect."""
    found, names = None, []
    for member in archive:
        path = pathlib.PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or member.issym() or member.islnk() or member.isdev():
            raise FetchError(f"{system.name}.tar.gz: refused, it holds the unsafe member '{member.name}'")
        names.append(member.name)
        if member.isfile() and path.parts[-2:] in ((system.name, f"{system.name}.mtx"), (f"{system.name}.mtx",)):
            found = member
    if found is None:
        listing = ", ".join(names[:5]) or "nothing"
        raise FetchError(f"{system.name}.tar.gz: no {system.name}/{system.name}.mtx in it, but {listing}")
    return found


def unpack_tar(path, system, target):
    with tarfile.open(path, "r:gz") as archive:
        member = member_of_matrix(archive, system)
        with archive.extractfile(member) as source:
            copy_stream(source, target)


def unpack(path, system, target):
    """Writes the .mtx that a file is or holds."""
    try:
        if path.name.endswith(".tar.gz"):
            unpack_tar(path, system, target)
        elif path.name.endswith(".gz"):
            with gzip.open(path, "rb") as source:
                copy_stream(source, target)
        else:
            with open(path, "rb") as source:
                copy_stream(source, target)
    except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError) as error:
        raise FetchError(f"{path.name}: damaged or truncated ({error})") from error


def find_in_mirror(mirror, system):
    folders = (mirror, mirror / system.group)
    names = [f"{system.name}{suffix}" for suffix in (".mtx", ".mtx.gz", ".tar.gz")]
    for folder in folders:
        for name in names:
            if (folder / name).is_file():
                return folder / name
    raise FetchError(f"{system.name}: {mirror} has none of {', '.join(names)}, nor has its folder {system.group}")


def download(system, template, target):
    url = template.format(group=system.group, name=system.name)
    print(f"{system.name}: {url}", flush=True)
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as answer:
            expected = answer.headers.get("Content-Length")
            copy_stream(answer, target)
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
        raise FetchError(f"{system.name}: {url}: {error}") from error
    target.flush()
    received = target.tell()
    if expected is not None and received != int(expected):
        raise FetchError(f"{system.name}: {url}: {received} of {expected} bytes came, try again")


# --- store -----------------------------------------------------------------------------------------------------------


class Store:
    """The folder of verified files. Beside each stands a hidden note with its size and time, so that a file that has
    not changed since is not read again."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, system):
        return self.folder / f"{system.name}.mtx"

    def _note(self, system):
        return self.folder / f".{system.name}.verified"

    def _state(self, system):
        status = os.stat(self.path(system))
        return {"bytes": status.st_size, "modified_ns": status.st_mtime_ns, "n": system.n, "nnz": system.nnz,
                "sha256": system.sha256}

    def _mark(self, system):
        self._note(system).write_text(json.dumps(self._state(system)) + "\n", encoding="utf-8")

    def has(self, system):
        """Whether the file is there and verified, now or before."""
        if not self.path(system).is_file():
            return False
        try:
            if json.loads(self._note(system).read_text(encoding="utf-8")) == self._state(system):
                return True
        except (OSError, ValueError):
            pass
        try:
            verify(self.path(system), system)
        except FetchError as error:
            print(f"{error}: fetched anew", file=sys.stderr)
            return False
        self._mark(system)
        return True

    def put(self, system, fill):
        """fill(file) writes the .mtx; it gets its name when it is verified."""
        handle, name = tempfile.mkstemp(prefix=f".{system.name}.", suffix=".part", dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                fill(file)
            how = verify(name, system)
            os.chmod(name, 0o644)
            os.replace(name, self.path(system))
        except BaseException:
            os.unlink(name)
            raise
        self._mark(system)
        return how


def fetch(system, store, mirror, template):
    if store.has(system):
        return "already there"
    if mirror:
        source = find_in_mirror(mirror, system)
        return "verified " + store.put(system, lambda file: unpack(source, system, file))
    with tempfile.TemporaryDirectory(prefix=f".{system.name}.", dir=store.folder) as folder:
        archive = pathlib.Path(folder) / f"{system.name}.tar.gz"
        with open(archive, "wb") as file:
            download(system, template, file)
        return "verified " + store.put(system, lambda file: unpack(archive, system, file))


# --- command line ----------------------------------------------------------------------------------------------------


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=__doc__.split("\n\n", 2)[2],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="name of a system, or GROUP/NAME")
    parser.add_argument("--all-small", action="store_true", help=f"every system with at most {SMALL_NNZ} nonzeros")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("suitesparse"), metavar="DIR",
                        help="where the files go (default: %(default)s)")
    parser.add_argument("--mirror", type=pathlib.Path, metavar="DIR", help="take the files from this folder")
    parser.add_argument("--list", action="store_true", help="print the catalog and end")
    parser.add_argument("--url-template", default=URL_TEMPLATE, metavar="URL",
                        help="where archives are, with {group} and {name} (default: %(default)s)")
    parser.add_argument("--catalog", type=pathlib.Path, metavar="FILE",
                        default=pathlib.Path(__file__).resolve().parent / "suitesparse.tsv",
                        help="another catalog with the same columns")
    options = parser.parse_args(arguments)
    if not (options.names or options.all_small or options.list):
        parser.error("name a system, or give --all-small or --list")
    if options.mirror and not options.mirror.is_dir():
        parser.error(f"--mirror {options.mirror}: no such folder")
    try:
        options.url_template.format(group="", name="")
    except (IndexError, KeyError, ValueError):
        parser.error(f"--url-template {options.url_template}: only {{group}} and {{name}} are replaced")
    return options


def main(arguments=None):
    options = parse_arguments(arguments)
    try:
        catalog = read_catalog(options.catalog)
    except (OSError, KeyError, TypeError, ValueError) as error:
        print(f"fetch: {options.catalog}: cannot be read: {error}", file=sys.stderr)
        return 2
    if options.list:
        print_list(catalog)
        return 0

    wanted = list(options.names)
    if options.all_small:
        wanted += [name for name, system in catalog.items() if system.nnz <= SMALL_NNZ and name not in wanted]
    try:
        store = Store(options.out)
    except OSError as error:
        print(f"fetch: {options.out}: cannot be created: {error}", file=sys.stderr)
        return 2
    failures = 0
    for name in wanted:
        try:
            system = find_system(catalog, name)
            print(f"{system.name}: {fetch(system, store, options.mirror, options.url_template)}", flush=True)
        except (FetchError, OSError) as error:
            failures += 1
            print(f"fetch: {error}", file=sys.stderr)
    if failures:
        print(f"fetch: {failures} of {len(wanted)} systems could not be had", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
