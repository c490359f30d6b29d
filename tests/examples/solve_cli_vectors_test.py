"""Right-hand sides and initial guesses of blockjacobi-solve."""

import os
import unittest

from solve_program import SolveTest, tridiagonal, write_array, write_vector


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
        # With stated blocks, as a coarse level has a start of its own.
        other = self.solve(path, "--blocks", "supervariables", "--x0", self.path("x0.mtx"))
        self.assert_converged(other)
        self.assertNotEqual(other.report["history"][0], self.solve(path, "--blocks", "supervariables").report["history"][0])

    def read_array(self, name):
        with open(self.path(name), encoding="ascii") as file:
            lines = [line for line in file if not line.startswith("%")]
        rows, columns = map(int, lines[0].split())
        values = [float(line) for line in lines[1:]]
        self.assertEqual(len(values), rows * columns)
        return [values[k * rows:(k + 1) * rows] for k in range(columns)]

    def test_several_columns(self):
        """Each as if it were alone; what is said of one column is said of the one that took longest."""
        n = 144
        columns = [[1.0] * n, [float(i % 7) for i in range(n)], [0.0] * n, [float(i) for i in range(n)]]
        write_array(self.path("b.mtx"), columns)
        path = self.laplace()
        result = self.solve(path, "--rhs", self.path("b.mtx"), "--history", self.path("history.csv"))
        self.assert_converged(result)
        alone = []
        for column in columns:
            write_vector(self.path("one.mtx"), column)
            alone.append(self.solve(path, "--rhs", self.path("one.mtx")).report)
        found = result.report["columns"]
        self.assertEqual([c["history"] for c in found], [r["history"] for r in alone])
        self.assertEqual([c["reason"] for c in found], ["converged"] * 4)
        self.assertEqual(result.report["iterations"], max(c["iterations"] for c in found))
        for k, column in enumerate(found, 1):
            self.assertRegex(result.out, rf"(?m)^(columns)? +{k}: converged after {column['iterations']} iterations?, ")
        self.assertIn("4 of 4 columns converged", result.out)
        with open(self.path("history.csv"), encoding="ascii") as file:
            rows = [line.split(",") for line in file]
        self.assertEqual(rows[0], ["column", "iteration", "residual\n"])
        self.assertEqual([float(r) for k, _, r in rows[1:] if k == "4"], found[3]["history"])

    def test_the_worst_column_decides(self):
        n = 144
        write_array(self.path("b.mtx"), [[0.0] * n, [float(i) for i in range(n)], [0.0] * n])
        result = self.solve(self.laplace(), "--rhs", self.path("b.mtx"), "--max-iterations", 2)
        self.assertEqual(result.status, 1)
        self.assertEqual([c["reason"] for c in result.report["columns"]], ["converged", "max_iterations", "converged"])
        self.assertEqual(result.report["reason"], "max_iterations")
        self.assertIn("outcome   2 of 3 columns converged; column 2: not converged: max_iterations", result.out)

    def test_x0_has_a_column_for_each(self):
        n = 50
        path = self.matrix("a.mtx", tridiagonal(n, -1.0, 2.0, -1.0), n)
        x = [[1.0] * n, [float(i % 5) for i in range(n)]]
        b = [[2 * v[i] - (v[i - 1] if i else 0) - (v[i + 1] if i + 1 < n else 0) for i in range(n)] for v in x]
        write_array(self.path("b.mtx"), b)
        write_array(self.path("x0.mtx"), x)
        for blocks in ("detect", "clusters"):
            result = self.solve(path, "--rhs", self.path("b.mtx"), "--x0", self.path("x0.mtx"), "--blocks", blocks)
            self.assert_converged(result)
            self.assertEqual([c["iterations"] for c in result.report["columns"]], [0, 0])
        write_array(self.path("x0.mtx"), x[:1])
        self.assert_refused(self.solve(path, "--rhs", self.path("b.mtx"), "--x0", self.path("x0.mtx")), "--x0",
                            "50 x 1", "50 x 2")

    def test_solution(self):
        """In the numbering of the file, whatever blocks are taken, and a column for each right-hand side."""
        n = 60
        x = [[float(i % 11) - 5 for i in range(n)], [1.0] * n]
        b = [[3 * v[i] - (v[i - 1] if i else 0) - (v[i + 1] if i + 1 < n else 0) for i in range(n)] for v in x]
        write_array(self.path("b.mtx"), b)
        path = self.matrix("a.mtx", tridiagonal(n, -1.0, 3.0, -1.0), n)
        labels = self.write("labels.txt", "\n".join(str(i * 7 % 20) for i in range(n)))
        for blocks in ("uniform", "labels:" + labels):
            result = self.solve(path, "--rhs", self.path("b.mtx"), "--solution", self.path("x.mtx"), "--rtol", "1e-12",
                                "--blocks", blocks)
            self.assert_converged(result, 1e-12)
            for found, exact in zip(self.read_array("x.mtx"), x, strict=True):
                for value, expected in zip(found, exact, strict=True):
                    self.assertAlmostEqual(value, expected, places=9)

    def test_no_solution_of_singular_blocks(self):
        path = self.matrix("zero.mtx", [(1, 1, 0.0), (2, 2, 1.0)], 2)
        result = self.solve(path, "--singular", "fail", "--solution", self.path("x.mtx"))
        self.assert_not_converged(result)
        self.assertIn("there is no solution", result.err)
        self.assertFalse(os.path.exists(self.path("x.mtx")))

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


if __name__ == "__main__":
    unittest.main()
