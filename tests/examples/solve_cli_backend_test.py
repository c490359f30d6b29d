"""The choice of a backend by blockjacobi-solve."""

import re
import unittest

from solve_program import SolveTest


class CudaBackend(SolveTest):
    def test_absent_device_is_an_input_error(self):
        result = self.solve(self.laplace(), "--backend", "cuda")
        if result.status == 0:
            self.assertIn("cuda", result.report["backend"])
        else:
            self.assert_refused(result, "CUDA")

    def test_auto_says_why_it_took_the_host(self):
        for arguments in ([], ["--backend", "auto"]):
            result = self.solve(self.laplace(), *arguments, backend=None)
            self.assert_converged(result)
            because = result.report["backend_because"]
            if result.report["backend"].startswith("host"):
                self.assertRegex(because, "^Backend::cuda: .*CUDA")
                self.assertRegex(result.out, rf"(?m)^backend +host, .*\n +{re.escape(because)}$")
            else:
                self.assertEqual(because, "")

    def test_host_needs_no_reason(self):
        result = self.solve(self.laplace(), "--backend", "host")
        self.assertEqual(result.report["backend_because"], "")


if __name__ == "__main__":
    unittest.main()
