"""make deps, and make solve, which asks before it: .ci/deps with a dpkg that knows no package and an apt that only notes
its words.

BLOCKJACOBI_DEPS names the script."""

import os
import pathlib
import pty
import select
import subprocess
import tempfile
import unittest

DEPS = os.environ["BLOCKJACOBI_DEPS"]


class Deps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "apt.log"
        for name, text in (("dpkg-query", "exit 1"), ("apt-get", f'echo "$@" >> {self.log}'), ("sudo", 'exec "$@"')):
            program = self.folder / name
            program.write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
            program.chmod(0o755)
        self.environment = os.environ | {"PATH": f"{self.folder}:{os.environ['PATH']}"}

    def calls(self):
        return self.log.read_text(encoding="ascii").splitlines() if self.log.exists() else []

    def run_deps(self, *arguments):
        return subprocess.run(["bash", DEPS, *arguments], env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)

    def answer(self, word, *arguments):
        """The status and output of `ask` at a terminal where somebody types the word."""
        terminal, end = pty.openpty()
        process = subprocess.Popen(["bash", DEPS, *arguments, "ask"], env=self.environment, stdin=end, stdout=end, stderr=end)
        os.close(end)
        os.write(terminal, (word + "\n").encode())
        text = b""
        while select.select([terminal], [], [], 30)[0]:
            try:
                text += os.read(terminal, 4096)
            except OSError:  # the other end is closed
                break
        os.close(terminal)
        return process.wait(30), text.decode()

    def test_deps_installs_without_a_question(self):
        result = self.run_deps()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(self.calls()), 2)
        self.assertIn("libeigen3-dev", self.calls()[1])
        self.assertTrue(self.calls()[1].startswith("install -y"))

    def test_nobody_to_ask(self):
        result = self.run_deps("ask")
        self.assertEqual((result.returncode, self.calls()), (1, []))
        self.assertIn("'make deps' does it", result.stderr)
        self.assertRegex(result.stderr, "of these the build needs: .*libeigen3-dev")

    def test_answers(self):
        status, text = self.answer("n")
        self.assertEqual((status, self.calls()), (1, []))
        self.assertIn("install them with apt?", text)
        self.assertIn("'make deps' does it", text)
        status, text = self.answer("y")
        self.assertEqual((status, len(self.calls())), (0, 2), text)

    def test_packages_for_more_than_the_build(self):
        status, text = self.answer("n", "ci")
        self.assertEqual((status, self.calls()), (1, []))
        self.assertIn("libpetsc-real-dev", text)

    def test_make_asks(self):
        """All but `make deps` does."""
        lines = (pathlib.Path(DEPS).parent.parent / "Makefile").read_text(encoding="utf-8").splitlines()
        calls = [line for line in lines if line.startswith("\t") and ".ci/deps" in line]
        self.assertEqual([line for line in calls if not line.endswith(" ask")], ["\t@bash .ci/deps"])
        self.assertGreaterEqual(len(calls), 4)


if __name__ == "__main__":
    unittest.main()
