"""Sizes that there is no memory for: status 2 and a message, in both programs.

The limit is on the address space, of which a sanitizer takes all there is: not for its builds.
BLOCKJACOBI_SOLVE and BLOCKJACOBI_GENERATE name the programs."""

import os
import resource
import subprocess
import unittest

from solve_program import PROGRAM, Result, SolveTest, read_array


def run_in_half_a_gigabyte(command, folder):
    size = 1 << 29
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)))


class NoMemory(SolveTest):
    def test_solve(self):
        path = self.matrix("tall.mtx", [(1, 1, 1.0)], 30_000_000)
        run = run_in_half_a_gigabyte([PROGRAM, path, "--backend", "host", "--threads", "1"], self.folder)
        self.assert_refused(Result(run, None), path, "30000000", "memory")

    def test_gmres_that_does_not_fit_leaves_the_answer_of_cg(self):
        n = 12000  # vectors of GMRES: no more than that
        entries = [(i, i, 1.0 if i % 2 else -1.0) for i in range(1, n + 1)] + [(i + 1, i, 2.0) for i in range(1, n)]
        path = self.matrix("indefinite.mtx", entries, n, symmetry="symmetric")
        words = ["--blocks", "uniform", "--block-size", "1", "--restart", "100000", "--solution", self.path("x.mtx")]
        run = run_in_half_a_gigabyte([PROGRAM, path, "--backend", "host", "--threads", "1", *words], self.folder)
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn("no solve with gmres(100000): out of memory; the attempt before stands", run.stderr)
        self.assertRegex(run.stdout, "outcome   not converged: indefinite_")
        self.assertEqual(len(read_array(self.path("x.mtx"))[0]), n)

    def test_generate(self):
        for words in ("stencil a.mtx --grid 20000 20000", "array a.mtx --rows 2000000000 --columns 2000000000"):
            run = run_in_half_a_gigabyte([os.environ["BLOCKJACOBI_GENERATE"], *words.split()], self.folder)
            self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
            self.assertIn("out of memory", run.stderr)
            self.assertIn(words, run.stderr)
            self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
