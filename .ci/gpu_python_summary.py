#!/usr/bin/env python3
"""The record of .ci/gpu-python: what the package was made of, the machine, tests, memcheck and benchmarks.

usage: gpu_python_summary.py OUT_DIR MEMCHECK [FAILED...]    write python.json and python.md there, print the former
       gpu_python_summary.py --check RECORD.json             say whether it speaks of this tree; status 1 if not

Where nothing failed, both go into benchmarks/results/<gpu> too, to be committed.
"""

import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree
from importlib import metadata

import sources_sha256

ROOT = sources_sha256.ROOT
sys.path.insert(0, str(ROOT / "cmake"))
import build_hash  # noqa: E402

# What the package, its tests and its benchmarks are made of.
FOLDERS = ("cmake", "include", "kernels", "python", "src")
FILES = ("CMakeLists.txt", "pyproject.toml")
CODE = {".cpp", ".cu", ".cuh", ".h", ".hpp"}
OTHERS = {".cmake", ".in", ".map", ".py", ".toml", ".txt"}


def package_sha256(root=ROOT):
    """Comments and white space of C++ do not count."""
    paths = [root / name for name in FILES]
    paths += [path for folder in FOLDERS for path in (root / folder).rglob("*")
              if path.suffix in CODE | OTHERS and path.is_file()]
    whole = hashlib.sha256()
    for path in sorted(paths):
        text = path.read_text(encoding="utf-8")
        whole.update(f"{path.relative_to(root).as_posix()}\n".encode())
        whole.update((sources_sha256.code_of(text) if path.suffix in CODE else text).encode())
    return whole.hexdigest()


def short_name(device):
    """Of a folder of results, as benchmarks/run.py has it."""
    return re.sub(r"[^a-z0-9]+", "-", device.lower().removeprefix("nvidia ")).strip("-")


def short_commit(commit):
    name, changes, _ = commit.partition("+changes")
    return name[:12] + changes or "unknown"


def version_of(*names):
    """Of the first that is installed; packages of CuPy are named after the toolkit."""
    for name in names:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


def machine():
    """Name and driver of the first GPU; None where there is none."""
    try:
        answer = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"],
                                capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return {"device": None, "driver": None}
    device, driver = (field.strip() for field in answer.strip().split(","))
    return {"device": device, "driver": driver}


def tests_of(report):
    if not report.exists():
        return None
    counts = {"passed": 0, "failed": [], "skipped": []}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            counts["failed"].append(name)
        elif (skip := case.find("skipped")) is not None:
            counts["skipped"].append(f"{name}: {skip.get('message')}")
        else:
            counts["passed"] += 1
    return counts


def read(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def record_of(out, memcheck, failed):
    sanitizer = out / "gpu-python.sanitizer.txt"
    errors = re.findall(r"ERROR SUMMARY: (\d+)", sanitizer.read_text(encoding="utf-8")) if sanitizer.exists() else []
    return {
        **machine(),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "commit": build_hash.commit(ROOT),
        "sha256": package_sha256(),
        "python": sys.version.split()[0],
        "cupy": version_of("cupy-cuda13x", "cupy-cuda12x", "cupy"),
        "torch": version_of("torch"),
        "failed": failed,
        "tests": tests_of(out / "gpu-python.junit.xml"),
        "memcheck": memcheck,
        "memcheck_errors": sum(map(int, errors)) if errors else None,
        "apply_overhead": read(out / "apply_overhead.json"),
        "cupy_cg": read(out / "cupy_cg.json"),
        "cupy_cg_coupled": read(out / "cupy_cg_coupled.json"),
        "warp_cg": read(out / "warp_cg.json"),
    }


CG_LINES = (
    ("apply_us", "an application of M, us", "{:.1f}"),
    ("cupy_cg_none_us", "an iteration of CuPy's CG without M, us", "{:.1f}"),
    ("cupy_cg_scalar_us", "with the diagonal, us", "{:.1f}"),
    ("cupy_cg_blocks_us", "with M, us", "{:.1f}"),
    ("over_apply", "the same, over one without and an application", "{:.3f}"),
    ("blockjacobi_cg_us", "an iteration of the library's CG with M, us", "{:.1f}"),
    ("scalar_iterations", "iterations of CuPy's CG with the diagonal", "{}"),
    ("blocks_iterations", "with M", "{}"),
    ("library_iterations", "of the library's CG with M", "{}"),
    ("scalar_solve_ms", "whole solve by CuPy's CG with the diagonal, ms", "{:.1f}"),
    ("blocks_solve_ms", "with M, ms", "{:.1f}"),
    ("library_solve_ms", "by the library's CG with M, ms", "{:.1f}"),
)


def table(head, rows):
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return "\n".join(lines + [f"| {' | '.join(map(str, row))} |" for row in rows])


def text_of(record):
    tests = record["tests"] or {"passed": 0, "failed": [], "skipped": []}
    parts = [
        "# The Python package on a GPU",
        f"{record['device']}, driver {record['driver']}, {record['date']}, "
        f"commit {short_commit(record['commit'])}, sources {record['sha256'][:12]}; Python {record['python']}, CuPy {record['cupy']}, PyTorch {record['torch']}.",
        f"Tests: {tests['passed']} passed, {len(tests['failed'])} failed, {len(tests['skipped'])} skipped. "
        f"compute-sanitizer memcheck: {record['memcheck']}."
        + (f" Failed: {', '.join(record['failed'])}." if record["failed"] else ""),
    ]
    if overhead := record["apply_overhead"]:
        parts += [
            "## An application",
            f"Microseconds of the calling thread, which enqueues and does not wait; {overhead['rows']} rows "
            "(`apply_overhead.py`).",
            table(("call", "us"), [(f"`{name}`", f"{us:.2f}") for name, us in overhead["microseconds"].items()]),
        ]
    # Records before that of a coupled system have neither it nor whole solves.
    if systems := [cg for name in ("cupy_cg", "cupy_cg_coupled") if (cg := record.get(name))]:
        parts += [
            "## Conjugate gradients of CuPy",
            "7-point systems with one or more unknowns a node (`cupy_cg.py`). The diagonal is scalar Jacobi as a user of "
            "CuPy writes it: an operator that multiplies r by the reciprocals. Whole solves end at 1e-8, without set-up.",
            table(("", *(f"{cg['rows']} rows, {cg['nnz']} entries, {cg.get('unknowns', 1)} a node, "
                         f"blocks of {cg['block']}" for cg in systems)),
                  [(text, *(form.format(cg[name]) for cg in systems)) for name, text, form in CG_LINES
                   if all(name in cg for cg in systems)]),
        ]
    if warp := record["warp_cg"]:
        parts += [
            "## NVIDIA Warp",
            f"{warp['rows']} rows in blocks of {warp['block']}, Warp {warp['warp']} (`warp_cg.py`).",
            table(("preconditioner", "set-up ms", "iteration us", "iterations"),
                  [(name, f"{way['setup_ms']:.3f}", f"{way['iteration_us']:.1f}", way["iterations"])
                   for name, way in warp["times"].items()]),
        ]
    return "\n\n".join(parts) + "\n"


def is_current(device, root=ROOT):
    """Whether the record of a device speaks of this tree."""
    record = read(root / "benchmarks" / "results" / short_name(device) / "python.json")
    return record is not None and record["sha256"] == package_sha256(root)


def check(path):
    record = read(path)
    if record is None:
        print(f"python record: there is no {path}")
        return 1
    current = record["sha256"] == package_sha256()
    print(f"python record: {path}, commit {short_commit(record['commit'])}, is "
          + ("of this tree" if current else "stale: .ci/gpu-python makes it anew"))
    return 0 if current else 1


def main():
    if sys.argv[1] == "--check":
        return check(pathlib.Path(sys.argv[2]))
    out, memcheck, *failed = sys.argv[1:]
    out = pathlib.Path(out)
    record = record_of(out, memcheck, failed)
    folders = [out]
    if record["device"] and not failed:
        folders.append(ROOT / "benchmarks" / "results" / short_name(record["device"]))
    text = json.dumps(record, indent=2) + "\n"
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "python.json").write_text(text, encoding="utf-8")
        (folder / "python.md").write_text(text_of(record), encoding="utf-8")
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
