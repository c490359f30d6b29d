"""blockjacobi-solve on the small files of the project, in the folder that BLOCKJACOBI_SMALL_MATRICES names."""

import os
import pathlib
import unittest

from solve_program import SolveTest

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
        cg = self.solve(path, "--solver", "cg", "--blocks", "detect")
        self.assert_not_converged(cg)
        self.assertEqual(cg.report["reason"], "indefinite_matrix")
        self.assertIn("try --solver gmres", cg.out)
        by_default = self.solve(path, "--blocks", "detect")
        self.assert_converged(by_default)
        self.assertEqual(by_default.report["solver"], "gmres")

    def test_right_hand_side(self):
        rhs = SMALL_MATRICES / "rhs" / "laplace2d_32.mtx"
        self.assert_converged(self.solve(SMALL_MATRICES / "laplace2d_32.mtx", "--rhs", rhs))


if __name__ == "__main__":
    unittest.main()
