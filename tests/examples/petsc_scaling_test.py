"""petsc_scaling: its tables, the shares from PETSc's log, and the types that its options name.

BLOCKJACOBI_PETSC_SCALING names the program."""

import os
import re
import subprocess
import unittest

PROGRAM = os.environ["BLOCKJACOBI_PETSC_SCALING"]


def run(ranks, *options):
    return subprocess.run(["mpirun", "--oversubscribe", "-n", str(ranks), PROGRAM, "-points", "8", *options],
                          capture_output=True, text=True, check=False, timeout=300)


def tables(output):
    """Rows of numbers by table: {"Weak": [[ranks, unknowns, ...], ...], "Strong": ...}."""
    found = {}
    for part in re.split(r"^(?=\w+ scaling)", output, flags=re.MULTILINE)[1:]:
        rows = re.findall(r"^\|( +\d.*)\|$", part, re.MULTILINE)
        found[part.split()[0]] = [[float(word) for word in re.findall(r"-?[\d.]+", row)] for row in rows]
    return found


class PetscScaling(unittest.TestCase):
    def assert_tables(self, output):
        found = tables(output)
        self.assertEqual(sorted(found), ["Strong", "Weak"], output)
        for name, rows in found.items():
            self.assertEqual([row[0] for row in rows], [1, 2], output)
            unknowns = 3 * 8**3
            self.assertEqual([row[1] for row in rows], [unknowns if name == "Weak" else 2 * unknowns, 2 * unknowns])
            self.assertEqual(rows[0][5], 100, output)  # efficiency of one rank
            for row in rows:
                shares, halo = row[6:11], row[11]
                self.assertEqual(len(shares), 5)
                self.assertAlmostEqual(sum(shares), 100, delta=0.5)  # of five roundings
                for share in shares:
                    self.assertGreaterEqual(share, 0, output)
                self.assertEqual(len(row), 12, output)
                self.assertAlmostEqual(halo, shares[0] / 100 * row[4] / row[2], delta=1e-3 + 1e-3 * row[4] / row[2])
            for share in rows[0][7:10]:  # product, application, reduction
                self.assertGreater(share, 0, output)
            self.assertEqual(rows[0][6], 0, "one rank has no halo\n" + output)
            # Which of them holds the wait of one rank for the other is chance.
            self.assertGreater(rows[1][6] + rows[1][9], 0, output)
        self.assertEqual(found["Strong"][0][2], found["Strong"][1][2], "iterations")

    def test_tables(self):
        result = run(2)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assert_tables(result.stdout)

    def test_types_and_solver(self):
        result = run(2, "-dm_mat_type", "baij", "-dm_vec_type", "standard", "-ksp_type", "pipecg", "-ksp_view")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assert_tables(result.stdout)
        for words in ("type: seqbaij", "type: mpibaij", "type: pipecg", "type: blockjacobi"):
            self.assertIn(words, result.stdout)

    def test_wrong_options(self):
        for options in (("-dm_mat_type", "no_such_type"), ("-points", "1")):
            result = run(1, *options)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(options[1], result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()
