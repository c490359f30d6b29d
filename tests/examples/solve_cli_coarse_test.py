"""The coarse level of blockjacobi-solve."""

import unittest

from solve_program import SolveTest, laplace_2d, write_array


class CoarseLevel(SolveTest):
    def test_ones_take_fewer_iterations(self):
        path = self.laplace(40)
        alone = self.solve(path, "--blocks", "clusters")
        both = self.solve(path, "--blocks", "clusters", "--coarse", "ones")
        for result in (alone, both):
            self.assert_converged(result)
        self.assertLess(both.report["iterations"], 0.7 * alone.report["iterations"])
        self.assertIsNone(alone.report["coarse"])
        self.assertNotIn("coarse", alone.out)
        coarse = both.report["coarse"]
        self.assertEqual((coarse["how"], coarse["mode"], coarse["singular"]), ("ones", "adef2", False))
        self.assertEqual(coarse["size"], coarse["aggregates"])
        self.assertGreater(coarse["bytes"], 8 * coarse["size"] ** 2)
        self.assertRegex(both.out, rf"coarse +ones \(.* ms\)\n +coarse level \(adef2\): {coarse['size']} vectors")

    def test_relaxed_vectors_find_the_near_kernel(self):
        """Which is D^-1 1, and far from ones on every aggregate."""
        path = self.scaled_laplace(30)
        for solver, mode in (("cg", "adef2"), ("gmres", "adef1")):
            with self.subTest(solver=solver):
                words = (path, "--solver", solver, "--restart", 100)[: 5 if solver == "gmres" else 3]
                words += ("--blocks", "clusters", "--block-size", 8)
                ones = self.solve(*words, "--coarse", "ones")
                relaxed = self.solve(*words, "--coarse", "relaxed:2")
                self.assert_converged(ones)
                self.assert_converged(relaxed)
                self.assertLess(relaxed.report["iterations"], 0.7 * ones.report["iterations"])
                coarse = relaxed.report["coarse"]
                self.assertEqual((coarse["how"], coarse["mode"]), ("relaxed 2", mode))
                self.assertTrue(coarse["aggregates"] < coarse["size"] <= 2 * coarse["aggregates"], coarse)

    def test_relaxed_vectors_of_a_nonsymmetric_matrix(self):
        entries = [(i, j, value * (1.1 if i < j else 0.9 if i > j else 1.0))
                   for a, b, value in laplace_2d(30) for i, j in {(a, b), (b, a)}]
        path = self.matrix("general.mtx", entries, 900)
        for solver in ("gmres", "bicgstab"):
            with self.subTest(solver=solver):
                alone, both = (self.solve(path, "--solver", solver, "--coarse", coarse) for coarse in ("none", "relaxed:3"))
                self.assert_converged(alone)
                self.assert_converged(both)
                self.assertLess(both.report["iterations"], alone.report["iterations"])
                self.assertEqual(both.report["coarse"]["mode"], "adef1")

    def test_relaxed_without_a_number_is_four(self):
        path = self.laplace(30)
        four, default = (self.solve(path, "--coarse", coarse).report for coarse in ("relaxed:4", "relaxed"))
        self.assertEqual(default["coarse"]["how"], "relaxed 4")
        self.assertEqual(default["history"], four["history"])

    def test_the_solver_says_which_mode(self):
        modes = {"cg": "adef2", "fcg": "adef2", "richardson": "adef2", "gmres": "adef1", "fgmres": "adef1",
                 "bicgstab": "adef1", "minres": "additive"}
        path = self.laplace(20)
        for solver, mode in modes.items():
            with self.subTest(solver=solver):
                result = self.solve(path, "--solver", solver, "--coarse", "ones", "--rtol", "1e-6")
                self.assert_converged(result, 1e-6)
                self.assertEqual(result.report["coarse"]["mode"], mode)

    def test_size_is_a_bound(self):
        path = self.laplace(40)
        sizes = [self.solve(path, "--coarse", "ones", "--coarse-size", size).report["coarse"]["size"]
                 for size in (5, 40)]
        self.assertLessEqual(sizes[0], 5)
        self.assertTrue(sizes[0] < sizes[1] <= 40, sizes)

    def test_more_vectors_than_a_block_has_rows(self):
        result = self.solve(self.laplace(60), "--blocks", "uniform", "--block-size", 2, "--coarse", "ones",
                            "--coarse-size", 900)
        self.assert_converged(result)
        self.assertTrue(512 < result.report["coarse"]["size"] <= 900, result.out)

    def scaled_laplace(self, n):
        """D A D, whose near-kernel is D^-1 1: where a row stands in it matters. Its vector is in z.mtx."""
        d = [10.0 ** ((7 * i % 5) - 2) for i in range(n * n)]
        entries = [(i, j, d[i - 1] * value * d[j - 1]) for i, j, value in laplace_2d(n)]
        write_array(self.path("z.mtx"), [[1.0 / value for value in d]])
        write_array(self.path("wrong.mtx"), [[1.0 / value for value in reversed(d)]])
        return self.matrix("dad.mtx", entries, n * n, symmetry="symmetric")

    def test_vectors_follow_the_numbering(self):
        path = self.scaled_laplace(24)
        tiles = [str(i // 48 * 6 + i % 24 // 4) for i in range(576)]
        labels = self.write("labels.txt", "\n".join(tiles))
        for blocks in (("clusters", "--block-size", 8), ("labels:" + labels,), ("uniform", "--block-size", 8)):
            with self.subTest(blocks=blocks):
                iterations = {}
                for name in ("none", "vectors:" + self.path("z.mtx"), "vectors:" + self.path("wrong.mtx")):
                    size = () if name == "none" else ("--coarse-size", 60)
                    result = self.solve(path, "--blocks", *blocks, "--coarse", name, *size)
                    self.assert_converged(result)
                    iterations[name] = result.report["iterations"]
                none, right, wrong = iterations.values()
                self.assertLess(right, 0.7 * min(none, wrong))

    def two_unknowns(self, n=16):
        entries = []
        for i, j, value in laplace_2d(n):
            entries += [(2 * i - 1, 2 * j - 1, 2 * value), (2 * i, 2 * j, value)]
            entries += [(2 * i, 2 * j - 1, 0.5 * value)] + ([(2 * i - 1, 2 * j, 0.5 * value)] if i != j else [])
        return self.matrix("two.mtx", sorted(entries), 2 * n * n, symmetry="symmetric")

    def test_a_vector_of_ones_for_each_unknown(self):
        """Of a node, as long as its rows stay neighbours: labels part them."""
        path = self.two_unknowns()
        apart = self.write("apart.txt", "\n".join(str(i % 64) for i in range(512)))
        for blocks, unknowns, vectors in (("supervariables", 2, 2), ("clusters", 2, 2), ("detect", 2, 2),
                                          ("supervariables", "auto", 1), ("labels:" + apart, 2, 1)):
            with self.subTest(blocks=blocks, unknowns=unknowns):
                result = self.solve(path, "--blocks", blocks, "--unknowns", unknowns, "--coarse", "ones")
                self.assert_converged(result)
                coarse = result.report["coarse"]
                self.assertEqual(coarse["size"], vectors * coarse["aggregates"])

    def test_nodes(self):
        path = self.two_unknowns()
        for unknowns, rows in (("auto", 2), (2, 2), (4, 4)):
            result = self.solve(path, "--blocks", "supervariables", "--unknowns", unknowns)
            self.assertEqual(result.report["blocks"]["sizes"], [{"rows": rows, "count": 512 // rows}])
        clusters = self.solve(path, "--blocks", "clusters", "--block-size", 9, "--unknowns", 4)
        self.assertTrue(all(size["rows"] % 4 == 0 for size in clusters.report["blocks"]["sizes"]))

    def test_multigrid_takes_fewer_iterations_on_any_mesh(self):
        iterations = []
        for n in (40, 80):
            path = self.laplace(n)
            alone, ones, multigrid = (self.solve(path, "--blocks", "clusters", "--coarse", coarse)
                                      for coarse in ("none", "ones", "multigrid"))
            self.assert_converged(multigrid)
            self.assertLess(multigrid.report["iterations"], 0.5 * alone.report["iterations"])
            self.assertLess(multigrid.report["iterations"], 0.7 * ones.report["iterations"])
            iterations.append(multigrid.report["iterations"])
        self.assertLessEqual(iterations[1], iterations[0] + 4)

    def test_multigrid_in_the_reports(self):
        result = self.solve(self.laplace(90), "--coarse", "multigrid")
        self.assert_converged(result)
        coarse = result.report["coarse"]
        self.assertEqual(sorted(coarse), ["bytes", "finite", "how", "levels", "rcond", "setup_ms", "singular"])
        self.assertEqual((coarse["how"], coarse["finite"], coarse["singular"]), ("multigrid", True, False))
        self.assertTrue(0.0 < coarse["rcond"] <= 1.0 and coarse["setup_ms"] > 0.0, coarse)
        levels = coarse["levels"]
        self.assertEqual([sorted(level) for level in levels], [["nnz", "relaxation", "rows"]] * len(levels))
        self.assertEqual((levels[0]["rows"], levels[0]["nnz"]), (8100, result.report["nnz"]))
        rows = [level["rows"] for level in levels]
        self.assertTrue(len(rows) > 2 and rows == sorted(rows, reverse=True) and rows[-1] <= 512 < rows[-2], rows)
        self.assertTrue(all(level["relaxation"] > 0.0 for level in levels[:-1]), levels)
        self.assertEqual(levels[-1]["relaxation"], 0.0)
        self.assertGreater(coarse["bytes"], 12 * sum(level["nnz"] for level in levels[1:]))
        self.assertRegex(result.out, rf"coarse +multigrid \(.* ms\)\n +multigrid: {len(levels)} levels, .* MB\n"
                                     rf" +8100 rows, {levels[0]['nnz']} entries, relaxation ")

    def test_multigrid_that_is_suggested(self):
        """Of a large diffusion; a file that says general, with what assembly rounds, is as good."""
        entries = laplace_2d(600)
        entries += [(j, i, value) for i, j, value in entries if i != j]
        row, column, value = entries[-1]
        entries[-1] = (row, column, value * (1.0 + 2.0 ** -50))
        path = self.matrix("general.mtx", entries, 360000)
        words = (path, "--solver", "cg", "--backend", "host", "--threads", 1)
        result = self.solve(*words)
        self.assert_converged(result)
        suggestion = result.report["blocks"]["suggestion"]
        best = next(c for c in suggestion["candidates"] if c["name"] == suggestion["recommended"])
        self.assertTrue(best["name"].endswith(" + multigrid") and best["multigrid"] and not best["coarse"], result.out)
        self.assertEqual(result.report["coarse"]["how"], "multigrid")
        self.assertGreater(len(result.report["coarse"]["levels"]), 2)
        self.assertLess(result.report["iterations"], 40)
        without = self.solve(*words, "--blocks", "suggest", "--coarse", "none", "--max-iterations", 10)
        self.assertIsNone(without.report["coarse"])
        self.assertFalse([c for c in without.report["blocks"]["suggestion"]["candidates"] if c["multigrid"]])

    def test_multigrid_of_a_matrix_that_is_inverted_whole(self):
        path = self.laplace()
        alone, one_level = (self.solve(path, "--blocks", "detect", "--coarse", coarse) for coarse in ("none", "multigrid"))
        self.assertEqual(len(one_level.report["coarse"]["levels"]), 1)
        self.assertEqual(one_level.report["history"], alone.report["history"])

    def test_multigrid_with_every_solver(self):
        path = self.laplace(30)
        for solver in ("cg", "fcg", "minres", "bicgstab", "gmres", "fgmres", "richardson"):
            with self.subTest(solver=solver):
                result = self.solve(path, "--solver", solver, "--coarse", "multigrid")
                self.assert_converged(result)
                self.assertLess(result.report["iterations"], 40)

    def test_multigrid_of_vectors_follows_the_numbering(self):
        path = self.scaled_laplace(30)
        tiles = [str(i // 60 * 6 + i % 30 // 5) for i in range(900)]
        labels = self.write("labels.txt", "\n".join(tiles))
        for blocks in (("clusters", "--block-size", 8), ("labels:" + labels,), ("uniform", "--block-size", 8)):
            with self.subTest(blocks=blocks):
                none, right, wrong = (self.solve(path, "--blocks", *blocks, "--coarse", coarse) for coarse in
                                      ("none", *("multigrid:" + self.path(name) for name in ("z.mtx", "wrong.mtx"))))
                self.assert_converged(right)
                self.assertEqual(right.report["coarse"]["how"], "multigrid from " + self.path("z.mtx"))
                self.assertIn("multigrid from " + self.path("z.mtx"), right.out)
                others = min(result.report["iterations"] for result in (none, wrong))
                self.assertLess(right.report["iterations"], 0.5 * others)

    def test_multigrid_with_a_vector_of_ones_for_each_unknown(self):
        path = self.two_unknowns(24)
        rows_alone, nodes = (self.solve(path, "--blocks", "clusters", "--unknowns", unknowns, "--coarse", "multigrid")
                             for unknowns in ("auto", 2))
        self.assert_converged(nodes)
        self.assertEqual(nodes.report["coarse"]["levels"][1]["rows"] % 2, 0)
        self.assertLess(nodes.report["iterations"], rows_alone.report["iterations"])

    def test_multigrid_of_a_hermitian_matrix(self):
        entries = [(i, j, complex(4.0) if i == j else complex(-0.6, 0.8)) for i, j, _ in laplace_2d(24)]
        path = self.matrix("hermitian.mtx", entries, 576, field="complex", symmetry="hermitian")
        result = self.solve(path, "--coarse", "multigrid")
        self.assert_converged(result)
        self.assertEqual((result.report["solver"], len(result.report["coarse"]["levels"])), ("cg", 2))

    def test_multigrid_is_refused(self):
        path = self.laplace(24)
        write_array(self.path("short.mtx"), [[1.0] * 575])
        for coarse in ("multigrid", "multigrid:" + path):
            for more in ((), ("--compare",)):
                self.assert_refused(self.solve(path, "--coarse", coarse, "--coarse-size", 8, *more), "--coarse-size",
                                    "ones, relaxed and vectors", coarse)
        self.assert_refused(self.solve(path, "--coarse", "multigrid:none.mtx"), "--coarse multigrid", "'none.mtx'")
        self.assert_refused(self.solve(path, "--coarse", "multigrid:"), "--coarse multigrid", "''")
        self.assert_refused(self.solve(path, "--coarse", "multigrid:" + self.path("short.mtx")), "--coarse multigrid",
                            "575 x 1", "576 x 1 to 512")
        upper = self.matrix("upper.mtx", [(j, i, value) for i, j, value in laplace_2d(24)], 576)
        self.assert_refused(self.solve(upper, "--coarse", "multigrid"), "Multigrid: the matrix is not symmetric")
        entries = [(i, j, complex(value, 0.5)) for i, j, value in laplace_2d(24)]
        complex_symmetric = self.matrix("z.mtx", entries, 576, field="complex", symmetry="symmetric")
        self.assert_refused(self.solve(complex_symmetric, "--coarse", "multigrid"),
                            "Multigrid: the matrix is not Hermitian")

    def test_refused(self):
        path = self.laplace()
        write_array(self.path("short.mtx"), [[1.0] * 143])
        write_array(self.path("wide.mtx"), [[1.0] * 144] * 513)
        write_array(self.path("three.mtx"), [[1.0] * 144] * 3)
        for arguments, *parts in (
            (("--coarse", "twos"), "--coarse", "'twos'", "none, ones, relaxed, multigrid"),
            (("--coarse", "vectors:none.mtx"), "--coarse vectors", "'none.mtx'"),
            (("--coarse", "vectors:" + self.path("short.mtx")), "--coarse vectors", "143 x 1", "144 x 1 to 512"),
            (("--coarse", "vectors:" + self.path("wide.mtx")), "--coarse vectors", "144 x 513", "144 x 1 to 512"),
            (("--coarse", "ones", "--coarse-size", 0), "--coarse-size", "'0'"),
            (("--coarse", "ones", "--coarse-size", 4097), "--coarse-size", "'4097'", "4096"),
            (("--coarse", "relaxed:0"), "--coarse relaxed", "'0'", "1..512"),
            (("--coarse", "relaxed:513"), "--coarse relaxed", "'513'", "1..512"),
            (("--coarse", "relaxed:many"), "--coarse relaxed", "'many'"),
            (("--coarse", "relaxed:"), "--coarse relaxed", "''"),
            (("--coarse", "relaxed:5", "--coarse-size", 3), "size is 3", "5 vectors"),
            (("--coarse-size", 8), "--coarse-size", "auto"),
            (("--coarse-size", 8, "--coarse", "none"), "--coarse-size", "none"),
            (("--coarse", "vectors:" + self.path("three.mtx"), "--coarse-size", 2), "size is 2", "3 vectors"),
            (("--unknowns", 5), "--unknowns 5", "144 rows"),
            (("--unknowns", "two"), "--unknowns", "'two'"),
            (("--unknowns", 4, "--blocks", "clusters", "--block-size", 3), "4", "3"),
        ):
            with self.subTest(arguments=arguments):
                self.assert_refused(self.solve(path, *arguments), *parts)


if __name__ == "__main__":
    unittest.main()
