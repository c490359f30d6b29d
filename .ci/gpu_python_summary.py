"""What .ci/gpu-python found, in short, as JSON on standard output.

usage: gpu_python_summary.py OUT_DIR MEMCHECK [FAILED...]
"""

import json
import pathlib
import re
import sys
import xml.etree.ElementTree
from importlib import metadata


def version_of(*names):
    """Of the first that is installed; packages of CuPy are named after the toolkit."""
    for name in names:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


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


def main():
    out, memcheck, *failed = sys.argv[1:]
    out = pathlib.Path(out)
    sanitizer = out / "gpu-python.sanitizer.txt"
    errors = re.findall(r"ERROR SUMMARY: (\d+)", sanitizer.read_text(encoding="utf-8")) if sanitizer.exists() else []
    print(json.dumps({
        "failed": failed,
        "tests": tests_of(out / "gpu-python.junit.xml"),
        "memcheck": memcheck,
        "memcheck_errors": sum(map(int, errors)) if errors else None,
        "python": sys.version.split()[0],
        "cupy": version_of("cupy-cuda13x", "cupy-cuda12x", "cupy"),
        "torch": version_of("torch"),
        "apply_overhead": read(out / "apply_overhead.json"),
        "cupy_cg": read(out / "cupy_cg.json"),
        "warp_cg": read(out / "warp_cg.json"),
    }, indent=2))


if __name__ == "__main__":
    main()
