"""Options of blockjacobi-solve: which it refuses, and how."""

import unittest

from solve_program import SolveTest


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
            ("--blocks", "nodes", "'nodes'", "supervariables"),
            ("--rhs", "zeros", "'zeros'", "ones"),
            ("--x0", "none.mtx", "'none.mtx'"),
            ("--x0", "", "empty"),
            ("--x0", "/dev/null", "'/dev/null'", "no regular file"),
            ("--history", "", "empty"),
            ("--plot", "", "empty"),
            ("--solution", "", "empty"),
        )
        for option, value, *parts in cases:
            with self.subTest(option=option, value=value):
                self.assert_refused(self.solve(self.laplace(), option, value), option, *parts)

    def test_combinations(self):
        blocks = self.write("blocks.txt", "0\n144\n")
        self.assert_refused(self.solve(self.laplace(), "--blocks", blocks, "--block-size", 8), "--block-size 8")
        self.assert_refused(self.solve(self.laplace(), "--blocks", "supervariables", "--block-size", 8), "--block-size 8",
                            "supervariables")
        self.assert_refused(self.solve(self.laplace(), "--threads", 2, "--backend", "cuda"), "--threads", "cuda")
        for solver in ("cg", "fcg", "minres", "bicgstab", "richardson"):
            self.assert_refused(self.solve(self.laplace(), "--restart", 20, "--solver", solver), "--restart", solver)
        self.assert_refused(self.solve(self.laplace(), "--resident", "always", backend="auto"), "'always'", "never")
        self.assert_refused(self.solve(self.laplace(), "--resident", "never", backend="host"), "--resident", "host")
        for solver in ("fcg", "minres", "fgmres", "richardson"):
            result = self.solve(self.laplace(), "--resident", "never", "--solver", solver, backend="auto")
            self.assert_refused(result, "--resident", solver)
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


if __name__ == "__main__":
    unittest.main()
