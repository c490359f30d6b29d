"""Runs blockjacobi-solve for the tables."""

import json
import pathlib
import subprocess
import tempfile

BENCHMARKS = pathlib.Path(__file__).resolve().parent.parent
RESULTS = BENCHMARKS / "results"
PROGRAM = BENCHMARKS.parent / "build" / "host" / "examples" / "blockjacobi-solve"


class Refused(SystemExit):
    """The program ended with bad usage or input; `reason` is what it said."""

    def __init__(self, command, run):
        super().__init__(f"{' '.join(command)}\nended with {run.returncode}: {run.stderr}")
        self.reason = run.stderr.strip()


def report_of(program, matrix, *arguments):
    """The JSON report of one solve, converged or not."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        command = [str(program), str(matrix), *map(str, arguments), "--json", str(report)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode not in (0, 1):
            raise Refused(command, run)
        return json.loads(report.read_text(encoding="utf-8"))
