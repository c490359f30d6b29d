"""Files that blockjacobi-solve refuses, and how."""

import gzip
import pathlib
import unittest

from solve_program import SolveTest


class BadInput(SolveTest):
    def test_missing_file_and_folder(self):
        self.assert_refused(self.solve(self.path("none.mtx")), "none.mtx")
        self.assert_refused(self.solve(self.folder), self.folder)

    def test_malformed_files_name_the_line(self):
        head = "%%MatrixMarket matrix coordinate real general\n"
        cases = (
            ("", ":"),
            ("not a matrix\n1 1 1\n", ":1:"),
            (head + "2 2\n", ":2:"),
            (head + "2 2 2\n1 1 1.0\n3 1 1.0\n", ":4:", "3"),
            (head + "2 2 2\n1 1 1.0\n2 2 1.0x\n", ":4:"),
            (head + "2 2 2\n1 1 1.0\n2 2 nan\n", ":4:"),
            (head + "2 2 2\n1 1 1.0\n2 2 inf\n", ":4:"),
            (head + "2 2 3\n1 1 1.0\n2 2 1.0\n", ":"),
            (head + "2 2 1\n1 1 1.0\n2 2 1.0\n", ":4:"),
            (head + "2 2 99999999999999999999\n1 1 1.0\n", ":2:"),
        )
        for text, *parts in cases:
            with self.subTest(text=text):
                self.assert_refused(self.solve(self.write("bad.mtx", text)), "bad.mtx", *parts)

    def test_more_rows_than_the_machine_holds(self):
        path = self.matrix("tall.mtx", [(1, 1, 1.0)], 2147483647)
        result = self.solve(path, "--solver", "gmres", "--restart", 3000, "--backend", "host", timeout=20)
        self.assert_refused(result, "tall.mtx:2:", "2147483647 rows", "memory")

    def test_not_square(self):
        path = self.matrix("wide.mtx", [(1, 1, 1.0)], 3, cols=4)
        self.assert_refused(self.solve(path), "wide.mtx", "3 x 4")

    def test_complex_file_in_a_real_scalar(self):
        path = self.matrix("c.mtx", [(1, 1, complex(1, 1))], 1, field="complex")
        for scalar in ("s", "d"):
            self.assert_refused(self.solve(path, "--scalar", scalar), f"--scalar {scalar}", "c.mtx", "complex")

    def test_values_past_the_range_of_the_scalar(self):
        path = self.matrix("big.mtx", [(1, 1, 1.0), (2, 2, 1e300)], 2)
        self.assert_refused(self.solve(path, "--scalar", "s", "--rtol", "1e-4"), "big.mtx:4:")

    def test_packed_file_that_is_cut(self):
        packed = gzip.compress(pathlib.Path(self.laplace()).read_bytes())
        path = pathlib.Path(self.path("cut.mtx.gz"))
        path.write_bytes(packed[: len(packed) // 2])
        self.assert_refused(self.solve(path), "cut.mtx.gz")


if __name__ == "__main__":
    unittest.main()
