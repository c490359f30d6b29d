"""blockjacobi-solve on real systems, which lie in the folder named by BLOCKJACOBI_MATRICES.

Exits with 77, which ctest reports as skipped, where the variable is not set; a missing file is a failure.
"""

import os
import sys
import unittest

from solve_program import BACKEND, SolveTest

FOLDER = os.environ.get("BLOCKJACOBI_MATRICES", "")


class RealMatrices(SolveTest):
    def run_on(self, name, *arguments):
        path = os.path.join(FOLDER, name + ".mtx.gz")
        self.assertTrue(os.path.exists(path), f"BLOCKJACOBI_MATRICES is set, but {path} is missing")
        # why one thread: spinning threads of a busy machine cost more than the second one brings.
        threads = ("--threads", 1) if BACKEND == "host" else ()
        return self.solve(path, *arguments, *threads, timeout=1200)

    def test_cg_converges(self):
        for name, *blocks in (
            ("ccx_segmenttet", "--blocks", "uniform", "--block-size", 3),
            ("ccx_segmenttet", "--blocks", "uniform", "--block-size", 24),
            ("bcsstk16",),
            ("nasa4704",),
            ("xpetra_regions_A",),
        ):
            with self.subTest(matrix=name, blocks=blocks):
                self.assert_converged(self.run_on(name, "--solver", "cg", *blocks))

    def test_gmres_converges(self):
        for name, *blocks in (
            ("opm_spe9", "--blocks", "uniform", "--block-size", 3),
            ("sherman5",),
            ("orsirr_1",),
            ("jpwh_991",),
        ):
            with self.subTest(matrix=name, blocks=blocks):
                self.assert_converged(self.run_on(name, "--solver", "gmres", *blocks))

    def test_blocks_of_rows_that_are_no_neighbours(self):
        iterations = {}
        for name in ("hypre_beam_tet_dof2475", "ml_elasticity1"):
            with self.subTest(matrix=name):
                scalar = self.run_on(name, "--solver", "cg", "--blocks", "uniform", "--block-size", 1)
                self.assert_converged(scalar)
                iterations[name] = scalar.report["iterations"]
                result = self.run_on(name, "--solver", "cg", "--blocks", "metis")
                if result.status == 2:
                    self.assertIn("built without METIS", result.err)
                    continue
                self.assert_converged(result)
                self.assertTrue(result.report["blocks"]["renumbered"])
                self.assertLess(result.report["iterations"], 0.75 * scalar.report["iterations"])

        def brick(i):
            """10 x 10 x 4 nodes of 3 unknowns: bricks of 2 x 2 x 4 nodes, the unknowns apart."""
            node, unknown = divmod(i, 3)
            x, y = node % 10, node // 10 % 10
            return 100 * unknown + 10 * (x // 2) + y // 2

        labels = self.write("labels.txt", "\n".join(str(brick(i)) for i in range(1200)))
        result = self.run_on("ml_elasticity1", "--solver", "cg", "--blocks", "labels:" + labels)
        self.assert_converged(result)
        self.assertEqual(result.report["blocks"]["sizes"], [{"rows": 16, "count": 75}])
        self.assertLess(result.report["iterations"], 0.75 * iterations["ml_elasticity1"])

    def test_compare(self):
        """What helps differs from system to system; hopeless ones end all the same."""
        result = self.run_on("1138_bus", "--compare")
        self.assert_converged(result)
        found = {c["name"]: c for c in result.report["candidates"]}
        self.assertLess(found["clusters 32"]["iterations"], 0.2 * found["detect 32"]["iterations"])
        self.assertLess(found["clusters 32, ones"]["iterations"], 0.7 * found["clusters 32"]["iterations"])
        for name in ("west0479", "hangGlider_2"):
            with self.subTest(matrix=name):
                result = self.run_on(name, "--compare", "--max-seconds", 5)
                self.assert_not_converged(result)
                self.assertIsNone(result.report["winner"])

    def test_coarse_level_that_is_suggested(self):
        result = self.run_on("west0479", "--max-iterations", 200)
        name = result.report["blocks"]["suggestion"]["recommended"]
        if BACKEND == "host":
            self.assertEqual(name, "clusters 32 + ones")
        coarse = result.report["coarse"]
        self.assertEqual(coarse["how"] if coarse else "", name.partition(" + ")[2])
        without = self.run_on("west0479", "--blocks", "suggest", "--coarse", "none", "--max-iterations", 200)
        self.assertIsNone(without.report["coarse"])
        names = [candidate["name"] for candidate in without.report["blocks"]["suggestion"]["candidates"]]
        self.assertFalse([name for name in names if " + " in name])

    def test_complex_arithmetic(self):
        for name, solver in (("qc324", "gmres"), ("mhd1280b", "cg")):
            with self.subTest(matrix=name):
                result = self.run_on(name, "--solver", solver)
                self.assert_converged(result)
                self.assertEqual(result.report["scalar"], "z")

    def test_hopeless_systems_end_with_a_reason(self):
        for name, *blocks in (("west0479", "--blocks", "detect"), ("rdist2",)):
            with self.subTest(matrix=name):
                self.assert_not_converged(self.run_on(name, *blocks))

    def test_what_the_program_chose_is_followed_by_what_helps(self):
        for name, solvers in (("west0479", ["gmres"]), ("cryg2500", ["gmres"]), ("laser", ["cg"]), ("jagmesh7", ["cg", "gmres"])):
            with self.subTest(matrix=name):
                result = self.run_on(name)
                self.assert_converged(result)
                if BACKEND == "host":
                    self.assertEqual([attempt["solver"] for attempt in result.report["given_up"]], solvers)
        result = self.run_on("jagmesh7", "--max-iterations", 1100)
        if BACKEND == "host":
            self.assertEqual(sum(a["iterations"] for a in [*result.report["given_up"], result.report]), 1100)
        for name in ("nasa4704", "bcsstk13"):  # thousands of iterations of CG
            with self.subTest(matrix=name):
                result = self.run_on(name)
                self.assert_converged(result)
                self.assertEqual(result.report["given_up"], [])


if __name__ == "__main__":
    if not FOLDER:
        print("skipped: BLOCKJACOBI_MATRICES is not set (RealMatrices: cg, gmres, complex, hopeless systems)")
        sys.exit(77)
    unittest.main()
