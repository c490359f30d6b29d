"""The choice of a backend by blockjacobi-solve."""

import unittest

from solve_program import SolveTest


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
