"""The command line of blockjacobi-solve: what it solves, what it prints and writes, what it refuses and how.

The program is named by the environment variable BLOCKJACOBI_SOLVE, the folder of small matrices by
BLOCKJACOBI_SMALL_MATRICES.
"""

import csv
import gzip
import os
import pathlib
import shutil
import subprocess
import unittest

from solve_program import PROGRAM, SolveTest, laplace_2d, write_vector


def tridiagonal(n, below, diagonal, above):
    entries = [(i, i, diagonal) for i in range(1, n + 1)]
    entries += [(i + 1, i, below) for i in range(1, n)]
    return entries + [(i, i + 1, above) for i in range(1, n)]


class Convergence(SolveTest):
    def test_symmetric_file_takes_cg(self):
        result = self.solve(self.laplace())
        self.assert_converged(result)
        self.assertEqual(result.report["solver"], "cg")
        self.assertIn("cg (the file says symmetric)", result.out)

    def test_general_file_takes_gmres(self):
        result = self.solve(self.matrix("a.mtx", tridiagonal(80, -1.5, 4.0, -0.5), 80))
        self.assert_converged(result)
        self.assertEqual(result.report["solver"], "gmres")
        self.assertIn("the file does not say symmetric", result.out)

    def test_solver_as_asked(self):
        for solver in ("cg", "fcg", "bicgstab", "gmres", "fgmres", "richardson"):
            result = self.solve(self.laplace(), "--solver", solver)
            self.assert_converged(result)
            self.assertEqual(result.report["solver"], solver)

    def test_larger_blocks_need_fewer_iterations(self):
        iterations = [
            self.solve(self.laplace(), "--blocks", "uniform", "--block-size", size).report["iterations"]
            for size in (1, 12, 144)
        ]
        self.assertEqual(iterations[2], 1, "one block is the whole matrix")
        self.assertLess(iterations[1], iterations[0])

    def test_restart_is_used(self):
        path = self.laplace(20)
        full, restarted = (self.solve(path, "--solver", "gmres", "--restart", m) for m in (200, 3))
        self.assert_converged(full)
        self.assert_converged(restarted)
        self.assertLess(full.report["iterations"], restarted.report["iterations"])

    def test_scalars(self):
        for scalar, rtol in (("s", 1e-4), ("d", 1e-8), ("c", 1e-4), ("z", 1e-8)):
            result = self.solve(self.laplace(), "--scalar", scalar, "--rtol", rtol)
            self.assert_converged(result, rtol)
            self.assertEqual(result.report["scalar"], scalar)
        self.assertEqual(self.solve(self.laplace()).report["scalar"], "d")

    def test_unreachable_rtol_in_single_precision_is_announced(self):
        self.assertIn("below what scalar s can reach", self.solve(self.laplace(), "--scalar", "s").err)

    def test_complex_hermitian_takes_cg_in_z(self):
        entries = [(i, i, complex(3, 0)) for i in range(1, 41)] + [(i + 1, i, complex(0.5, 1)) for i in range(1, 40)]
        result = self.solve(self.matrix("h.mtx", entries, 40, field="complex", symmetry="hermitian"))
        self.assert_converged(result)
        self.assertEqual((result.report["solver"], result.report["scalar"]), ("cg", "z"))

    def test_complex_symmetric_takes_gmres(self):
        entries = [(i, i, complex(3, 1)) for i in range(1, 41)] + [(i + 1, i, complex(0, 1)) for i in range(1, 40)]
        path = self.matrix("c.mtx", entries, 40, field="complex", symmetry="symmetric")
        for scalar, rtol in (("auto", 1e-8), ("c", 1e-4)):
            result = self.solve(path, "--scalar", scalar, "--rtol", rtol)
            self.assert_converged(result, rtol)
            self.assertEqual(result.report["solver"], "gmres")

    def test_integer_and_pattern_files(self):
        self.assert_converged(self.solve(self.matrix("i.mtx", tridiagonal(30, -1, 4, -1), 30, field="integer")))
        pattern = [(i, i, "") for i in range(1, 31)] + [(i + 1, i, "") for i in range(1, 30, 2)]
        self.assert_converged(self.solve(self.matrix("p.mtx", pattern, 30, field="pattern")))

    def test_packed_file(self):
        path = self.laplace()
        with open(path, "rb") as plain, gzip.open(path + ".gz", "wb") as packed:
            shutil.copyfileobj(plain, packed)
        self.assertEqual(self.solve(path + ".gz").report["history"], self.solve(path).report["history"])

    def test_two_runs_give_the_same_bits(self):
        runs = [self.solve(self.laplace(), "--threads", 2, backend="host").report["history"] for _ in range(2)]
        self.assertEqual(*runs)

    def test_max_iterations_ends_the_solve(self):
        result = self.solve(self.laplace(), "--max-iterations", 3)
        self.assert_not_converged(result)
        self.assertEqual((result.report["reason"], result.report["iterations"]), ("max_iterations", 3))

    def test_indefinite_matrix_suggests_gmres(self):
        entries = [(i, i, 1.0 if i % 2 else -1.0) for i in range(1, 21)] + [(i + 1, i, 2.0) for i in range(1, 20)]
        path = self.matrix("i.mtx", entries, 20, symmetry="symmetric")
        result = self.solve(path, "--solver", "cg", "--blocks", "uniform", "--block-size", 1)
        self.assert_not_converged(result)
        self.assertIn(result.report["reason"], ("indefinite_matrix", "indefinite_preconditioner"))
        self.assertIn("--solver gmres", result.out)

    def test_values_past_the_range_are_named_not_shown_as_numbers(self):
        entries = [(i, j, 1e200) for i in range(1, 5) for j in range(1, 5) if i != j] + [(i, i, 1e300) for i in range(1, 5)]
        result = self.solve(self.matrix("big.mtx", entries, 4))
        self.assertIn(result.status, (0, 1))
        if result.status == 1:
            self.assert_not_converged(result)


class Vectors(SolveTest):
    def test_ones(self):
        """b = A * ones: of the second difference matrix only the two ends are left."""
        path = self.matrix("a.mtx", tridiagonal(50, -1.0, 2.0, -1.0), 50)
        result = self.solve(path, "--rhs", "ones", "--solver", "cg")
        self.assert_converged(result)
        self.assertAlmostEqual(result.report["rhs_norm"], 2**0.5, places=14)

    def test_random_is_uniform_in_minus_one_to_one(self):
        n = 4096
        result = self.solve(self.matrix("one.mtx", [(i, i, 1.0) for i in range(1, n + 1)], n))
        self.assert_converged(result)
        self.assertAlmostEqual(result.report["rhs_norm"] / (n / 3) ** 0.5, 1.0, delta=0.03)

    def test_rhs_file_and_x0(self):
        n = 144
        write_vector(self.path("b.mtx"), [float(i) for i in range(n)])
        path = self.laplace()
        result = self.solve(path, "--rhs", self.path("b.mtx"))
        self.assert_converged(result)
        self.assertAlmostEqual(result.report["rhs_norm"], sum(i * i for i in range(n)) ** 0.5, places=9)
        write_vector(self.path("x0.mtx"), [1.0] * n)
        exact = self.solve(path, "--rhs", "ones", "--x0", self.path("x0.mtx"))
        self.assert_converged(exact)
        self.assertEqual(exact.report["iterations"], 0, "x0 is the solution")
        other = self.solve(path, "--x0", self.path("x0.mtx"))
        self.assert_converged(other)
        self.assertNotEqual(other.report["history"][0], self.solve(path).report["history"][0])

    def test_wrong_length(self):
        write_vector(self.path("short.mtx"), [1.0] * 143)
        for option in ("--rhs", "--x0"):
            result = self.solve(self.laplace(), option, self.path("short.mtx"))
            self.assert_refused(result, option, "short.mtx:2:", "143 x 1", "144 x 1")

    def test_matrix_of_any_size_in_place_of_a_vector(self):
        path = self.matrix("huge.mtx", [(1, 1, 1.0)], 40000000)
        for option in ("--rhs", "--x0"):
            result = self.solve(self.laplace(), option, path, timeout=20)
            self.assert_refused(result, option, "huge.mtx:2:", "40000000 x 40000000", "144 x 1")

    def test_right_hand_side_past_the_range(self):
        path = self.matrix("a.mtx", [(1, 1, 1.0), (2, 1, 1e308), (2, 2, 1e308)], 2)
        self.assert_refused(self.solve(path, "--rhs", "ones"), "--rhs", "row 1")

    def test_nan_in_rhs(self):
        path = self.write("b.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\nnan\n")
        matrix = self.matrix("a.mtx", [(1, 1, 1.0), (2, 2, 1.0)], 2)
        self.assert_refused(self.solve(matrix, "--rhs", path), "b.mtx:4:")


class BlockSources(SolveTest):
    def test_file(self):
        for text in ("0\n100\n144\n", "# three\n0 50 100  % comment\n144\n"):
            result = self.solve(self.laplace(), "--blocks", self.write("blocks.txt", text))
            self.assert_converged(result)
        self.assertEqual(
            result.report["blocks"]["sizes"], [{"rows": 44, "count": 1}, {"rows": 50, "count": 2}])
        self.assertEqual(result.report["blocks"]["count"], 3)

    def test_uniform_with_a_short_last_block(self):
        sizes = self.solve(self.laplace(), "--blocks", "uniform", "--block-size", 100).report["blocks"]["sizes"]
        self.assertEqual(sizes, [{"rows": 44, "count": 1}, {"rows": 100, "count": 1}])

    def test_uniform_auto_is_32(self):
        sizes = self.solve(self.laplace(), "--blocks", "uniform").report["blocks"]["sizes"]
        self.assertEqual(sizes, [{"rows": 16, "count": 1}, {"rows": 32, "count": 4}])

    def test_detect_finds_dense_blocks(self):
        entries = []
        for block in range(10):
            entries += [(4 * block + i, 4 * block + j, 5.0 if i == j else 1.0) for i in range(1, 5) for j in range(1, 5)]
        path = self.matrix("blocks.mtx", entries, 40)
        result = self.solve(path, "--block-size", 4)
        self.assertEqual(result.report["blocks"]["sizes"], [{"rows": 4, "count": 10}])
        self.assertEqual(result.report["blocks"]["captured"], 1.0)
        self.assertEqual(result.report["iterations"], 1)

    def coupled_pairs(self, n=60):
        """Rows i and i + n / 2 are strongly coupled, neighbours weakly: blocks of the pairs are not contiguous."""
        entries = [(i, i, 4.0) for i in range(1, n + 1)] + [(i + 1, i, -0.3) for i in range(1, n)]
        entries += [(i + n // 2, i, -3.0) for i in range(1, n // 2 + 1)]
        return self.matrix("pairs.mtx", sorted(entries), n, symmetry="symmetric")

    def test_labels_renumber_the_rows(self):
        path = self.coupled_pairs()
        labels = self.write("labels.txt", "# pairs\n" + " ".join(str(i % 30) for i in range(60)) + "\n")
        result = self.solve(path, "--blocks", "labels:" + labels)
        self.assert_converged(result)
        self.assertEqual(result.report["blocks"]["sizes"], [{"rows": 2, "count": 30}])
        self.assertTrue(result.report["blocks"]["renumbered"])
        self.assertIn("rows renumbered", result.out)
        plain = self.solve(path, "--blocks", "uniform", "--block-size", 2)
        self.assertFalse(plain.report["blocks"]["renumbered"])
        self.assertLess(result.report["iterations"], plain.report["iterations"])
        self.assertAlmostEqual(result.report["rhs_norm"], plain.report["rhs_norm"], places=12)

    def test_x0_follows_the_numbering(self):
        write_vector(self.path("x0.mtx"), [float(i) for i in range(60)])
        write_vector(self.path("b.mtx"), [0.0] * 60)
        labels = self.write("labels.txt", "\n".join(str(i % 30) for i in range(60)))
        exact = self.matrix("d.mtx", [(i, i, float(i)) for i in range(1, 61)], 60)
        write_vector(self.path("b.mtx"), [float((i + 1) * i) for i in range(60)])
        result = self.solve(exact, "--blocks", "labels:" + labels, "--rhs", self.path("b.mtx"), "--x0", self.path("x0.mtx"))
        self.assert_converged(result)
        self.assertEqual(result.report["iterations"], 0, "x0 is the solution")

    def test_labels_that_do_not_fit(self):
        path = self.coupled_pairs()
        for text, *parts in (
            ("1\n" * 59, "59 labels", "60 rows"),
            ("1\n" * 61, ":61:", "60 rows"),
            ("1\n" * 59 + "one\n", ":60:", "'one' is not a label"),
            ("1\n\x01\x7f" + "x" * 100 + "\n", ":2:", "'\\x01\\x7fxxx", "...' is not a label"),
        ):
            with self.subTest(parts=parts):
                name = self.write("labels.txt", text)
                self.assert_refused(self.solve(path, "--blocks", "labels:" + name), "labels.txt", *parts)
        self.assert_refused(self.solve(path, "--blocks", "labels:none.txt"), "--blocks", "'none.txt'")
        name = self.write("labels.txt", "1\n" * 60)
        self.assert_refused(self.solve(path, "--blocks", "labels:" + name, "--block-size", 4), "--block-size 4")

    def test_label_of_too_many_rows(self):
        path = self.matrix("one.mtx", [(i, i, 1.0) for i in range(1, 601)], 600)
        labels = self.write("labels.txt", "2\n" * 10 + "1\n" * 590)
        self.assert_refused(self.solve(path, "--blocks", "labels:" + labels), "labels.txt:523:", "512 rows", "label 1")

    def test_packed_blocks(self):
        path = pathlib.Path(self.path("b.gz"))
        path.write_bytes(gzip.compress(b"0\n144\n"))
        for prefix in ("", "labels:"):
            self.assert_refused(self.solve(self.laplace(), "--blocks", prefix + str(path)), "b.gz:1:", "gzip-packed")

    def test_coupled_keeps_a_diagonal_matrix_scalar(self):
        path = self.matrix("d.mtx", [(i, i, float(i)) for i in range(1, 41)], 40)
        sizes = self.solve(path, "--blocks", "coupled").report["blocks"]["sizes"]
        self.assertEqual(sizes, [{"rows": 1, "count": 40}])
        path = self.matrix("t.mtx", tridiagonal(40, -1.0, 4.0, -1.0), 40)
        for coupling, sizes in ((0.2, [{"rows": 8, "count": 5}]), (0.3, [{"rows": 1, "count": 40}])):
            result = self.solve(path, "--blocks", "coupled", "--block-size", 8, "--coupling", coupling)
            self.assert_converged(result)
            self.assertEqual(result.report["blocks"]["sizes"], sizes)

    def test_tolerance_lets_rows_differ(self):
        entries = [(i, j, 9.0 if i == j else 1.0) for i in range(1, 9) for j in range(1, 9) if (i, j) != (3, 8)]
        path = self.matrix("a.mtx", entries + [(9, 9, 1.0), (10, 10, 1.0)], 10)
        for tolerance, counts in ((0, [2, 1, 5, 1, 1]), (0.2, [8, 1, 1])):
            result = self.solve(path, "--blocks", "coupled", "--coupling", 100, "--block-tolerance", tolerance)
            sizes = {s["rows"]: s["count"] for s in result.report["blocks"]["sizes"]}
            self.assertEqual(sizes, {size: counts.count(size) for size in counts})

    def test_metis(self):
        result = self.solve(self.coupled_pairs(), "--blocks", "metis", "--block-size", 8)
        if result.status == 2:
            self.assertIn("built without METIS", result.err)
            self.skipTest("built without METIS")
        self.assert_converged(result)
        self.assertLessEqual(max(s["rows"] for s in result.report["blocks"]["sizes"]), 8)
        self.assertTrue(result.report["blocks"]["renumbered"])

    def test_suggest_reports_and_chooses(self):
        for solver in ("cg", "gmres"):
            result = self.solve(self.laplace(20), "--blocks", "suggest", "--solver", solver)
            self.assert_converged(result)
            suggestion = result.report["blocks"]["suggestion"]
            names = [c["name"] for c in suggestion["candidates"]]
            everywhere = ["scalar", "detect 8", "detect 16", "detect 32", "uniform 8", "uniform 32", "uniform 64"]
            on_host = [] if "cuda" in result.report["backend"] else ["coupled 32"]
            self.assertEqual(names, everywhere + on_host)
            self.assertIn(suggestion["recommended"], names)
            self.assertIn("suggested, " + suggestion["recommended"], result.out)
            self.assertIn("<- recommended", result.out)

    def test_options_without_effect(self):
        path = self.laplace()
        self.assert_refused(self.solve(path, "--blocks", "suggest", "--block-size", 8), "--block-size 8", "suggest")
        self.assert_refused(self.solve(path, "--blocks", "uniform", "--block-tolerance", 0.1), "--block-tolerance")
        self.assert_refused(self.solve(path, "--coupling", 0.1), "--coupling")
        self.assert_refused(self.solve(path, "--blocks", "coupled", "--coupling", -1), "--coupling", "-1")
        self.assert_refused(self.solve(path, "--block-tolerance", 1), "--block-tolerance", "1")

    def test_files_that_do_not_fit(self):
        cases = (
            ("0\n100\n143\n", ":3:", "143", "144 rows"),
            ("0\n145\n", ":2:", "145", "144 rows"),
            ("0\n90\n90\n144\n", ":3:", "block 1", "90"),
            ("0\n90\n80\n144\n", ":3:", "block 1", "80", "90"),
            ("1\n144\n", ":1:", "1", "not 0"),
            ("0\nseven\n144\n", ":2:", "'seven'"),
            ("0\n1.5\n144\n", ":2:", "'1.5'"),
            ("0\n99999999999\n144\n", ":2:", "'99999999999'"),
            ("# nothing\n", ":1:", "no block pointers"),
            ("", ":1:", "no block pointers"),
        )
        for text, *parts in cases:
            with self.subTest(text=text):
                result = self.solve(self.laplace(), "--blocks", self.write("blocks.txt", text))
                self.assert_refused(result, "blocks.txt", *parts)

    def test_block_past_the_largest(self):
        path = self.matrix("one.mtx", [(i, i, 1.0) for i in range(1, 601)], 600)
        result = self.solve(path, "--blocks", self.write("blocks.txt", "0\n513\n600\n"))
        self.assert_refused(result, "blocks.txt:2:", "block 0", "513", "512")
        self.assert_converged(self.solve(path, "--blocks", self.write("blocks.txt", "0\n512\n600\n")))


class SingularBlocks(SolveTest):
    def saddle(self):
        """Every second row has no diagonal entry; rows pair up as (2, 1; 1, 0)."""
        entries = []
        for i in range(1, 40, 2):
            entries += [(i, i, 2.0), (i, i + 1, 1.0), (i + 1, i, 1.0)]
        return self.matrix("saddle.mtx", entries, 40)

    def test_fail(self):
        result = self.solve(self.saddle(), "--blocks", "uniform", "--block-size", 1, "--singular", "fail")
        self.assert_not_converged(result)
        self.assertEqual(result.report["reason"], "singular_block")
        self.assertIsNone(result.report["true_residual"])
        self.assertIn("block 1", result.report["message"])

    def test_replaced_with_a_warning(self):
        for policy in ("identity", "scalar_jacobi", "shift"):
            result = self.solve(self.saddle(), "--blocks", "uniform", "--block-size", 1, "--singular", policy)
            self.assert_converged(result)
            self.assertEqual(result.report["blocks"]["singular"], 20)
            self.assertEqual([d["block"] for d in result.report["blocks"]["defects"]], list(range(1, 40, 2)))
            self.assertIn("20 of 40 blocks", result.err)
            self.assertIn(policy, result.err)
        default = self.solve(self.saddle(), "--blocks", "uniform", "--block-size", 1)
        self.assertEqual(default.report["blocks"]["singular_policy"], "scalar_jacobi")

    def test_blocks_that_pair_the_rows_are_regular(self):
        result = self.solve(self.saddle(), "--blocks", "uniform", "--block-size", 2, "--singular", "fail")
        self.assert_converged(result)
        self.assertEqual((result.report["iterations"], result.err), (1, ""))

    def test_structurally_singular_matrix_ends_with_a_reason(self):
        entries = [(i, i, 1.0) for i in range(1, 20)] + [(20, 1, 1.0)]
        write_vector(self.path("b.mtx"), [1.0] * 19 + [2.0])
        result = self.solve(self.matrix("s.mtx", entries, 20), "--rhs", self.path("b.mtx"), "--max-iterations", 200)
        self.assert_not_converged(result)


class Reports(SolveTest):
    def test_json(self):
        path = self.laplace()
        report = self.solve(path).report
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

    def test_nothing_that_is_read_is_overwritten(self):
        matrix, both = self.laplace(), self.path("out")
        with open(matrix, "rb") as file:
            before = file.read()
        detour = os.path.join(os.path.dirname(matrix), ".", os.path.basename(matrix))
        for arguments in (["--json", matrix], ["--json", detour], ["--history", matrix], ["--history", detour],
                          ["--json", both, "--history", both]):
            run = subprocess.run([PROGRAM, matrix, *arguments], capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, run.stdout), (2, ""))
            self.assertIn("would overwrite", run.stderr)
        with open(matrix, "rb") as file:
            self.assertEqual(file.read(), before)

    def test_text(self):
        path = self.laplace()
        result = self.solve(path)
        for part in (path, "144 x 144", "672 entries", "real symmetric", "MB/s", "detect, at most 32 rows",
                     f"converged after {result.report['iterations']} iterations", "recomputed"):
            self.assertIn(part, result.out)

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
        for option in ("--json", "--history"):
            run = subprocess.run(
                [PROGRAM, self.laplace(), option, self.path("no/such/file")], capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, run.stdout), (2, ""))
            self.assertIn(option, run.stderr)
            self.assertIn("no/such", run.stderr)


class BadUsage(SolveTest):
    def test_values(self):
        cases = (
            ("--solver", "jacobi", "'jacobi'", "cg", "gmres"),
            ("--backend", "gpu", "'gpu'", "host", "cuda"),
            ("--scalar", "double", "'double'", "s, d, c, z"),
            ("--singular", "ignore", "'ignore'", "scalar_jacobi"),
            ("--storage", "half", "'half'", "full"),
            ("--block-size", "0", "'0'", "512"),
            ("--block-size", "513", "'513'", "512"),
            ("--block-size", "many", "'many'"),
            ("--rtol", "0", "0"),
            ("--rtol", "-1", "-1"),
            ("--rtol", "nan", "nan"),
            ("--rtol", "small", "small"),
            ("--max-iterations", "0", "0"),
            ("--max-iterations", "-5", "-5"),
            ("--max-iterations", "99999999999", "99999999999"),
            ("--restart", "0", "0"),
            ("--threads", "0", "0"),
            ("--blocks", "detekt", "'detekt'", "uniform"),
            ("--rhs", "zeros", "'zeros'", "ones"),
            ("--x0", "none.mtx", "'none.mtx'"),
            ("--x0", "", "empty"),
            ("--x0", "/dev/null", "'/dev/null'", "no regular file"),
            ("--history", "", "empty"),
        )
        for option, value, *parts in cases:
            with self.subTest(option=option, value=value):
                self.assert_refused(self.solve(self.laplace(), option, value), option, *parts)

    def test_values_of_later_versions(self):
        for option, value in (("--plot", "residuals.png"),):
            with self.subTest(option=option, value=value):
                self.assert_refused(self.solve(self.laplace(), option, value), option, value, "known, but not available")

    def test_combinations(self):
        blocks = self.write("blocks.txt", "0\n144\n")
        self.assert_refused(self.solve(self.laplace(), "--blocks", blocks, "--block-size", 8), "--block-size 8")
        self.assert_refused(self.solve(self.laplace(), "--threads", 2, "--backend", "cuda"), "--threads", "cuda")
        for solver in ("cg", "fcg", "bicgstab", "richardson"):
            self.assert_refused(self.solve(self.laplace(), "--restart", 20, "--solver", solver), "--restart", solver)
        self.assert_refused(self.solve(self.laplace(), "--relaxation", 0.5), "--relaxation", "auto")
        for value in (0, -1, "inf", "nan"):
            result = self.solve(self.laplace(), "--solver", "richardson", "--relaxation", value)
            self.assert_refused(result, "--relaxation", str(value))

    def test_more_threads_than_the_host_backend_takes(self):
        self.assert_refused(self.solve(self.laplace(), "--threads", 1025, backend="host"), "1025", "1024")

    def test_unknown_option_and_missing_matrix(self):
        self.assert_refused(self.solve(self.laplace(), "--tolerance", "1"), "--tolerance")
        self.assert_refused(self.solve(), "MATRIX")

    def test_every_storage_by_name(self):
        full = None
        for storage in ("full", "packed", "fp32", "bf16", "fp16", "adaptive"):
            with self.subTest(storage=storage):
                result = self.solve(self.laplace(), "--storage", storage, "--blocks", "uniform", "--block-size", 16)
                self.assert_converged(result)
                blocks = result.report["blocks"]
                full = full or blocks["inverse_bytes"]
                self.assertEqual(blocks["storage"], storage)
                self.assertEqual(sum(blocks["formats"].values()), blocks["count"])
                self.assertTrue(storage == "full" or blocks["inverse_bytes"] < 0.6 * full)

    def test_packed_storage_wants_a_symmetric_matrix(self):
        matrix = self.matrix("general.mtx", [(1, 1, 4.0), (1, 2, 1.0), (2, 1, 2.0), (2, 2, 4.0)], 2)
        result = self.solve(matrix, "--storage", "packed", "--blocks", "uniform", "--block-size", 2)
        self.assert_refused(result, "packed", "block 0 (rows 0..1): element (1, 0) is 2, (0, 1) is 1")

    def test_l1_and_accuracy(self):
        self.assert_converged(self.solve(self.laplace(), "--l1"))
        self.assert_converged(self.solve(self.laplace(), "--storage", "adaptive", "--accuracy", "1e-6"))
        self.assert_refused(self.solve(self.laplace(), "--accuracy", "0.5"), "--accuracy", "full")
        self.assert_refused(self.solve(self.laplace(), "--storage", "adaptive", "--accuracy", "0"), "--accuracy")


class BadInput(SolveTest):
    def test_missing_file_and_folder(self):
        self.assert_refused(self.solve(self.path("none.mtx")), "none.mtx")
        self.assert_refused(self.solve(self.folder), self.folder)

    def test_malformed_files_name_the_line(self):
        head = "%%MatrixMarket matrix coordinate real general\n"
        cases = (
            ("", ":"),
            ("not a matrix\n1 1 1\n", ":1:"),
            (head + "2 2\n", ":2:"),
            (head + "2 2 2\n1 1 1.0\n3 1 1.0\n", ":4:", "3"),
            (head + "2 2 2\n1 1 1.0\n2 2 1.0x\n", ":4:"),
            (head + "2 2 2\n1 1 1.0\n2 2 nan\n", ":4:"),
            (head + "2 2 2\n1 1 1.0\n2 2 inf\n", ":4:"),
            (head + "2 2 3\n1 1 1.0\n2 2 1.0\n", ":"),
            (head + "2 2 1\n1 1 1.0\n2 2 1.0\n", ":4:"),
            (head + "2 2 99999999999999999999\n1 1 1.0\n", ":2:"),
        )
        for text, *parts in cases:
            with self.subTest(text=text):
                self.assert_refused(self.solve(self.write("bad.mtx", text)), "bad.mtx", *parts)

    def test_more_rows_than_the_machine_holds(self):
        path = self.matrix("tall.mtx", [(1, 1, 1.0)], 2147483647)
        result = self.solve(path, "--solver", "gmres", "--restart", 3000, "--backend", "host", timeout=20)
        self.assert_refused(result, "tall.mtx:2:", "2147483647 rows", "memory")

    def test_not_square(self):
        path = self.matrix("wide.mtx", [(1, 1, 1.0)], 3, cols=4)
        self.assert_refused(self.solve(path), "wide.mtx", "3 x 4")

    def test_complex_file_in_a_real_scalar(self):
        path = self.matrix("c.mtx", [(1, 1, complex(1, 1))], 1, field="complex")
        for scalar in ("s", "d"):
            self.assert_refused(self.solve(path, "--scalar", scalar), f"--scalar {scalar}", "c.mtx", "complex")

    def test_values_past_the_range_of_the_scalar(self):
        path = self.matrix("big.mtx", [(1, 1, 1.0), (2, 2, 1e300)], 2)
        self.assert_refused(self.solve(path, "--scalar", "s", "--rtol", "1e-4"), "big.mtx:4:")

    def test_packed_file_that_is_cut(self):
        packed = gzip.compress(pathlib.Path(self.laplace()).read_bytes())
        path = pathlib.Path(self.path("cut.mtx.gz"))
        path.write_bytes(packed[: len(packed) // 2])
        self.assert_refused(self.solve(path), "cut.mtx.gz")


SMALL_MATRICES = pathlib.Path(os.environ.get("BLOCKJACOBI_SMALL_MATRICES", "matrices/small"))


class SmallMatrices(SolveTest):
    """The small files of the project."""

    def test_each_ends_in_a_state_that_the_exit_status_tells_truly(self):
        files = sorted(SMALL_MATRICES.glob("*.mtx"))
        self.assertTrue(files, f"no matrices in {SMALL_MATRICES}")
        for file in files:
            with self.subTest(matrix=file.name):
                result = self.solve(file, "--max-iterations", 2000)
                if result.status == 0:
                    self.assert_converged(result)
                else:
                    self.assert_not_converged(result)

    def test_those_that_block_jacobi_solves(self):
        for solver, names in (
            ("cg", ("laplace2d_32", "diffusion3d_3", "beam_4", "magnetic_8")),
            ("gmres", ("recirculation_14", "reservoir_24", "damped_12")),
        ):
            for name in names:
                with self.subTest(matrix=name):
                    result = self.solve(SMALL_MATRICES / f"{name}.mtx", "--singular", "fail")
                    self.assert_converged(result)
                    self.assertEqual(result.report["solver"], solver)

    def test_singular_natural_blocks_are_found(self):
        offsets, order = [0], 0
        while offsets[-1] < 56:
            offsets.append(offsets[-1] + (4, 7, 3)[order % 3])
            order += 1
        blocks = self.write("blocks.txt", "\n".join(map(str, offsets)) + "\n")
        result = self.solve(SMALL_MATRICES / "singular_blocks.mtx", "--blocks", blocks, "--singular", "fail")
        self.assert_not_converged(result)
        self.assertEqual(result.report["reason"], "singular_block")

    def test_saddle_point_needs_gmres(self):
        path = SMALL_MATRICES / "stokes_8.mtx"
        cg = self.solve(path)
        self.assert_not_converged(cg)
        self.assertEqual((cg.report["solver"], cg.report["reason"]), ("cg", "indefinite_matrix"))
        self.assertIn("try --solver gmres", cg.out)

    def test_right_hand_side(self):
        rhs = SMALL_MATRICES / "rhs" / "laplace2d_32.mtx"
        self.assert_converged(self.solve(SMALL_MATRICES / "laplace2d_32.mtx", "--rhs", rhs))


class CudaBackend(SolveTest):
    def test_absent_device_is_an_input_error(self):
        result = self.solve(self.laplace(), "--backend", "cuda")
        if result.status == 0:
            self.assertIn("cuda", result.report["backend"])
        else:
            self.assert_refused(result, "CUDA")

    def test_auto_runs_anywhere(self):
        self.assert_converged(self.solve(self.laplace(), "--backend", "auto"))


if __name__ == "__main__":
    unittest.main()
