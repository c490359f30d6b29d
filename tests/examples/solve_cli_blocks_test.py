"""Where blockjacobi-solve takes its blocks from."""

import gzip
import pathlib
import re
import unittest

from solve_program import SolveTest, laplace_2d, tridiagonal, write_vector


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
        self.assertEqual(result.report["blocks"]["entries_inside"], 1.0)
        self.assertEqual(result.report["blocks"]["max_growth"], 1.0)
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

    def test_singular_blocks_have_the_rows_of_the_file(self):
        entries = [(i, i, 1.0) for i in range(1, 7)] + [(1, 4, 1.0), (4, 1, 1.0)]
        result = self.solve(self.matrix("pair.mtx", entries, 6), "--blocks",
                            "labels:" + self.write("labels.txt", "0 1 2 0 1 2\n"))
        self.assertIn("block 0 (rows 0, 3): pivot 2 is exactly zero", result.out)
        self.assertEqual(result.report["blocks"]["defects"][0]["original_rows"], [0, 3])

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

    def nodes_of_three(self, comment):
        """Ten nodes of three rows, of which no two have the same pattern."""
        entries = [(i, i, 4.0) for i in range(1, 31)]
        entries += [(3 * k + i, 3 * k + j, -1.0) for k in range(10) for i, j in ((2, 1), (3, 2))]
        entries += [(3 * k + 3, 3 * k - 2, -0.5) for k in range(1, 10)]
        text = "".join(f"{i} {j} {v}\n" for i, j, v in sorted(entries))
        return self.write("nodes.mtx", f"%%MatrixMarket matrix coordinate real symmetric\n{comment}30 30 {len(entries)}\n"
                          + text)

    def test_nodes_that_the_file_states(self):
        for comment in ("% ISTL_STRUCT blocked 3 3\n", "%%AMGX 3 3 sorted\n"):
            result = self.solve(self.nodes_of_three(comment))
            self.assert_converged(result)
            self.assertEqual(result.report["blocks"]["sizes"], [{"rows": 3, "count": 10}])
            self.assertIn("blocks    supervariables, 3 rows, as the file says: 10 blocks, 10 of 3 rows", result.out)

    def test_what_the_user_says_goes_before_the_file(self):
        path = self.nodes_of_three("% ISTL_STRUCT blocked 3 3\n")
        for arguments, rows, how in ((("--blocks", "uniform", "--block-size", 2), 2, "uniform, 2 rows"),
                                     (("--unknowns", 6), 6, "supervariables, 6 rows"),
                                     (("--blocks", "supervariables"), 3, "supervariables, 3 rows, as the file says"),
                                     (("--blocks", "detect"), None, "detect, at most 32 rows"),
                                     (("--block-size", 8), None, "detect, at most 8 rows")):
            result = self.solve(path, *arguments)
            self.assertEqual(result.report["blocks"]["how"], how)
            if rows:
                self.assertEqual({size["rows"] for size in result.report["blocks"]["sizes"]}, {rows})

    def test_comments_that_state_no_nodes(self):
        for comment in ("", "% ISTL_STRUCT blocked 1 1\n", "% ISTL_STRUCT blocked 4 4\n", "%%AMGX rhs\n"):
            self.assertTrue(self.solve(self.nodes_of_three(comment)).report["blocks"]["how"].startswith("suggested, "))

    def test_clusters(self):
        result = self.solve(self.coupled_pairs(), "--blocks", "clusters", "--block-size", 8)
        self.assert_converged(result)
        self.assertLessEqual(max(s["rows"] for s in result.report["blocks"]["sizes"]), 8)
        self.assertTrue(result.report["blocks"]["renumbered"])
        alone = self.solve(self.coupled_pairs(), "--blocks", "uniform", "--block-size", 8)
        self.assertLess(result.report["iterations"], alone.report["iterations"])

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
            everywhere = ["scalar", "node", "detect 8", "detect 16", "detect 32"]
            plain = [n for n in names if not n.startswith(("clusters", "coupled")) and " + " not in n]
            self.assertEqual(plain, everywhere)
            self.assertIn(suggestion["recommended"], names)
            self.assertIn("suggested, " + suggestion["recommended"], result.out)
            self.assertIn("<- recommended", result.out)

    def test_suggest_is_the_default(self):
        for solver in ("cg", "gmres"):
            path = self.laplace(40)
            default, asked = (self.solve(path, "--solver", solver, *words) for words in ((), ("--blocks", "suggest")))
            self.assert_converged(default)
            self.assertEqual(default.report["history"], asked.report["history"])
            name = default.report["blocks"]["suggestion"]["recommended"]
            self.assertEqual(default.report["blocks"]["how"], "suggested, " + name)
            self.assertRegex(default.out, rf"(?m)^suggest   {re.escape(name)}(, \d+ % of the weight in blocks)?: predicted to "
                             r"take .* ms, .*(without a|by \d) probes?; --blocks suggest shows all that was weighed\nblocks ")
            self.assertNotIn("<- recommended", default.out)

    def test_blocks_are_suggested_only_where_nothing_is_said(self):
        path = self.laplace()
        for words, how in ((("--coarse", "none"), "detect, at most 32 rows"), (("--coarse", "ones"), "detect, at most 32 rows"),
                           (("--block-size", 12), "detect, at most 12 rows"), (("--unknowns", 2), "supervariables, 2 rows"),
                           (("--block-tolerance", 0.1), "detect, at most 32 rows"),
                           (("--blocks", "detect"), "detect, at most 32 rows")):
            with self.subTest(words=words):
                result = self.solve(path, *words)
                self.assertEqual(result.report["blocks"]["how"], how)
                self.assertNotIn("suggestion", result.report["blocks"])
                self.assertNotIn("suggest ", result.out)

    def test_probes_that_break_down_recommend_nothing(self):
        """GMRES, of a matrix with the square zero."""
        path = self.matrix("square_zero.mtx", [(i, i + 5000, 1.0) for i in range(1, 5001)], 10000)
        for words in ((), ("--blocks", "suggest")):
            result = self.solve(path, "--solver", "gmres", *words)
            self.assert_not_converged(result)
            first = result.report["given_up"][0]
            candidates = first["blocks"]["suggestion"]["candidates"]
            self.assertTrue(any(candidate["probed"] for candidate in candidates))
            self.assertRegex(result.out, r"no recommendation, since \d probes? came to nothing; taken instead: detect, at most 32 rows")
            self.assertEqual(first["blocks"]["how"], "detect, at most 32 rows")
            self.assertIsNone(first["coarse"])
            self.assertEqual("<- recommended" in result.out, bool(words))

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


if __name__ == "__main__":
    unittest.main()
