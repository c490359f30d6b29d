"""What blockjacobi-solve does about singular blocks."""

import unittest

from solve_program import SolveTest, write_vector


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

    def test_inverses_that_the_storage_ruins(self):
        path = self.matrix("units.mtx", [(i, i, 2.0**50 if i % 4 == 1 else 1.0) for i in range(1, 41)], 40)
        blocks = ("--blocks", "uniform", "--block-size", 4)
        result = self.solve(path, *blocks, "--storage", "fp16")
        self.assertIn("fp16 storage loses a row or column of the inverses of 10 of 10 blocks (first: block 0)", result.err)
        self.assertEqual(result.report["blocks"]["unsuited"], 10)
        for storage in ("bf16", "adaptive"):
            result = self.solve(path, *blocks, "--storage", storage)
            self.assertEqual((result.err, result.report["blocks"]["unsuited"]), ("", 0))

    def test_blocks_that_pair_the_rows_are_regular(self):
        result = self.solve(self.saddle(), "--blocks", "uniform", "--block-size", 2, "--singular", "fail")
        self.assert_converged(result)
        self.assertEqual((result.report["iterations"], result.err), (1, ""))

    def test_structurally_singular_matrix_ends_with_a_reason(self):
        entries = [(i, i, 1.0) for i in range(1, 20)] + [(20, 1, 1.0)]
        write_vector(self.path("b.mtx"), [1.0] * 19 + [2.0])
        result = self.solve(self.matrix("s.mtx", entries, 20), "--rhs", self.path("b.mtx"), "--max-iterations", 200)
        self.assert_not_converged(result)


if __name__ == "__main__":
    unittest.main()
