"""How accurate inverses are on a backend, next to LAPACK's: results/accuracy-host.md, results/<gpu>/accuracy.md. The program
prints all of that but the GPU's name and driver, and what the program is made of."""

import argparse
import pathlib
import re
import subprocess

import sources_sha256
from tables import solve_program


def short_name(device):
    """"NVIDIA H200" -> "h200"."""
    return re.sub(r"[^a-z0-9]+", "-", device.lower().removeprefix("nvidia ")).strip("-")


def with_source(text, machine, source):
    """The text, whose third line says what wrote it, with the machine, if it has one, and the program behind that."""
    commit, program = source.get("commit") or "not recorded", source.get("sha256") or "without a hash"
    lines = text.splitlines(keepends=True)
    lines[2] = f"{lines[2].rstrip()} {', '.join([*machine, f'commit {commit[:12]}', f'program {program[:12]}'])}.\n"
    return "".join(lines)


def main_of(backend, words):
    build = solve_program.BENCHMARKS.parent / "build" / ("host" if backend == "host" else "cuda")
    parser = argparse.ArgumentParser(prog=f"run.py accuracy-{backend}", description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=build, help="build folder")
    parser.add_argument("--output", type=pathlib.Path, help="file")
    parser.add_argument("--lapack", help="the library to compare with; without, one of this machine")
    options = parser.parse_args(words)
    program = options.build / "benchmarks" / "accuracy"
    command = [program, "--backend", backend, *(["--lapack", options.lapack] if options.lapack else [])]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    machine, path = (), solve_program.RESULTS / "accuracy-host.md"
    if backend == "cuda":
        device, driver = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"], capture_output=True,
            text=True, check=True).stdout.strip().split(", ")
        machine = device, f"driver {driver}"
        path = solve_program.RESULTS / short_name(device) / "accuracy.md"
    text = with_source(text, machine, sources_sha256.built_from(program) or {})
    path = options.output or path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def host(words):
    main_of("host", words)


def cuda(words):
    main_of("cuda", words)
