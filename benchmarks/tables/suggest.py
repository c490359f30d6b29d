"""Tables of whole solves with every choice of blocks and coarse level beside what suggest() recommends, out of the
records of the program `suggest`, with the verdict on the project's targets.

Times are milliseconds of all that a user waits for: suggest() or the partition, set-up and solve to a relative residual of
1e-8 from a random solution, at most 5000 iterations and 1.5 seconds. On 90 % of the systems the recommendation has to
take at most 1.15 times as long as the best choice, on all of them at most 1.1 times as long as scalar Jacobi.

usage: run.py suggest-host [--build DIR] [--results DIR] [--seconds N]: the same on the CPU threads of this machine, or
on OMP_NUM_THREADS of them; with one, the time is that of the processor;
BLOCKJACOBI_MATRICES names the folders, separated by colons, of NAME.mtx.gz and MANIFEST.tsv (columns name, n, nnz or
nnz_expanded, posdef: `yes` and `no(PSD)` are solved with cg, all others with gmres(30)).
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import tempfile

from tables import solve_program

NEAR, SHARE, NOT_WORSE = 1.15, 0.9, 1.1


class System:
    """The records of one system by choice."""

    def __init__(self, records):
        self.name, self.rows, self.nnz, self.solver = (records[0][key] for key in ("system", "rows", "nnz", "solver"))
        self.of = {record["choice"]: record for record in records}
        self.asked = self.of.pop("suggest")
        self.best = min(self.of, key=self.milliseconds)

    def milliseconds(self, choice):
        """Until it has converged; infinity if it does not."""
        return time_of(self.of[choice])

    def is_solved(self):
        return self.milliseconds(self.best) < math.inf

    def to_best(self):
        return time_of(self.asked) / self.milliseconds(self.best)

    def to_scalar(self):
        """Nothing where scalar Jacobi does not converge."""
        return time_of(self.asked) / self.milliseconds("scalar") if self.milliseconds("scalar") < math.inf else 0.0


def time_of(record):
    return record["choice_ms"] + record["setup_ms"] + record["solve_ms"] if record["reason"] == "converged" else math.inf


def read(lines):
    by_system = {}
    for line in lines:
        record = json.loads(line)
        by_system.setdefault((record["system"], record["solver"]), []).append(record)
    return [System(records) for records in by_system.values()]


def cell(record):
    if record["reason"] != "converged":
        return "-"
    return f"{record['iterations']} ({time_of(record):.2f} ms)"


def summary(systems):
    """(a sentence, whether the targets are met)"""
    near = sum(s.to_best() <= NEAR for s in systems)
    worse = [s.name for s in systems if s.to_scalar() > NOT_WORSE]
    factors = [min(s.to_best(), 10.0) for s in systems]
    mean = math.exp(sum(map(math.log, factors)) / len(factors))
    text = (f"The recommendation takes at most {NEAR} times as long as the best choice on {near} of {len(systems)} systems "
            f"(LAND {SHARE:.0%}), {mean:.2f} times in the geometric mean; more than {NOT_WORSE} times as long as scalar "
            f"Jacobi on {len(worse)}{': ' if worse else ''}{', '.join(worse)} (LAND 0).")
    return text, near >= SHARE * len(systems) and not worse


def report(systems, where):
    """(tables as text, whether the targets are met)"""
    solved = [s for s in systems if s.is_solved()]
    if not solved:
        return f"# What suggest() recommends: {where}\n\nNo choice converges on any of {len(systems)} systems.\n", False
    left_out = [s.name for s in systems if not s.is_solved()]
    text, passed = summary(solved)
    choices = list(solved[0].of)
    lines = [f"# What suggest() recommends, beside every choice: {where}", "", text, "",
             "Cells: iterations (all milliseconds), `-` where it did not converge.", "",
             "| system | rows | entries | solver | recommended | of it suggest(), ms | to the best | best | "
             f"{' | '.join(choices)} |", "| --- | --: | --: | --- | --- | --: | --: | --- |" + " --: |" * len(choices)]
    for s in solved:
        cells = " | ".join(cell(s.of[choice]) for choice in choices)
        lines.append(f"| {s.name} | {s.rows} | {s.nnz} | {s.solver} | {s.asked.get('candidate', '-')} {cell(s.asked)} | "
                     f"{s.asked.get('choice_ms', math.nan):.2f} | {s.to_best():.2f} | {s.best} | {cells} |")
    if left_out:
        lines += ["", f"No choice converges on {', '.join(left_out)}."]
    return "\n".join(lines) + "\n", passed


def write(records, name, where, results):
    """The table of a file of records, and these beside it; whether the targets are met."""
    text, passed = report(read(records.read_text(encoding="utf-8").splitlines()), where)
    (results / f"{name}.md").write_text(text, encoding="utf-8")
    (results / f"{name}.jsonl").write_bytes(records.read_bytes())
    print(text.splitlines()[2])
    return passed


def main(words):
    parser = argparse.ArgumentParser(prog="run.py suggest-host", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/host"))
    parser.add_argument("--results", type=pathlib.Path, default=solve_program.RESULTS)
    parser.add_argument("--seconds", type=int, default=180)
    options = parser.parse_args(words)
    if not os.environ.get("BLOCKJACOBI_MATRICES"):
        parser.error("BLOCKJACOBI_MATRICES does not name the folder of matrices")
    threads = int(os.environ.get("OMP_NUM_THREADS", os.cpu_count()))
    with tempfile.TemporaryDirectory() as folder:
        records = pathlib.Path(folder) / "suggest.jsonl"
        subprocess.run([options.build / "benchmarks" / "suggest", records, "--host", "--matrices",
                        os.environ["BLOCKJACOBI_MATRICES"], "--seconds", str(options.seconds)], check=True)
        return 0 if write(records, "suggest-host", f"{threads} CPU thread{'s' if threads > 1 else ''}", options.results) else 1
