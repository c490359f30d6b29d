"""What blockjacobi-solve solves: solvers, scalars and kinds of files."""

import gzip
import math
import shutil
import unittest

from solve_program import BACKEND, SolveTest, read_array, tridiagonal, write_array


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
        for solver in ("cg", "fcg", "minres", "bicgstab", "gmres", "fgmres", "richardson"):
            result = self.solve(self.laplace(), "--solver", solver)
            self.assert_converged(result)
            self.assertEqual(result.report["solver"], solver)

    def test_minres_takes_an_indefinite_matrix(self):
        entries = [(i, i, 1.0) for i in range(1, 41)] + [(i + 1, i, 1.3) for i in range(1, 40)]
        path = self.matrix("i.mtx", entries, 40, symmetry="symmetric")
        found = {solver: self.solve(path, "--solver", solver, "--blocks", "uniform", "--block-size", 1)
                 for solver in ("cg", "minres")}
        self.assertEqual(found["cg"].report["reason"], "indefinite_matrix")
        self.assert_converged(found["minres"])

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
        self.assertIn("the residual was still falling: raise --max-iterations", result.out)

    def cyclic_shift(self, n=60):
        """GMRES that restarts before n iterations does not move."""
        return self.matrix("c.mtx", [(i, i % n + 1, 1.0) for i in range(1, n + 1)] + [(i, i, 1e-9) for i in range(1, n + 1)], n)

    def test_residual_that_holds_asks_for_no_more_iterations(self):
        scalar = (self.cyclic_shift(), "--blocks", "uniform", "--block-size", 1, "--solver", "gmres", "--restart", 10)
        for limit in (("--max-iterations", 300), ("--max-seconds", 0.05, "--max-iterations", 10**9)):
            result = self.solve(*scalar, *limit)
            self.assert_not_converged(result)
            self.assertIn("the residual hardly falls: try a larger --restart, --solver bicgstab, other --blocks", result.out)
            self.assertIn("--coarse ones", result.out)
            self.assertNotIn("raise ", result.out)
        result = self.solve(*scalar, "--max-iterations", 300, "--coarse", "ones")
        self.assert_not_converged(result)
        self.assertNotIn("--coarse ones", result.report["message"])

    def test_residual_that_grows_asks_for_another_method(self):
        for iterations, message in ((100, "the residual grows: try "), (10000, "the residual grew past the range")):
            result = self.solve(self.laplace(40), "--solver", "richardson", "--relaxation", 3, "--blocks", "uniform",
                                "--block-size", 1, "--max-iterations", iterations)
            self.assert_not_converged(result)
            self.assertIn(message, result.out)
            self.assertIn("a smaller --relaxation, --solver gmres, other --blocks", result.out)
            self.assertNotIn("raise ", result.out)

    def test_indefinite_matrix_suggests_gmres(self):
        entries = [(i, i, 1.0 if i % 2 else -1.0) for i in range(1, 21)] + [(i + 1, i, 2.0) for i in range(1, 20)]
        path = self.matrix("i.mtx", entries, 20, symmetry="symmetric")
        result = self.solve(path, "--solver", "cg", "--blocks", "uniform", "--block-size", 1)
        self.assert_not_converged(result)
        self.assertIn(result.report["reason"], ("indefinite_matrix", "indefinite_preconditioner"))
        self.assertIn("--solver gmres", result.out)

    def cycle(self, n, diagonal=0.9, **kinds):
        """GMRES that restarts soon stagnates, also with blocks of many rows."""
        entries = [(i, i % n + 1, 1.0) for i in range(1, n + 1)] + [(i, i, diagonal) for i in range(1, n + 1)]
        if kinds:
            entries = [(row, col, complex(value)) for row, col, value in entries]
        return self.matrix("cycle.mtx", entries, n, **kinds)

    def test_blocks_that_were_suggested_and_come_to_nothing_are_followed_by_larger_ones(self):
        path = self.cycle(400)
        gmres = ("--solver", "gmres", "--restart", 5, "--max-iterations", 2000)
        result = self.solve(path, *gmres)
        self.assert_converged(result)
        self.assertRegex(result.out, r"retry     no end in sight after \d+ iterations, \d+ predicted; now clusters, at most 512 rows")
        (first,) = result.report["given_up"]
        self.assertEqual((first["solver"], first["reason"]), ("gmres", "user_stop"))
        self.assertEqual(first["message"], f"given up after {first['iterations']} iterations")
        self.assertGreaterEqual(first["iterations"], 100)
        self.assertLessEqual(first["iterations"], 1000)
        self.assertLess(first["blocks"]["sizes"][-1]["rows"], result.report["blocks"]["sizes"][-1]["rows"])
        # Whoever names the blocks gets these.
        asked = self.solve(path, *gmres, "--blocks", "detect")
        self.assertEqual((asked.report["reason"], asked.report["given_up"]), ("max_iterations", []))

    def test_the_limit_of_iterations_holds_for_all_attempts_together(self):
        result = self.solve(self.cycle(4000), "--solver", "gmres", "--restart", 5, "--max-iterations", 900)
        self.assert_not_converged(result)
        (first,) = result.report["given_up"]
        self.assertEqual(first["iterations"] + result.report["iterations"], 900)
        few = self.solve(self.cycle(4000), "--solver", "gmres", "--restart", 5, "--max-iterations", 150)
        self.assertEqual((few.report["given_up"], few.report["iterations"]), ([], 150), "no time for a second")

    def test_columns_behind_one_that_is_given_up_are_solved_too(self):
        n = 400
        easy = [0.0] * n
        hard = [math.sin(7.0 * i * i) for i in range(n)]
        write_array(self.path("b.mtx"), [easy, hard, hard])
        result = self.solve(self.cycle(n), "--solver", "gmres", "--restart", 5, "--rhs", self.path("b.mtx"),
                            "--solution", self.path("x.mtx"))
        self.assert_converged(result)
        (first,) = result.report["given_up"]
        self.assertLess(len(first["columns"]), 3)
        self.assertEqual(first["columns"][0]["reason"], "converged")
        self.assertEqual([column["iterations"] > 0 for column in result.report["columns"]], [False, True, True])
        _, second, third = ([float(value) for value in column] for column in read_array(self.path("x.mtx")))
        self.assertLess(max(abs(a - b) for a, b in zip(second, third)), 1e-5)

    def test_a_column_that_came_to_the_limit_leaves_nothing_for_a_second_attempt(self):
        n = 800
        late = [(i, i, 2.0003) for i in range(1, n + 1)]
        late += [(i + k, i + 1 - k, -1.0) for i in range(1, n) for k in (0, 1)]
        never = [(n + i, n + i % n + 1, 1.0) for i in range(1, n + 1)] + [(n + i, n + i, 0.9) for i in range(1, n + 1)]
        path = self.matrix("both.mtx", late + never, 2 * n)
        part = [math.sin(7.0 * i * i) for i in range(n)]
        write_array(self.path("b.mtx"), [[*part, *([0.0] * n)], [*([0.0] * n), *part]])
        # why one thread: which blocks are suggested depends on their number, and so do iterations.
        threads = ("--threads", 1) if BACKEND == "host" else ()
        words = ("--solver", "gmres", "--restart", 5, "--rhs", self.path("b.mtx"), *threads)
        if BACKEND == "host":
            (first,) = self.solve(path, *words).report["given_up"]
            self.assertGreater(first["columns"][0]["iterations"], 390)
        result = self.solve(path, *words, "--max-iterations", 390)
        self.assert_not_converged(result)
        attempts = [*result.report["given_up"], result.report]
        for column in range(2):
            taken = sum(a["columns"][column]["iterations"] for a in attempts if column < len(a["columns"]))
            self.assertLessEqual(taken, 390)

    def test_larger_blocks_that_fail_leave_the_ones_before(self):
        path = self.cycle(4000, 0.9 + 0.1j, field="complex")
        words = ("--solver", "gmres", "--restart", 5, "--singular", "fail", "--max-iterations", 700)
        result = self.solve(path, *words, "--solution", self.path("x.mtx"))
        self.assert_not_converged(result)
        self.assertIn("no solve with clusters, at most 512 rows: ", result.err)
        self.assertEqual(result.report["reason"], "max_iterations")
        (first,) = result.report["given_up"]
        self.assertEqual(first["iterations"] + result.report["iterations"], 700)
        self.assertEqual(first["blocks"]["how"], result.report["blocks"]["how"])
        self.assertEqual(len(read_array(self.path("x.mtx"))[0]), 4000)

    def test_the_same_blocks_are_not_tried_twice(self):
        path = self.matrix("z.mtx", [(i, i, 0.0) for i in range(1, 51)], 50)
        self.assertEqual(len(self.solve(path, "--max-iterations", 300).report["given_up"]), 0)

    def test_cg_falls_late_and_is_waited_for(self):
        n = 3000  # the ends of a path know nothing of each other for n iterations
        entries = [(i, i, 2.0) for i in range(1, n + 1)] + [(i + 1, i, -1.0) for i in range(1, n)]
        path = self.matrix("p.mtx", entries, n, symmetry="symmetric")
        result = self.solve(path)
        self.assert_converged(result)
        self.assertEqual(result.report["given_up"], [])

    def test_cg_that_meets_an_indefinite_matrix_is_followed_by_gmres(self):
        entries = [(i, i, 1.0 if i % 2 else -1.0) for i in range(1, 21)] + [(i + 1, i, 2.0) for i in range(1, 20)]
        path = self.matrix("i.mtx", entries, 20, symmetry="symmetric")
        result = self.solve(path, "--blocks", "uniform", "--block-size", 1)
        self.assert_converged(result)
        self.assertEqual(result.report["solver"], "gmres")
        (first,) = result.report["given_up"]
        self.assertEqual(first["solver"], "cg")
        self.assertIn(first["reason"], ("indefinite_matrix", "indefinite_preconditioner"))
        self.assertRegex(result.out, rf"retry     {first['reason']} after \d iterations?; now gmres\(30\)")

    def test_values_past_the_range_are_named_not_shown_as_numbers(self):
        entries = [(i, j, 1e200) for i in range(1, 5) for j in range(1, 5) if i != j] + [(i, i, 1e300) for i in range(1, 5)]
        result = self.solve(self.matrix("big.mtx", entries, 4))
        self.assertIn(result.status, (0, 1))
        if result.status == 1:
            self.assert_not_converged(result)


if __name__ == "__main__":
    unittest.main()
