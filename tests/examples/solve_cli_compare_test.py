"""blockjacobi-solve --compare: the candidates, their table, and the command line of the winner."""

import os
import shlex
import shutil
import subprocess
import unittest

from solve_program import BACKEND, PROGRAM, SolveTest, tridiagonal, write_array

NAMES = [f"{blocks}{coarse}" for blocks in ("scalar", "supervariables", "detect 32", "clusters 32", "clusters 256")
         for coarse in ("", ", ones", ", relaxed 4")
         if blocks.startswith("clusters") or coarse != ", relaxed 4"]


class Compare(SolveTest):
    def candidates(self, result):
        found = {candidate["name"]: candidate for candidate in result.report["candidates"]}
        self.assertEqual(len(found), len(result.report["candidates"]))
        return found

    def test_every_choice_is_tried(self):
        result = self.solve(self.laplace(40), "--compare")
        self.assert_converged(result)
        found = self.candidates(result)
        self.assertEqual(sorted(found), sorted(NAMES))
        for name in ("supervariables", "supervariables, ones"):
            self.assertEqual(found[name]["same_as"], name.replace("supervariables", "scalar"))
            self.assertIn(f"the same blocks as {found[name]['same_as']}", result.out)
        for name, candidate in found.items():
            if candidate["same_as"]:
                continue
            self.assertEqual((candidate["reason"], candidate["failure"]), ("converged", None))
            self.assertLessEqual(candidate["relative_residual"], 1e-8)
            self.assertEqual(len(candidate["history"]), candidate["iterations"] + 1)
            self.assertEqual(candidate["coarse"] is not None, "," in name)
            self.assertGreater(candidate["bytes"], 0)
            self.assertAlmostEqual(candidate["whole_ms"], candidate["whole_setup_ms"] + candidate["solve_ms"], places=6)
        self.assertLess(found["scalar, ones"]["iterations"], found["scalar"]["iterations"])
        self.assertLess(found["clusters 256"]["iterations"], found["clusters 32"]["iterations"])

    def test_sorted_by_the_whole_time(self):
        result = self.solve(self.laplace(40), "--compare")
        times = [c["whole_ms"] for c in result.report["candidates"] if c["same_as"] is None]
        self.assertEqual(times, sorted(times))
        ended = [c["same_as"] is None for c in result.report["candidates"]]
        self.assertEqual(ended, sorted(ended, reverse=True), "those without a solve stand behind")
        rows = result.out[result.out.index("compare"):].splitlines()[1:1 + len(NAMES)]
        self.assertEqual([row[10:37].strip() for row in rows], [c["name"] for c in result.report["candidates"]])

    def test_the_order_of_the_trials(self):
        result = self.solve(self.laplace(), "--compare")
        tried = [line.split(None, 1)[1].split(":")[0] for line in result.out.splitlines() if line.startswith("candidate")]
        self.assertEqual(tried, NAMES)

    def test_the_winner_can_be_repeated(self):
        name = self.path("it's a name.mtx")
        os.rename(self.laplace(30), name)
        result = self.solve(name, "--compare", "--rtol", "1e-6", "--l1", "--coarse-size", 30, "--max-seconds", 50)
        self.assert_converged(result, 1e-6)
        best = result.report["candidates"][0]
        self.assertEqual(result.report["winner"], best["name"])
        self.assertIn(best["command"], result.out)
        for candidate in result.report["candidates"]:
            program, *words = shlex.split(candidate["command"])
            self.assertEqual(program, "blockjacobi-solve")
            self.assertNotIn("--compare", words)
            self.assertNotIn("--json", words)
            if candidate["same_as"]:
                continue
            alone = self.solve(*words)
            self.assert_converged(alone, 1e-6)
            self.assertEqual(alone.report["history"], candidate["history"], candidate["command"])

    def test_nodes_of_the_file(self):
        line = tridiagonal(30, -1.0, 2.0, -1.0)
        entries = [(2 * i + k, 2 * j + l, v * (2.0 if k == l else 0.9)) for i, j, v in line for k in (-1, 0) for l in (-1, 0)]
        result = self.solve(self.matrix("two.mtx", entries, 60), "--compare", "--solver", "cg", "--unknowns", 2)
        found = self.candidates(result)
        self.assertEqual(found["supervariables"]["blocks"]["sizes"], [{"rows": 2, "count": 30}])
        self.assertLess(found["supervariables"]["iterations"], found["scalar"]["iterations"])

    def test_clusters_of_rows_that_nothing_couples(self):
        """They stay where they are, as those of scalar Jacobi."""
        result = self.solve(self.matrix("d.mtx", [(i, i, float(i)) for i in range(1, 51)], 50), "--compare")
        found = self.candidates(result)
        self.assertEqual(found["supervariables, ones"]["same_as"], "scalar, ones")
        self.assertEqual({found[name]["reason"] for name in NAMES if name.startswith("clusters 32")}, {"converged"})
        self.assertEqual([found["clusters 256" + coarse]["same_as"] for coarse in ("", ", ones", ", relaxed 4")],
                         ["clusters 32", "clusters 32, ones", "clusters 32, relaxed 4"])

    def test_given_vectors(self):
        write_array(self.path("z.mtx"), [[1.0] * 900])
        result = self.solve(self.laplace(30), "--compare", "--coarse", "vectors:" + self.path("z.mtx"))
        self.assertIn("clusters 32, vectors", self.candidates(result))
        self.assertNotIn("clusters 32, ones", result.out)

    def test_the_coarse_level_that_is_named(self):
        result = self.solve(self.laplace(30), "--compare", "--coarse", "relaxed:2")
        found = self.candidates(result)
        self.assertEqual({name.partition(", ")[2] for name in found}, {"", "relaxed 2"})
        self.assertIn("--coarse relaxed:2", found["clusters 32, relaxed 2"]["command"])

    def test_multigrid_where_it_is_named(self):
        write_array(self.path("a vector.mtx"), [[1.0] * 900])
        for word in ("multigrid", "multigrid:" + self.path("a vector.mtx")):
            with self.subTest(word=word):
                result = self.solve(self.laplace(30), "--compare", "--coarse", word)
                self.assert_converged(result)
                found = self.candidates(result)
                self.assertEqual({name.partition(", ")[2] for name in found}, {"", "multigrid"})
                both = found["clusters 32, multigrid"]
                self.assertEqual(shlex.split(both["command"])[-2:], ["--coarse", word])
                self.assertEqual(len(both["coarse"]["levels"]), 2)
                self.assertEqual(both["bytes"], both["blocks"]["bytes"] + both["coarse"]["bytes"])
                self.assertLess(both["iterations"], found["clusters 32"]["iterations"])

    def test_what_multigrid_refuses_ends_a_candidate_alone(self):
        path = self.matrix("t.mtx", tridiagonal(600, -1.5, 4.0, -0.5), 600)
        result = self.solve(path, "--compare", "--coarse", "multigrid")
        self.assert_converged(result)
        for name, candidate in self.candidates(result).items():
            if candidate["same_as"] is None:
                if "," in name:
                    self.assertEqual(candidate["failure"].partition(";")[0], "Multigrid: the matrix is not symmetric")
                else:
                    self.assertIsNone(candidate["failure"])

    def test_none_converges(self):
        entries = [(i, i, 1.0 if i % 2 else -1.0) for i in range(1, 601)] + [(i + 1, i, 2.0) for i in range(1, 600)]
        path = self.matrix("i.mtx", entries, 600, symmetry="symmetric")
        result = self.solve(path, "--compare", "--solver", "cg")
        self.assert_no_winner(result)

    def test_advice_names_nothing_that_was_tried(self):
        result = self.solve(self.laplace(30), "--compare", "--max-iterations", 3)
        self.assert_no_winner(result)
        self.assertTrue(result.report["message"].endswith("the residual was still falling: raise --max-iterations"))

    def assert_no_winner(self, result):
        self.assert_not_converged(result)
        self.assertIsNone(result.report["winner"])
        self.assertIn("none: no candidate converged", result.out)
        self.assertEqual(len(result.report["candidates"]), len(NAMES))

    def test_singular_blocks_end_a_candidate_alone(self):
        """Pairs of rows without a diagonal: scalar Jacobi has nothing to divide by, clusters of both rows do."""
        entries = [(2 * k + 2, 2 * k + 1, 1.0 + k % 3) for k in range(40)]
        path = self.matrix("pairs.mtx", entries, 80, symmetry="symmetric")
        result = self.solve(path, "--compare", "--solver", "gmres", "--singular", "fail")
        self.assertEqual(result.status, 0, result.out + result.err)
        found = self.candidates(result)
        self.assertEqual(found["scalar"]["reason"], "singular_block")
        self.assertEqual(found["clusters 32"]["reason"], "converged")
        self.assertTrue(result.report["winner"].startswith(("clusters", "detect")))

    def test_what_is_thrown_ends_a_candidate_alone(self):
        """The coarse matrix would have to have room for three vectors."""
        write_array(self.path("three.mtx"), [[1.0] * 144, [float(i) for i in range(144)], [float(i * i) for i in range(144)]])
        result = self.solve(self.laplace(), "--compare", "--coarse", "vectors:" + self.path("three.mtx"),
                            "--coarse-size", 2)
        self.assert_converged(result)
        failed = [c for c in result.report["candidates"] if c["failure"]]
        self.assertEqual(len(failed), 4)
        for candidate in failed:
            self.assertIn("size is 2, an aggregate has 3 vectors", candidate["failure"])
        self.assertIn("failed: TwoLevel: size is 2", result.out)

    def test_time_of_a_candidate_is_bounded(self):
        result = self.solve(self.laplace(60), "--compare", "--max-seconds", "1e-6", "--rtol", "1e-12")
        self.assert_no_winner(result)
        for candidate in result.report["candidates"]:
            if candidate["same_as"] is None:
                self.assertEqual(candidate["reason"], "time_limit")
        self.assertIn("time_limit: the set-up took", result.report["message"])
        self.assertIn("60 s (--max-seconds)", self.solve(self.laplace(), "--compare").out)

    @unittest.skipUnless(shutil.which("gnuplot"), "no gnuplot")
    def test_one_plot_of_all(self):
        self.solve(self.laplace(), "--compare", "--plot", self.path("all.png"))
        with open(self.path("all.png"), "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def script_for_gnuplot(self, path, *words):
        """A program in the place of gnuplot keeps what it is told."""
        os.makedirs(self.path("bin"), exist_ok=True)
        self.write("bin/gnuplot", f"#!/bin/sh\ncat > {self.path('script')}\n")
        os.chmod(self.path("bin/gnuplot"), 0o755)
        subprocess.run([PROGRAM, path, "--compare", "--plot", self.path("all.png"), "--backend", BACKEND, *words],
                       capture_output=True, check=False,
                       env=os.environ | {"PATH": self.path("bin") + ":" + os.environ["PATH"]})
        with open(self.path("script"), encoding="ascii") as file:
            return file.read()

    def test_plot_shows_those_that_converged(self):
        n = 400
        cycle = self.matrix("c.mtx", [(i, i % n + 1, 1.0) for i in range(1, n + 1)] + [(i, i, 0.9) for i in range(1, n + 1)], n)
        self.assertIn("\nset xrange [0:100]\n", self.script_for_gnuplot(cycle, "--restart", "5", "--max-iterations", "500"))
        self.assertNotIn("xrange", self.script_for_gnuplot(cycle, "--restart", "5", "--max-iterations", "90"))

    def test_plot_has_a_curve_for_each(self):
        script = self.script_for_gnuplot(self.laplace())
        self.assertIn("\nset key outside ", script)
        self.assertNotIn("xrange", script)
        plot = script.splitlines()[-1]
        for name in NAMES:
            dashes = 2 if name.endswith(", ones") else 3 if name.endswith(", relaxed 4") else 1
            self.assertEqual(f"dashtype {dashes} title '{name}'" in plot, not name.startswith("supervariables"), plot)

    def test_refused(self):
        for arguments in (("--blocks", "detect"), ("--block-size", 8), ("--block-tolerance", 0.1), ("--coupling", 0.1),
                          ("--solution", self.path("x.mtx"))):
            with self.subTest(arguments=arguments):
                self.assert_refused(self.solve(self.laplace(), "--compare", *arguments), arguments[0], "--compare")
        for value in ("-1", "nan", "inf"):
            self.assert_refused(self.solve(self.laplace(), "--max-seconds", value), "--max-seconds", value)


if __name__ == "__main__":
    unittest.main()
