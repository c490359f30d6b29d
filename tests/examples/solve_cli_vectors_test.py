"""Right-hand sides and initial guesses of blockjacobi-solve."""

import unittest

from solve_program import SolveTest, tridiagonal, write_vector


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


if __name__ == "__main__":
    unittest.main()
