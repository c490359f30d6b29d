"""How blockjacobi-solve shows that it gets on, at a terminal and without one."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import unittest

from solve_program import PROGRAM, SolveTest


class Progress(SolveTest):
    def at_a_terminal(self, *arguments, columns=200):
        """What a terminal of so many columns is sent."""
        terminal, end = pty.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=end)
        os.close(end)
        text = b""
        while True:
            try:
                part = os.read(terminal, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            text += part
        os.close(terminal)
        self.assertEqual(process.wait(300), 0)
        return text.decode().replace("\r\n", "\n")

    def slow(self):
        """Enough iterations for some tenths of a second, on one thread of any machine."""
        return (self.laplace(200), "--blocks", "uniform", "--block-size", 1, "--solver", "minres", "--rtol", "1e-12",
                "--backend", "host", "--threads", 1)

    def test_bar(self):
        text = self.at_a_terminal(*self.slow())
        shown = re.findall(r"\r([^\r\n]*)\x1b\[K", text)
        self.assertGreaterEqual(len(shown), 2, text)
        share = []
        for line in shown:
            found = re.match(r"  \[(#*)(-*)\] +(\d+) %   iteration +\d+   \|\|r\|\| \S+   target \S+", line)
            self.assertTrue(found, line)
            self.assertEqual(len(found[1] + found[2]), 20)
            share.append(int(found[3]))
            self.assertAlmostEqual(len(found[1]) * 5, share[-1], delta=5)
        self.assertLess(share[0], share[-1])
        self.assertIn(" left\x1b[K", text)
        self.assertRegex(text, r"\x1b\[K\nsolve ")

    def test_lines_fit_the_terminal(self):
        text = self.at_a_terminal(*self.slow(), columns=40)
        shown = re.findall(r"\r([^\r\n]*)\x1b\[K", text)
        self.assertTrue(shown)
        self.assertEqual({len(line) for line in shown}, {39})

    def test_compare_wipes_its_line_out(self):
        text = self.at_a_terminal(self.slow()[0], "--compare", "--backend", "host", "--threads", 1)
        self.assertRegex(text, r"\rscalar  \[")
        for line in text.split("\n"):
            self.assertFalse(line.split("\r")[-1].startswith("scalar  ["), line)
        self.assertIn("\r\x1b[Kcandidate ", text)

    def test_columns_are_counted(self):
        self.write("b.mtx", "%%MatrixMarket matrix array real general\n40000 2\n" + "1\n" * 80000)
        text = self.at_a_terminal(*self.slow(), "--rhs", self.path("b.mtx"))
        for column in (1, 2):
            self.assertIn(f"column {column} of 2  [", text)

    def test_plain_lines_without_a_terminal(self):
        result = self.solve(*self.slow())
        lines = [line for line in result.out.splitlines() if line.startswith("  iteration")]
        at = [int(line.split()[1]) for line in lines]
        self.assertTrue(all(b >= 2 * a for a, b in zip(at, at[1:])), at)
        self.assertGreaterEqual(len(at), 5)
        self.assertNotIn("[#", result.out)
        self.assertTrue(any(line.endswith(" left") for line in lines), result.out)


if __name__ == "__main__":
    unittest.main()
