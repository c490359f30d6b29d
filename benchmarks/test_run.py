#!/usr/bin/env python3
"""Tests of the front of the benchmarks, with a program that only pretends to measure, and of the records that are there."""

import contextlib
import functools
import importlib.util
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

import run
from tables import patterns, plots, records_of, suggest, two_level

RECORD = {"device": "NVIDIA Fake 1", "driver": "1", "nvcc": 13000, "copy_gbps": 4000.0, "read_gbps": None,
          "sm_clock_mhz": 1000, "date": "2026-01-01"}
ROW = {"operation": "lu", "implementation": "blockjacobi", "scalar": "d", "storage": "full", "n": 8, "batch": 10_000_000,
       "pattern": "moving", "time_ms": 2.0, "time_p25": 1.9, "time_p75": 2.1, "bytes": 8e9, "batch_bytes": 4e9,
       "flops": 1e9, "fraction_of_copy": 0.9, "fraction_of_floor": 0.9, "error": 0.1}
PROGRAM = """\
import json, sys
record = {record!r}
rows = [dict({row!r}, n=int(sys.argv[sys.argv.index("--n") + 1]))]
json.dump(dict(record, records=rows), open(sys.argv[1], "w"))
'''
{{"blockjacobi_build": 1, "program": "fake", "sha256": "abc", "commit": "c0ffee", "sources": []}}
'''
"""


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        run.BENCHMARKS["fake"] = run.Benchmark("", "fake", lambda: [["--n", "8"], ["--n", "16"]])
        self.addCleanup(run.BENCHMARKS.pop, "fake")

    def program(self, time_ms):
        path = self.folder / "build" / "benchmarks" / "fake"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = PROGRAM.format(record=RECORD, row={**ROW, "time_ms": time_ms})
        path.write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
        path.chmod(0o755)

    def front(self, *words):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            status = run.main(["fake", "--build", str(self.folder / "build"), "--results", str(self.folder), *words])
        return status, output.getvalue()

    def test_measures_and_compares(self):
        self.program(2.0)
        status, _ = self.front()
        self.assertEqual(status, 0)
        path = self.folder / "fake-1" / "fake.json"
        values = records_of.load(path)
        self.assertEqual((values["program_sha256"], values["commit"]), ("abc", "c0ffee"))
        self.assertEqual([record["n"] for record in values["records"]], [8, 16])
        self.assertIn("commit c0ffee, program abc", path.with_suffix(".md").read_text(encoding="utf-8"))
        self.program(2.02)
        self.assertEqual(self.front()[0], 0)
        self.program(2.2)
        status, output = self.front()
        self.assertEqual(status, 1)
        self.assertIn("2 rows, median time 1.089 of it, 2 slower", output)
        self.assertIn("slower 1.089: lu d n 8", output)

    def test_tables_alone(self):
        self.program(2.0)
        self.front()
        (self.folder / "fake-1" / "fake.md").unlink()
        (self.folder / "build" / "benchmarks" / "fake").unlink()
        self.assertEqual(self.front("--tables")[0], 0)
        self.assertTrue((self.folder / "fake-1" / "fake.md").exists())

    def test_a_program_that_fails(self):
        self.program(2.0)
        (self.folder / "build" / "benchmarks" / "fake").write_text(f"#!{sys.executable}\nimport sys; sys.exit(3)\n")
        status, output = self.front()
        self.assertEqual(status, 1)
        self.assertIn("fake: FAILED", output)

    def test_records_that_lack_something_are_refused(self):
        row = {key: value for key, value in ROW.items() if key != "flops"}
        self.assertEqual(records_of.faults({**RECORD, "program_sha256": None, "commit": None, "records": [row]}),
                         ["record 0: no flops"])
        self.assertIn("no commit", records_of.faults({**RECORD, "records": []}))

    def test_comparison_is_by_matrix_and_by_what_is_varied(self):
        before = {**RECORD, "records": [ROW, {**ROW, "columns": 8}, {**ROW, "n": 9}, {**ROW, "implementation": "cublas"}]}
        after = {**RECORD, "records": [{**ROW, "batch": 20_000_000, "time_ms": 4.0}, {**ROW, "columns": 8, "time_ms": 1.0},
                                       {**ROW, "implementation": "cublas", "time_ms": 9.0}]}
        lines, slower = records_of.comparison(before, after)
        self.assertEqual(slower, [])
        self.assertIn("2 rows, median time 0.750 of it, 0 slower and 1 faster", lines[0])
        self.assertIn("only on record: 1 rows, lu d n 9", lines[1])

    def test_coarse_levels_beside_the_best_without(self):
        def row(operation, partition, setup_ms, solve_ms, iterations, reason="converged"):
            return {"operation": operation, "matrix": "grid", "rows": 64, "partition": partition, "setup_ms": setup_ms,
                    "solve_ms": solve_ms, "time_ms": setup_ms + solve_ms, "iterations": iterations, "reason": reason}

        def both(partition, *numbers):
            return [row("krylov_solve", partition, 5.0, *numbers), row("refresh_solve", partition, 1.0, *numbers)]

        plain, clusters = both("uniform 8", 8.0, 90), both("clusters 32", 7.0, 80)
        text, passed = two_level.report({**RECORD, "records": [*plain, *both("uniform 8 + ones 8", 2.0, 20), *clusters]})
        self.assertIn("| uniform 8 | 90 | 5.00 + 8.00 | 1.00 + 8.00 |\n", text)
        self.assertIn("| uniform 8 + ones 8 | 20 | 5.00 + 2.00 (1.71x) | 1.00 + 2.00 (2.67x) |\n", text)
        self.assertIn("2.67 times as fast", text)
        self.assertTrue(passed)
        self.assertFalse(two_level.report({**RECORD, "records": [*plain, *clusters]})[1])
        failed = both("uniform 8", 8.0, 90, "max_iterations")
        text, passed = two_level.report({**RECORD, "records": failed})
        self.assertIn("| uniform 8 | 90 | max_iterations | max_iterations |", text)
        self.assertFalse(passed)


class PatternsTest(unittest.TestCase):
    """Set-up of systems: each row beside the target that it has."""

    @staticmethod
    def row(operation, matrix, n, time_ms, batch=1000, partition="uniform", **other):
        return {**ROW, "operation": operation, "matrix": matrix, "n": n, "batch": batch, "time_ms": time_ms, "rows": n * batch,
                "nnz": 9000, "partition": partition, "pattern": "system", **other}

    def refresh(self, *words, **other):
        return self.row("refresh", *words, **{"bytes": 24000.0, "entries": 2000, **other})

    @staticmethod
    def report(*records):
        return patterns.report({**RECORD, "program_sha256": None, "commit": None, "records": records})

    def test_construction(self):
        row = functools.partial(self.row, "construct")
        text, passed = self.report(row("7-point 200^3", 8, 1.5), row("7-point 200^3", 3, 4.0), row("7-point 128^3", 16, 0.5),
                                   row("opm_spe9", 30, 1.0, partition="detected"),
                                   row("7-point 200^3", 8, 9.0, scalar="s", singular=7),
                                   row("7-point 128^3", 32, 0.5, error=None))
        self.assertIn("| 7-point 200^3 | 8 | 1000 | 1.500 |  | 2.0 ms | ok |", text)
        self.assertIn("| 7-point 200^3 | 3 | 1000 | 4.000 |  | 3.5 ms | **under** |", text)
        self.assertIn("| 7-point 128^3 | 16 | 1000 | 0.500 | 2.78 |  |  |", text)
        self.assertIn("| opm_spe9 | detected, up to 30 | 1000 | 1.000 | 3.79 |  |  |", text)
        self.assertIn("| 7-point 200^3 | 8 (7 singular) | 1000 | 9.000 |  |  |  |", text)
        self.assertIn("| 7-point 128^3 | 32 | 1000 | 0.500 | 6.06 |  | **wrong** |", text)
        self.assertIn("3 rows with a target, 2 under it", text)
        self.assertFalse(passed)

    def test_refresh_of_tiny_blocks(self):
        inverse = functools.partial(self.row, "inverse", "7-point 128^3", 8)
        text, passed = self.report(
            self.refresh("7-point 128^3", 8, 0.5, fraction_of_copy=0.6),
            inverse(3.0, batch=2000, implementation="cublas"), inverse(4.0, batch=4000, implementation="cublas matinv"),
            inverse(0.2), self.refresh("7-point 128^3", 8, 0.5, scalar="s", fraction_of_copy=0.49),
            self.refresh("opm_spe9", 30, 0.5, partition="detected", fraction_of_copy=0.59, copies=9))
        # Outside are 7000 entries of 12 bytes, 3.5 times what counts.
        self.assertIn("| 7-point 128^3 | 8 | 1000 | 0.0 |  | 0.5000 | 60.0 | 270.0 | 1.5 | 2 | 60 % | ok |", text)
        self.assertIn("| 7-point 128^3 | 8 | 1000 | 0.0 |  | 0.5000 | 49.0 | 163.3 |  |  | 50 % | **under** |", text)
        self.assertIn("| opm_spe9 | detected, up to 30 | 1000 | 0.0 | 9 | 0.5000 | 59.0 | 265.5 |  |  | 60 % | **under** |", text)
        self.assertFalse(passed)

    def test_refresh_of_large_blocks(self):
        of_metis = {"matrix": "heart", "n": 126, "partition": "METIS 128"}
        records = [self.refresh("7-point 128^3", 64, 1.4), self.refresh("7-point 128^3", 64, 1.4, pattern="definite"),
                   self.row("inverse", "7-point 128^3", 64, 0.5, batch=500), self.row("inverse", "7-point 200^3", 64, 0.1),
                   self.row("inverse", "7-point 128^3", 64, 5.0, batch=500, implementation="cublas"),
                   self.refresh(time_ms=3.0, **of_metis), self.row("inverse", time_ms=2.0, **of_metis),
                   self.refresh("7-point 30^3", 64, 1.0)]
        text, passed = self.report(*records)
        self.assertIn("| 7-point 128^3 | 64 | 1000 | 0.0 |  | 1.4000 | 90.0 | 405.0 | 1.0000 | 1.40x | 7.14 | 1.5x | ok |", text)
        self.assertIn("| 1.0000 | 1.40x | 7.14 | 1.0x | **under** |", text)
        self.assertIn("| heart | METIS 128, up to 126 | 1000 | 0.0 |  | 3.0000 | 90.0 | 405.0 | 2.0000 | 1.50x |  | 1.5x | ok |", text)
        self.assertIn("| 7-point 30^3 | 64 | 1000 | 0.0 |  | 1.0000 | 90.0 | 405.0 |  |  |  |  |  |", text)
        self.assertIn("3 rows with a target, 1 under it", text)
        self.assertFalse(passed)
        self.assertEqual(len({records_of.key_of(r) for r in records}), len(records))
        self.assertIn("definite", records_of.words_of(records_of.key_of(records[1])))

    def test_files_of_several_folders(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            for folder, name in ((one, "a"), (other, "a"), (other, "b")):
                (pathlib.Path(folder) / f"{name}.mtx.gz").touch()
            with unittest.mock.patch.dict(os.environ, {"BLOCKJACOBI_MATRICES": f"{one}:{other}"}):
                self.assertEqual(run.files(["b", "a"]), [f"{other}/b.mtx.gz", f"{one}/a.mtx.gz"])
                with self.assertRaisesRegex(SystemExit, "has c, d"):
                    run.files(["c", "a", "d"])


class SuggestTest(unittest.TestCase):
    """Of two systems and one that nothing solves: scalar, a faster choice, and a recommendation."""

    @staticmethod
    def lines(recommended_ms, solved=True):
        def line(system, choice, solve_ms, reason="converged"):
            return json.dumps({"system": system, "rows": 10, "nnz": 30, "solver": "cg", "choice": choice,
                               "candidate": choice, "reason": reason, "iterations": 7, "choice_ms": 1.0, "setup_ms": 2.0,
                               "solve_ms": solve_ms})
        yield from (line("a", "suggest", recommended_ms), line("a", "scalar", 20.0), line("a", "clusters 8", 7.0))
        yield from (line("b", "suggest", 7.0), line("b", "scalar", 50.0, "max_iterations"), line("b", "clusters 8", 7.0))
        yield from (line("c", choice, 1.0, "breakdown") for choice in ("suggest", "scalar", "clusters 8"))

    def test_a_recommendation_as_good_as_the_best(self):
        text, passed = suggest.report(suggest.read(self.lines(7.4)), "here")
        self.assertTrue(passed)
        self.assertIn("choice on 2 of 2 systems", text)
        self.assertIn("| a | 10 | 30 | cg | suggest 7 (10.40 ms) | 1.00 | 1.04 | clusters 8 | 7 (23.00 ms) |", text)
        self.assertIn("No choice converges on c.", text)

    def test_recommendations_that_are_not(self):
        text, passed = suggest.report(suggest.read(self.lines(30.0)), "here")
        self.assertFalse(passed)
        self.assertIn("choice on 1 of 2 systems", text)
        self.assertIn("as scalar Jacobi on 1: a (LAND 0)", text)


class RecordsTest(unittest.TestCase):
    """Those that are in the tree."""

    def test_schema_and_tables(self):
        # That of the Python package is written by .ci/gpu-python, and looked at by its tests.
        paths = sorted(path for path in (run.HERE / "results").glob("*/*.json") if path.stem != "python")
        self.assertTrue(paths)
        for path in paths:
            with self.subTest(path.name):
                values = records_of.load(path)
                self.assertEqual(records_of.faults(values), [])
                text, _ = run.BENCHMARKS[path.stem].table(values)
                self.assertEqual(text, path.with_suffix(".md").read_text(encoding="utf-8"), "run.py --tables was not run")
                self.assertEqual(len({records_of.key_of(r) for r in values["records"]}), len(values["records"]))

    def test_manual(self):
        """Times of two_level that docs/choose.md quotes, with as many digits as it has."""
        manual = (run.ROOT / "docs" / "choose.md").read_text(encoding="utf-8")

        def rows(head):
            """Cells of the lines of a table, the first of each line as in the one before if it is empty."""
            lines = manual.partition(f"\n{head}")[2].partition("\n\n")[0].splitlines()[2:]
            self.assertTrue(lines, head)
            name = ""
            for line in lines:
                first, *cells = [cell.strip() for cell in line.strip("|").split("|")]
                yield (name := first or name), cells

        def choices(gpu):
            found = {}
            for record in records_of.load(run.HERE / "results" / gpu / "two_level.json")["records"]:
                found.setdefault((record["matrix"], record["partition"]), {})[record["operation"]] = record
            return found

        def expect_quoted(cell, *values):
            parts = cell.split(" + ")
            self.assertEqual(len(parts), len(values), cell)
            for part, value in zip(parts, values):
                self.assertAlmostEqual(float(part), value, delta=0.501 * 10.0 ** -len(part.partition(".")[2]))

        found = choices("h200")
        for name, (alone, ones, setup, refresh, solve) in rows("| system | alone | ones"):
            size, _, jumps = name.removeprefix("7 points ").partition("³")
            matrix = f"7-point {size}^3{' jumps' if jumps else ''}"
            largest = [blocks for of, blocks in found if of == matrix and blocks.startswith("uniform 8 + ones")][-1]
            for cell, blocks in ((alone, "uniform 8"), (ones, largest)):
                record = found[matrix, blocks]["krylov_solve"]
                expect_quoted(cell, record["setup_ms"], record["solve_ms"])
            first, again = found[matrix, "uniform 8 + multigrid"].values()
            expect_quoted(setup, first["setup_ms"])
            expect_quoted(refresh, again["setup_ms"])
            expect_quoted(solve, again["solve_ms"])

        found = choices("h100-80gb-hbm3")
        for name, (vectors, iterations, setup, refresh, solve) in rows("| one H100 | vectors"):
            matrix, blocks = name.split(", ")[:2]
            matrix = matrix.replace("7 points", "7-point").replace("³", "^3")
            size, _, relaxed = vectors.partition(", ")
            if size != "-":
                blocks += f" + {relaxed[0] + ' relaxed' if relaxed else 'ones'} {size}"
            first, again = found[matrix, blocks].values()
            self.assertEqual(int(iterations), again["iterations"])
            expect_quoted(setup, first["setup_ms"])
            expect_quoted(refresh, again["setup_ms"])
            expect_quoted(solve, again["solve_ms"])

    def test_plots(self):
        if importlib.util.find_spec("matplotlib") is None:
            self.skipTest("no matplotlib")
        path = run.HERE / "results" / "h200" / "energy.json"
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder) / "energy.svg"
            self.assertTrue(plots.write(records_of.load(path), plots.energy, target))
            self.assertIn("<svg", target.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
