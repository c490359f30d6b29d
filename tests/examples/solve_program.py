"""Runs the built blockjacobi-solve and writes small Matrix Market files for it.

The program is named by the environment variable BLOCKJACOBI_SOLVE.
"""

import json
import math
import os
import subprocess
import tempfile
import unittest

PROGRAM = os.environ.get("BLOCKJACOBI_SOLVE", "blockjacobi-solve")
BACKEND = os.environ.get("BLOCKJACOBI_TEST_BACKEND", "host")


class Result:
    def __init__(self, process, report):
        self.status = process.returncode
        self.out = process.stdout
        self.err = process.stderr
        self.report = report


def write_matrix(path, entries, rows, cols=None, field="real", symmetry="general", count=None):
    """entries: (row, col, value) with 1-based indices; a value is a number, a complex number or a text as it stands."""

    def text(value):
        if isinstance(value, complex):
            return f"{value.real!r} {value.imag!r}"
        return value if isinstance(value, str) else repr(value)

    with open(path, "w", encoding="ascii") as file:
        file.write(f"%%MatrixMarket matrix coordinate {field} {symmetry}\n")
        file.write(f"{rows} {rows if cols is None else cols} {len(entries) if count is None else count}\n")
        for row, col, value in entries:
            file.write(f"{row} {col} {text(value)}".rstrip() + "\n")


def write_array(path, columns):
    with open(path, "w", encoding="ascii") as file:
        file.write(f"%%MatrixMarket matrix array real general\n{len(columns[0])} {len(columns)}\n")
        file.writelines(f"{value!r}\n" for column in columns for value in column)


def read_array(path):
    """Columns of a Matrix Market file of an array."""
    with open(path, encoding="ascii") as file:
        lines = [line for line in file if not line.startswith("%")]
    rows, columns = map(int, lines[0].split())
    return [lines[1 + k * rows:1 + (k + 1) * rows] for k in range(columns)]


def write_vector(path, values):
    write_array(path, [values])


def laplace_2d(n):
    """Lower triangle of the five-point Laplacian on an n x n grid."""
    entries = []
    for row in range(1, n * n + 1):
        entries.append((row, row, 4.0))
        if (row - 1) % n > 0:
            entries.append((row, row - 1, -1.0))
        if row > n:
            entries.append((row, row - n, -1.0))
    return entries


def tridiagonal(n, below, diagonal, above):
    entries = [(i, i, diagonal) for i in range(1, n + 1)]
    entries += [(i + 1, i, below) for i in range(1, n)]
    return entries + [(i, i + 1, above) for i in range(1, n)]


class SolveTest(unittest.TestCase):
    """Each test gets a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)
        return self.path(name)

    def matrix(self, name, entries, rows, **kinds):
        write_matrix(self.path(name), entries, rows, **kinds)
        return self.path(name)

    def laplace(self, n=12):
        return self.matrix("laplace.mtx", laplace_2d(n), n * n, symmetry="symmetric")

    def solve(self, *arguments, timeout=300, backend=BACKEND):
        """Runs the program with --json; no run may crash or show a NaN, whatever it ends with."""
        report_file = self.path("report.json")
        if os.path.exists(report_file):
            os.remove(report_file)
        command = [PROGRAM, *map(str, arguments), "--json", report_file]
        if backend is not None and "--backend" not in arguments:
            command += ["--backend", backend]
        process = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
        report = None
        if os.path.exists(report_file):
            with open(report_file, encoding="utf-8") as file:
                report = json.load(file, parse_constant=lambda name: self.fail(f"{name} in the JSON report"))
        result = Result(process, report)
        self.assertIn(result.status, (0, 1, 2), result.err)
        self.assertNotIn("terminate called", result.err)
        return result

    def assert_converged(self, result, rtol=1e-8):
        self.assertEqual(result.status, 0, result.out + result.err)
        self.assertEqual(result.report["reason"], "converged")
        residual = result.report["relative_residual"]
        self.assertTrue(math.isfinite(residual) and residual <= rtol, residual)

    def assert_not_converged(self, result):
        """Nonzero status, a reason in both reports, no NaN."""
        self.assertEqual(result.status, 1, result.out + result.err)
        self.assertIn(
            result.report["reason"],
            ("max_iterations", "breakdown", "indefinite_matrix", "indefinite_preconditioner", "nan_or_inf",
             "stagnation", "time_limit", "user_stop", "singular_block"),
        )
        self.assertIn("not converged: " + result.report["reason"], result.out)
        self.assertIn(result.report["reason"], result.report["message"])

    def assert_refused(self, result, *parts):
        """Status 2 and one line on the error stream that holds every part."""
        self.assertEqual(result.status, 2, result.out + result.err)
        self.assertEqual(len(result.err.strip().splitlines()), 1, result.err)
        self.assertTrue(result.err.startswith("blockjacobi-solve: error: "), result.err)
        for part in parts:
            self.assertIn(str(part), result.err)
        self.assertIsNone(result.report)
