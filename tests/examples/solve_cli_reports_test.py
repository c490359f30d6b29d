"""What blockjacobi-solve prints and writes."""

import csv
import os
import shutil
import subprocess
import unittest

from solve_program import PROGRAM, SolveTest


class Reports(SolveTest):
    def test_json(self):
        path = self.laplace()
        report = self.solve(path, "--blocks", "supervariables").report
        self.assertEqual((report["program"], report["matrix"]), ("blockjacobi-solve", path))
        self.assertEqual((report["rows"], report["nnz"]), (144, 144 + 4 * 12 * 11))
        self.assertEqual((report["field"], report["symmetry"]), ("real", "symmetric"))
        self.assertEqual(len(report["history"]), report["iterations"] + 1)
        self.assertEqual(report["history"][0], report["rhs_norm"])
        self.assertAlmostEqual(report["relative_residual"], report["true_residual"] / report["rhs_norm"], places=15)
        self.assertEqual(sum(s["rows"] * s["count"] for s in report["blocks"]["sizes"]), 144)
        self.assertAlmostEqual(
            report["residual_gap"], abs(report["true_residual"] - report["history"][-1]) / report["rhs_norm"], places=15)
        for key in ("setup_ms", "solve_ms"):
            self.assertGreater(report[key], 0)
        self.assertTrue(report["backend"])

    def test_history(self):
        result = self.solve(self.laplace(), "--history", self.path("history.csv"))
        with open(self.path("history.csv"), encoding="ascii", newline="") as file:
            header, *rows = csv.reader(file)
        self.assertEqual(header, ["iteration", "residual"])
        self.assertEqual([int(i) for i, _ in rows], list(range(result.report["iterations"] + 1)))
        self.assertEqual([float(r) for _, r in rows], result.report["history"])

    @unittest.skipUnless(shutil.which("gnuplot"), "no gnuplot")
    def test_plot(self):
        for name in ("residuals.png", "|it's a \"plot\".png", "LOUD.PNG"):
            with self.subTest(name=name):
                self.solve(self.laplace(), "--plot", self.path(name))
                with open(self.path(name), "rb") as file:
                    self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    @unittest.skipUnless(shutil.which("gnuplot"), "no gnuplot")
    def test_plot_that_cannot_be_drawn(self):
        zeros = self.path("zeros.mtx")
        with open(zeros, "w", encoding="ascii") as file:
            file.write("%%MatrixMarket matrix array real general\n144 1\n" + 144 * "0\n")
        run = subprocess.run([PROGRAM, self.laplace(), "--rhs", zeros, "--plot", self.path("none.png")],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("no residuals to draw", run.stderr)
        self.assertFalse(os.path.exists(self.path("none.png")))
        os.symlink("/dev/full", self.path("full.png"))
        for name, message in ((self.path("full.png"), "was not written whole"), (self.path("a\nb.png"), "control character")):
            with self.subTest(name=name):
                run = subprocess.run([PROGRAM, self.laplace(), "--plot", name], capture_output=True, check=False)
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertIn(message.encode(), run.stderr)
                self.assertNotIn(b"PNG", run.stdout)

    def test_plot_of_another_format_is_refused_before_the_solve(self):
        for name in ("p.jpg", "p.svg", "p.png.gz", "png", ".png"):
            with self.subTest(name=name):
                run = subprocess.run([PROGRAM, self.laplace(), "--plot", self.path(name)], capture_output=True, text=True,
                                     check=False)
                self.assertEqual((run.returncode, run.stdout), (2, ""))
                self.assertIn(f"--plot {self.path(name)}: the name must end in .png", run.stderr)
                self.assertFalse(os.path.exists(self.path(name)))

    def test_plot_without_gnuplot(self):
        run = subprocess.run([PROGRAM, self.laplace(), "--plot", self.path("residuals.png")], capture_output=True, text=True,
                             check=False, env=os.environ | {"PATH": self.path("")})
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertIn("gnuplot", run.stderr)

    def test_nothing_that_is_read_is_overwritten(self):
        matrix, both = self.laplace(), self.path("out")
        with open(matrix, "rb") as file:
            before = file.read()
        detour = os.path.join(os.path.dirname(matrix), ".", os.path.basename(matrix))
        link, hard_link, absent = self.path("link"), self.path("hard_link"), self.path("absent")
        os.symlink(matrix, link)
        os.link(matrix, hard_link)
        os.symlink("out", absent)
        relative = os.path.relpath(both)
        for arguments in (["--json", matrix], ["--json", detour], ["--history", matrix], ["--history", detour],
                          ["--plot", matrix], ["--json", link], ["--history", hard_link], ["--plot", link],
                          ["--json", both, "--history", both], ["--json", both, "--plot", both],
                          ["--json", both, "--history", relative], ["--history", relative, "--plot", both],
                          ["--json", both, "--history", absent], ["--json", absent, "--plot", both],
                          ["--solution", matrix], ["--json", both, "--solution", absent]):
            run = subprocess.run([PROGRAM, matrix, *arguments], capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, run.stdout), (2, ""))
            self.assertIn("would overwrite", run.stderr)
        self.assertFalse(os.path.exists(both))
        with open(matrix, "rb") as file:
            self.assertEqual(file.read(), before)

    def test_text(self):
        path = self.laplace()
        result = self.solve(path, "--blocks", "detect")
        for part in (path, "144 x 144", "672 entries", "real symmetric", "MB/s", "detect, at most 32 rows",
                     f"converged after {result.report['iterations']} iterations", "recomputed"):
            self.assertIn(part, result.out)

    def test_one_of_a_thing_is_no_plural(self):
        one = self.matrix("one.mtx", [(1, 1, 2.0)], 1, symmetry="symmetric")
        runs = [self.solve(one, *words) for words in (
            ("--blocks", "uniform", "--block-size", 1, "--max-iterations", 1), ("--blocks", "suggest"), ("--compare",),
            ("--unknowns", 1, "--coarse", "ones"))]
        runs.append(self.solve(self.laplace(), "--max-iterations", 1, "--blocks", "detect", "--block-size", 1))
        self.assertIn("1 x 1, 1 entry, real", runs[0].out)
        self.assertIn("at most 1 iteration\n", runs[0].out)
        self.assertIn("uniform, 1 row: 1 block, 1 of 1 row ", runs[0].out)
        self.assertIn("converged after 1 iteration\n", runs[0].out)
        self.assertIn("candidate scalar: converged after 1 iteration, ", runs[2].out)
        for run in runs:
            self.assertNotRegex(run.out + run.err, r"(?<![\d.])1 (iterations|rows|blocks|entries|columns|probes)\b")

    def test_phases_of_the_setup(self):
        result = self.solve(self.laplace(), "--storage", "fp16")
        phases = result.report["blocks"]["setup_phases_ms"]
        self.assertEqual(sorted(phases), ["analysis", "inversion", "repair", "storage"])
        for name in ("analysis", "inversion", "storage"):
            self.assertGreater(phases[name], 0)
        self.assertLessEqual(sum(phases.values()), result.report["setup_ms"])
        self.assertIn("  analysis ", result.out)

    def test_progress_is_a_few_lines_where_there_is_no_terminal(self):
        result = self.solve(self.laplace(40), "--blocks", "uniform", "--block-size", 1)
        self.assertGreater(result.report["iterations"], 50)
        shown = [line for line in result.out.splitlines() if line.startswith("  iteration")]
        self.assertTrue(1 <= len(shown) <= 12, result.out)
        self.assertNotIn("\r", result.out)

    def test_matrix_without_rows(self):
        result = self.solve(self.matrix("none.mtx", [], 0))
        self.assert_converged(result)
        self.assertIn("no rows", result.out)

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            run = subprocess.run([PROGRAM, self.laplace(), "--backend", "host"], stdout=full, stderr=subprocess.PIPE,
                                 text=True, check=False)
        self.assertEqual(run.returncode, 2)
        self.assertIn("standard output", run.stderr)

    def test_version_and_help(self):
        for option in ("--version", "--help"):
            run = subprocess.run([PROGRAM, option], capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 0)
            self.assertIn("blockjacobi-solve", run.stdout)

    def test_reports_that_cannot_be_written_are_refused_before_the_solve(self):
        for option in ("--json", "--history", "--plot", "--solution"):
            run = subprocess.run(
                [PROGRAM, self.laplace(), option, self.path("no/such/file")], capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, run.stdout), (2, ""))
            self.assertIn(option, run.stderr)
            self.assertIn("no/such", run.stderr)


if __name__ == "__main__":
    unittest.main()
