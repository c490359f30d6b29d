#!/usr/bin/env python3
"""The front of all benchmarks: measures, makes tables and plots, and compares with the record that is there.

  run.py NAME... | all [--build DIR] [--results DIR] [--tables]

Records of this machine's GPU, in benchmarks/results/<gpu>/NAME.{json,md,svg}:
{records}
"all" means these. --tables makes tables and plots of the records that are there and measures nothing. The programs are
built first (cmake --build) where --build, by default build/cuda, is a build folder; one that was copied here is used as it
is. What was on record is compared with row by row: status 1 if a row of ours is slower by more than 3 %, or if tables have
more rows under their targets than they may.

Tables of the host, and one of the GPU, which say what they take with --help:
  run.py iterations REFERENCE.tsv ...    counts of iterations beside a reference's
  run.py solve-host ...                  whole solves on the host
  run.py storage ...                     CG with every storage of the inverses
  run.py suggest-host ...                every choice of blocks beside what suggest() recommends
  run.py convergence ...                 residuals of CG with six choices of blocks
  run.py accuracy-host ...               residuals of inverses, next to LAPACK's
  run.py accuracy-cuda ...               the same on the GPU, results/<gpu>/accuracy.md

BLOCKJACOBI_MATRICES names folders of NAME.mtx.gz, separated by colons; for suggest with MANIFEST.tsv. Those of FEniCSx
are taken by patterns and suggest alone.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import time
import typing

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / ".ci")]

import sources_sha256  # noqa: E402
from tables import ablation, accuracy, batched, convergence, host_solves, iterations, patterns, plots, preconditioner, records_of, solve, storage, suggest, two_level  # noqa: E402

TINY = ["--orders", "1-32", "--complex-orders", "4,8,16,24,32"]
LARGE = ["--orders", "33,40,48,64,77,96,128,160,190,256,333,512", "--complex-orders", "64,128,190"]
CG = "ccx_segmenttet bcsstk16 nasa4704 bcsstk14 bcsstk13 xpetra_regions_A heart_bidomain".split()
GMRES = "opm_spe9 orsirr_1 sherman5 teko_nsjac".split()
# Set-up; of the first kind are the definite ones.
PATTERNS = {"--definite": "ccx_segmenttet heart_bidomain fenicsx_elasticity_contrast".split(),
            "--general": "opm_spe9 fenicsx_dg2".split()}
PRODUCTS = """ReSolve_ScaleMicrogrid_N1000 adder_dcop_32 bayer10 cage10 cavity10 epb0 fidap007 gemat11 hypre_tucker21935
hypre_ams_mfemA magma_ani5_crop muelu_maxwell_M1 wathenSmall ccx_segmenttet bcsstk16 nasa4704 xpetra_regions_A
heart_bidomain opm_spe9 sherman3 teko_nsjac""".split()


@dataclasses.dataclass
class Benchmark:
    """A record: the program that measures it, the options of each run (records of later runs follow those of the first),
    and what is made of it."""

    what: str
    program: str
    runs: typing.Callable[[], list]
    table: typing.Callable = batched.report
    plot: typing.Callable = plots.throughput


def folders():
    """Those that BLOCKJACOBI_MATRICES names, separated by colons."""
    names = os.environ.get("BLOCKJACOBI_MATRICES", "")
    if not all(pathlib.Path(name).is_dir() for name in names.split(":")) or not names:
        raise SystemExit("run.py: BLOCKJACOBI_MATRICES names no folders, which this benchmark needs")
    return names


def files(names):
    """Each in the first folder that has it."""
    found = [next((path for folder in folders().split(":") if (path := pathlib.Path(folder) / f"{name}.mtx.gz").is_file()), None)
             for name in names]
    if None in found:
        missing = [name for name, path in zip(names, found) if path is None]
        raise SystemExit(f"run.py: no folder of BLOCKJACOBI_MATRICES has {', '.join(missing)}")
    return [str(path) for path in found]


BENCHMARKS = {
    "batched": Benchmark("LU, inverse, Cholesky, QR and SPD inverse up to order 32, with cuBLAS and cuSOLVER", "batched", lambda: [
        ["--operations", "lu,inverse,cholesky,qr,spd_inverse", *TINY, "--peer-orders", "1-4,8,12,16,20,24,28,32"]]),
    "setup": Benchmark("extraction and inversion of the blocks of a matrix", "batched", lambda: [
        ["--operations", "extract_invert", *TINY]]),
    "blocked": Benchmark("the operations of batched above order 32, matrices alone, solves", "batched", lambda: [
        ["--operations", "lu,inverse,cholesky,qr,spd_inverse", *LARGE],
        ["--operations", "lu,inverse", "--orders", "512", "--batch", "1"],
        ["--operations", "getrs,potrs", "--orders", "64,128,256,512", "--complex-orders", "64,128"]]),
    "preconditioner": Benchmark("products with inverses in every storage, refresh, detection, construction", "preconditioner", lambda: [[]],
                                preconditioner.report),
    "patterns": Benchmark("construction and refresh on stencils and assembled systems, beside the inversion of the same blocks",
                          "preconditioner", lambda: [
        ["--operations", "patterns", "--scalars", "sd"] + [word for kind, names in PATTERNS.items() for word in (kind, *files(names))]],
                          patterns.report, None),
    "solve": Benchmark("iterations of CG and GMRES, products with sparse matrices, whole solves", "solve", lambda: [
        ["--cg", *files(CG), "--gmres", *files(GMRES), "--products", *files(PRODUCTS)]], solve.report, plots.solves),
    "two_level": Benchmark("solves with a coarse level over blocks, by the order of its matrix", "two_level", lambda: [
        ["--cg", *files(CG), "--gmres", *files("opm_spe9 orsirr_1 sherman3 sherman5".split())]], two_level.report, None),
    "ablation_tiny": Benchmark("design variants of LU and inversion up to order 32", "ablation_getrf", lambda: [[]],
                               ablation.report, ablation.plot),
    "ablation_blocked": Benchmark("design variants above order 32", "ablation_blocked", lambda: [
        ["--scalars", "sd", "--repetitions", "3"]], ablation.report, ablation.plot),
    "ablation_concurrency": Benchmark("updates on streams and in batches, LAPACK on the host", "ablation_concurrency",
                                      lambda: [[]], ablation.report, None),
    "energy": Benchmark("energy of factorizations and inversions", "energy", lambda: [[]], plot=plots.energy),
    "suggest": Benchmark("every choice of blocks beside what suggest() recommends (results/suggest-<gpu>)", "suggest",
                         lambda: [["--matrices", folders()]], None, None),
}
COMMANDS = {"iterations": iterations.main, "solve-host": host_solves.main, "storage": storage.main,
            "suggest-host": suggest.main, "convergence": convergence.main, "accuracy-host": accuracy.host,
            "accuracy-cuda": accuracy.cuda}


def build(folder, programs):
    if (folder / "CMakeCache.txt").exists():
        subprocess.run(["cmake", "--build", folder, "--target", *sorted(set(programs))], check=True)


def measured(program, runs, scratch):
    """One file of the records of all runs, which says what measured it."""
    environment = dict(os.environ)
    # OpenBLAS takes its oldest kernels on processors newer than itself.
    if "avx512dq" in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        environment.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
    parts = []
    for options in runs:
        subprocess.run([program, scratch, *options], check=True, env=environment)
        parts.append(records_of.load(scratch))
    scratch.unlink()
    values = parts[0]
    values["records"] = [record for part in parts for record in part["records"]]
    source = sources_sha256.built_from(program) or {"sha256": None, "commit": None}
    known = {key: value for key, value in values.items() if key != "records"}
    return {**known, "program_sha256": source["sha256"], "commit": source["commit"], "records": values["records"]}


def write_tables(benchmark, values, path):
    """The table beside a record, and its plot; whether the targets are met."""
    text, passed = benchmark.table(values)
    path.with_suffix(".md").write_text(text, encoding="utf-8")
    if benchmark.plot and not plots.write(values, benchmark.plot, path.with_suffix(".svg")):
        print(f"{path.stem}: no plot, there is no matplotlib")
    print(f"{path.stem}: {next(line for line in text.splitlines() if line and not line.startswith('#'))}")
    return passed


def measure(name, arguments):
    """Whether nothing is slower than before and the targets are met."""
    benchmark, program = BENCHMARKS[name], arguments.build / "benchmarks" / BENCHMARKS[name].program
    begin = time.monotonic()
    arguments.results.mkdir(parents=True, exist_ok=True)
    if name == "suggest":
        lines = arguments.results / "suggest.jsonl"
        subprocess.run([program, lines, *benchmark.runs()[0]], check=True)
        device = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader", "--id=0"], capture_output=True,
                                text=True, check=True).stdout.strip()
        passed = suggest.write(lines, f"suggest-{accuracy.short_name(device)}", device, arguments.results)
        lines.unlink()
        return passed
    values = measured(program, benchmark.runs(), arguments.results / f"{name}.part.json")
    faults = records_of.faults(values)
    if faults:
        raise SystemExit(f"run.py: {name}: " + "; ".join(faults[:5]))
    path = arguments.results / accuracy.short_name(values["device"]) / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    slower = []
    if path.exists():
        lines, slower = records_of.comparison(records_of.load(path), values)
        print(*lines, sep="\n")
    path.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    passed = write_tables(benchmark, values, path)
    print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)
    return passed and not slower


def main(words):
    if words and words[0] in COMMANDS:
        return COMMANDS[words[0]](words[1:]) or 0
    records = "\n".join(f"  {name:<22} {benchmark.what}" for name, benchmark in BENCHMARKS.items())
    parser = argparse.ArgumentParser(description=__doc__.replace("{records}", records),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=[*BENCHMARKS, "all"], metavar="NAME")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "cuda")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results")
    parser.add_argument("--tables", action="store_true", help="measure nothing")
    arguments = parser.parse_args(words)
    names = list(BENCHMARKS) if "all" in arguments.names else arguments.names
    if arguments.tables:
        paths = [path for name in names for path in sorted(arguments.results.glob(f"*/{name}.json"))]
        return 0 if all([write_tables(BENCHMARKS[path.stem], records_of.load(path), path) for path in paths]) else 1
    build(arguments.build, [BENCHMARKS[name].program for name in names])
    status = 0
    for name in names:
        try:
            status = status if measure(name, arguments) else 1
        except (subprocess.CalledProcessError, SystemExit) as failure:  # the others run all the same
            print(f"{name}: FAILED: {failure}", flush=True)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
