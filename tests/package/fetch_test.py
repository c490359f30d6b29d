#!/usr/bin/env python3
"""Tests matrices/fetch.py against a mirror folder that the test builds. Nothing goes to the network: downloads are
tried with file: addresses.

The folder of fetch.py is named by the environment variable BLOCKJACOBI_MATRICES_SOURCE, by default matrices/ beside
tests/."""

import contextlib
import gzip
import hashlib
import io
import os
import pathlib
import sys
import tarfile
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("BLOCKJACOBI_MATRICES_SOURCE",
                                     pathlib.Path(__file__).resolve().parents[2] / "matrices"))
sys.path.insert(0, str(SOURCE))
import fetch  # noqa: E402

COLUMNS = ["group", "name", "n", "nnz", "zeros", "kind", "symmetry", "spd", "sha256", "note"]

# 3 x 3 with 7 nonzeros in the whole matrix, in several ways.
SPD3 = """%%MatrixMarket matrix coordinate real symmetric
% a comment
3 3 5
1 1 2
2 1 -1
2 2 2
3 2 -1
3 3 2
"""
SPD3_GENERAL = """%%MatrixMarket matrix coordinate real general
3 3 7
1 1 2
1 2 -1
2 1 -1
2 2 2
2 3 -1
3 2 -1
3 3 2
"""
SPD3_WITH_ZEROS = """%%MatrixMarket matrix coordinate real symmetric
3 3 6
1 1 2
2 1 -1
2 2 2
3 1 0
3 2 -1
3 3 2
"""
UPWIND3 = """%%MatrixMarket matrix coordinate real general
3 3 5
1 1 1
2 1 -1
2 2 1
3 2 -1
3 3 1
"""
HERMITIAN2 = """%%MatrixMarket matrix coordinate complex Hermitian
2 2 3
1 1 2 0
2 1 0.5 -1
2 2 2 0
"""
COMPLEX_SYMMETRIC2 = """%%MatrixMarket matrix coordinate complex general
2 2 4
1 1 2 1
1 2 0.5 -1
2 1 0.5 -1
2 2 2 1
"""
PATTERN2 = """%%MatrixMarket matrix coordinate pattern symmetric
2 2 2
1 1
2 1
"""


class FetchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fetch-test-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.mirror = self.root / "mirror"
        self.out = self.root / "store" / "out"
        self.mirror.mkdir()
        self.systems = []

    def catalog(self, name="tiny", n=3, nnz=7, symmetry="symmetric", sha256="-", group="Group"):
        self.systems.append([group, name, str(n), str(nnz), "-", "test", symmetry, "yes", sha256, "-"])

    def run_fetch(self, *arguments, mirror=True):
        if not self.systems:
            self.catalog()
        catalog = self.root / "catalog.tsv"
        lines = ["# a comment", "\t".join(COLUMNS)] + ["\t".join(system) for system in self.systems]
        catalog.write_text("\n".join(lines) + "\n", encoding="utf-8")
        words = [str(word) for word in arguments] + ["--catalog", str(catalog), "--out", str(self.out)]
        if mirror:
            words += ["--mirror", str(self.mirror)]
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = fetch.main(words)
            except SystemExit as error:
                status = error.code
        return status, out.getvalue(), err.getvalue()

    def assert_fetched(self, name, text, *arguments, **options):
        status, out, err = self.run_fetch(name, *arguments, **options)
        self.assertEqual(status, 0, out + err)
        self.assertEqual((self.out / f"{name}.mtx").read_text(encoding="utf-8"), text)
        return out

    def assert_failed(self, name, *parts, **options):
        """Status 1, every part in the message, and nothing left behind."""
        status, out, err = self.run_fetch(name, **options)
        self.assertEqual(status, 1, out + err)
        for part in parts:
            self.assertIn(part, err)
        if self.out.exists():
            self.assertEqual([path.name for path in self.out.iterdir()], [])

    def write(self, name, data):
        path = self.mirror / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def tar(self, name, members):
        """members: (TarInfo or name, text) pairs."""
        path = self.mirror / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(path, "w:gz") as archive:
            for member, text in members:
                info = member if isinstance(member, tarfile.TarInfo) else tarfile.TarInfo(member)
                info.size = len(text.encode())
                archive.addfile(info, io.BytesIO(text.encode()))
        return path


class Sources(FetchTest):
    def test_plain_file(self):
        self.write("tiny.mtx", SPD3)
        self.assert_fetched("tiny", SPD3)

    def test_packed_file(self):
        self.write("tiny.mtx.gz", gzip.compress(SPD3.encode()))
        self.assert_fetched("tiny", SPD3)

    def test_archive(self):
        self.tar("tiny.tar.gz", [("tiny/tiny_b.mtx", "a right-hand side"), ("tiny/tiny.mtx", SPD3)])
        self.assert_fetched("tiny", SPD3)

    def test_archive_in_the_folder_of_its_group(self):
        self.tar("Group/tiny.tar.gz", [("tiny/tiny.mtx", SPD3)])
        self.assert_fetched("tiny", SPD3)

    def test_name_with_group(self):
        self.write("tiny.mtx", SPD3)
        status, _, err = self.run_fetch("Group/tiny")
        self.assertEqual(status, 0, err)
        self.assertTrue((self.out / "tiny.mtx").is_file())

    def test_download(self):
        self.tar("Group/tiny.tar.gz", [("tiny/tiny.mtx", SPD3)])
        template = (self.mirror / "{group}").as_uri().replace("%7B", "{").replace("%7D", "}") + "/{name}.tar.gz"
        self.assert_fetched("tiny", SPD3, "--url-template", template, mirror=False)
        self.assertEqual(sorted(path.name for path in self.out.iterdir()), [".tiny.verified", "tiny.mtx"])

    def test_download_of_a_missing_archive(self):
        template = (self.root / "nowhere").as_uri() + "/{group}/{name}.tar.gz"
        status, _, err = self.run_fetch("tiny", "--url-template", template, mirror=False)
        self.assertEqual(status, 1)
        self.assertIn("nowhere/Group/tiny.tar.gz", err)
        self.assertEqual(list(self.out.iterdir()), [])

    def test_absent_from_the_mirror(self):
        self.assert_failed("tiny", "tiny.mtx", "tiny.mtx.gz", "tiny.tar.gz", "Group")

    def test_all_small(self):
        self.catalog()
        self.catalog("big", n=10**6, nnz=fetch.SMALL_NNZ + 1)
        self.write("tiny.mtx", SPD3)
        status, out, err = self.run_fetch("--all-small")
        self.assertEqual(status, 0, err)
        self.assertIn("tiny", out)
        self.assertNotIn("big", out + err)

    def test_a_failure_does_not_stop_the_others(self):
        self.catalog("absent")
        self.catalog()
        self.write("tiny.mtx", SPD3)
        status, _, err = self.run_fetch("absent", "tiny")
        self.assertEqual(status, 1)
        self.assertIn("1 of 2 systems", err)
        self.assertTrue((self.out / "tiny.mtx").is_file())


class Usage(FetchTest):
    def test_unknown_name_with_a_near_one(self):
        self.assert_failed("tinny", "tinny: not in the catalog", "near: Group/tiny")

    def test_wrong_group(self):
        self.assert_failed("HB/tiny", "HB/tiny: not in the catalog", "near: Group/tiny")

    def test_no_names(self):
        self.assertEqual(self.run_fetch()[0], 2)

    def test_mirror_that_does_not_exist(self):
        status, _, err = self.run_fetch("tiny", "--mirror", self.root / "nowhere", mirror=False)
        self.assertEqual(status, 2)
        self.assertIn("nowhere", err)

    def test_bad_template(self):
        status, _, err = self.run_fetch("tiny", "--url-template", "http://x/{file}", mirror=False)
        self.assertEqual(status, 2)
        self.assertIn("{file}", err)

    def test_list(self):
        status, out, _ = self.run_fetch("--list")
        self.assertEqual(status, 0)
        self.assertIn("Group/tiny", out)


class Verification(FetchTest):
    def test_stored_zeros_may_be_there(self):
        self.write("tiny.mtx", SPD3_WITH_ZEROS)
        self.assert_fetched("tiny", SPD3_WITH_ZEROS)

    def test_number_of_stored_entries_may_be_in_the_catalog(self):
        self.catalog(nnz=9)
        self.write("tiny.mtx", SPD3_WITH_ZEROS)
        self.assert_fetched("tiny", SPD3_WITH_ZEROS)

    def test_symmetric_values_under_a_general_banner(self):
        self.write("tiny.mtx", SPD3_GENERAL)
        self.assert_fetched("tiny", SPD3_GENERAL)

    def test_general(self):
        self.catalog(nnz=5, symmetry="general")
        self.write("tiny.mtx", UPWIND3)
        self.assert_fetched("tiny", UPWIND3)

    def test_hermitian(self):
        self.catalog(n=2, nnz=4, symmetry="hermitian")
        self.write("tiny.mtx", HERMITIAN2)
        self.assert_fetched("tiny", HERMITIAN2)

    def test_complex_symmetric(self):
        self.catalog(n=2, nnz=4, symmetry="symmetric")
        self.write("tiny.mtx", COMPLEX_SYMMETRIC2)
        self.assert_fetched("tiny", COMPLEX_SYMMETRIC2)

    def test_pattern(self):
        self.catalog(n=2, nnz=3, symmetry="symmetric")
        self.write("tiny.mtx", PATTERN2)
        self.assert_fetched("tiny", PATTERN2)

    def test_digest(self):
        self.catalog(sha256=hashlib.sha256(SPD3.encode()).hexdigest())
        self.write("tiny.mtx", SPD3)
        self.assertIn("verified sha256", self.assert_fetched("tiny", SPD3))

    def test_wrong_digest(self):
        self.catalog(sha256="0" * 64)
        self.write("tiny.mtx", SPD3)
        self.assert_failed("tiny", "sha256", "0" * 64)

    def test_wrong_size(self):
        self.catalog(n=4)
        self.write("tiny.mtx", SPD3)
        self.assert_failed("tiny", "3 x 3", "must be 4 x 4")

    def test_wrong_number_of_nonzeros(self):
        self.catalog(nnz=8)
        self.write("tiny.mtx", SPD3_WITH_ZEROS)
        self.assert_failed("tiny", "9 entries", "7 of them not zero", "must be 8")

    def test_not_symmetric(self):
        self.catalog(nnz=5)
        self.write("tiny.mtx", UPWIND3)
        self.assert_failed("tiny", "must be symmetric", "general")

    def test_hermitian_is_not_complex_symmetric(self):
        self.catalog(n=2, nnz=4, symmetry="symmetric")
        self.write("tiny.mtx", HERMITIAN2)
        self.assert_failed("tiny", "must be symmetric", "hermitian")

    def test_symmetric_banner_where_general_is_due(self):
        self.catalog(symmetry="general")
        self.write("tiny.mtx", SPD3)
        self.assert_failed("tiny", "must be general, is symmetric")


class Damage(FetchTest):
    def test_truncated_text(self):
        self.write("tiny.mtx", SPD3[:-6])
        self.assert_failed("tiny", "tiny.mtx:7", "4 entries", "announces 5", "truncated")

    def test_cut_within_a_line(self):
        self.write("tiny.mtx", SPD3[:-4])
        self.assert_failed("tiny", "tiny.mtx:8", "malformed entry '3'")

    def test_truncated_gzip(self):
        packed = gzip.compress(SPD3.encode())
        self.write("tiny.mtx.gz", packed[: len(packed) // 2])
        self.assert_failed("tiny", "tiny.mtx.gz", "truncated")

    def test_no_gzip(self):
        self.write("tiny.mtx.gz", SPD3)
        self.assert_failed("tiny", "tiny.mtx.gz", "damaged")

    def test_truncated_archive(self):
        path = self.tar("tiny.tar.gz", [("tiny/tiny.mtx", SPD3 + "%" * 20000)])
        path.write_bytes(path.read_bytes()[:-20])
        self.assert_failed("tiny", "tiny.tar.gz", "truncated")

    def test_no_matrix_market_file(self):
        self.write("tiny.mtx", "<html>Not found</html>\n")
        self.assert_failed("tiny", "tiny.mtx:1", "not a Matrix Market")

    def test_array_format(self):
        self.write("tiny.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n")
        self.assert_failed("tiny", "tiny.mtx:1")

    def test_no_size_line(self):
        self.write("tiny.mtx", "%%MatrixMarket matrix coordinate real general\n% only a comment\n")
        self.assert_failed("tiny", "tiny.mtx:3", "no line with rows")

    def test_index_out_of_range(self):
        self.write("tiny.mtx", SPD3.replace("3 2 -1", "3 4 -1"))
        self.assert_failed("tiny", "tiny.mtx:7", "(3, 4)", "3 x 3")

    def test_malformed_value(self):
        self.write("tiny.mtx", SPD3.replace("2 1 -1", "2 1 x"))
        self.assert_failed("tiny", "tiny.mtx:5", "'2 1 x'")

    def test_too_many_entries(self):
        self.write("tiny.mtx", SPD3 + "3 1 1\n")
        self.assert_failed("tiny", "6 entries", "announces 5")


class Archives(FetchTest):
    """What an archive must not do."""

    def assert_nothing_outside(self):
        self.assertEqual(sorted(path.name for path in self.root.iterdir()), ["catalog.tsv", "mirror", "store"])
        self.assertEqual([path.name for path in (self.root / "store").iterdir()], ["out"])

    def test_other_matrix(self):
        self.tar("tiny.tar.gz", [("other/other.mtx", SPD3)])
        self.assert_failed("tiny", "no tiny/tiny.mtx in it", "other/other.mtx")

    def test_empty(self):
        self.tar("tiny.tar.gz", [])
        self.assert_failed("tiny", "no tiny/tiny.mtx in it", "nothing")

    def test_path_that_leaves_the_folder(self):
        self.tar("tiny.tar.gz", [("../../escaped.mtx", SPD3), ("tiny/tiny.mtx", SPD3)])
        self.assert_failed("tiny", "unsafe member '../../escaped.mtx'")
        self.assert_nothing_outside()

    def test_matrix_under_a_path_that_leaves_the_folder(self):
        self.tar("tiny.tar.gz", [("../tiny/tiny.mtx", SPD3)])
        self.assert_failed("tiny", "unsafe member '../tiny/tiny.mtx'")
        self.assert_nothing_outside()

    def test_absolute_path(self):
        target = self.root / "escaped.mtx"
        self.tar("tiny.tar.gz", [(str(target), SPD3), ("tiny/tiny.mtx", SPD3)])
        self.assert_failed("tiny", "unsafe member", "escaped.mtx")
        self.assert_nothing_outside()

    def test_link(self):
        link = tarfile.TarInfo("tiny/tiny.mtx")
        link.type = tarfile.SYMTYPE
        link.linkname = "/etc/hostname"
        self.tar("tiny.tar.gz", [(link, "")])
        self.assert_failed("tiny", "unsafe member 'tiny/tiny.mtx'")

    def test_folder_with_the_name_of_the_matrix(self):
        folder = tarfile.TarInfo("tiny/tiny.mtx")
        folder.type = tarfile.DIRTYPE
        self.tar("tiny.tar.gz", [(folder, "")])
        self.assert_failed("tiny", "no tiny/tiny.mtx in it")


class Resuming(FetchTest):
    def test_verified_file_is_not_fetched_again(self):
        self.write("tiny.mtx", SPD3)
        self.assert_fetched("tiny", SPD3)
        (self.mirror / "tiny.mtx").unlink()
        self.assertIn("already there", self.assert_fetched("tiny", SPD3))

    def test_file_put_there_by_hand_is_verified(self):
        self.out.mkdir(parents=True)
        (self.out / "tiny.mtx").write_text(SPD3, encoding="utf-8")
        self.assertIn("already there", self.assert_fetched("tiny", SPD3))

    def test_changed_file_is_fetched_anew(self):
        self.write("tiny.mtx", SPD3)
        self.assert_fetched("tiny", SPD3)
        (self.out / "tiny.mtx").write_text(SPD3[:-6], encoding="utf-8")
        self.assertIn("verified", self.assert_fetched("tiny", SPD3))

    def test_changed_catalog_verifies_anew(self):
        self.write("tiny.mtx", SPD3)
        self.assert_fetched("tiny", SPD3)
        self.systems.clear()
        self.catalog(nnz=8)
        status, _, err = self.run_fetch("tiny")
        self.assertEqual(status, 1)
        self.assertIn("must be 8", err)

    def test_failed_fetch_leaves_the_old_file(self):
        self.out.mkdir(parents=True)
        (self.out / "tiny.mtx").write_text("old", encoding="utf-8")
        self.write("tiny.mtx", SPD3[:-6])
        status, _, err = self.run_fetch("tiny")
        self.assertEqual(status, 1)
        self.assertIn("fetched anew", err)
        self.assertEqual([path.name for path in self.out.iterdir()], ["tiny.mtx"])
        self.assertEqual((self.out / "tiny.mtx").read_text(encoding="utf-8"), "old")


class Catalog(unittest.TestCase):
    """The catalog of the project."""

    def setUp(self):
        self.catalog = fetch.read_catalog(SOURCE / "suitesparse.tsv")

    def test_enough_systems(self):
        self.assertGreaterEqual(len(self.catalog), 45)
        for name in ("Serena", "Geo_1438", "Hook_1498", "audikw_1", "nd24k", "af_shell3", "Bump_2911"):
            self.assertIn(name, self.catalog)

    def test_rows_are_sound(self):
        for system in self.catalog.values():
            with self.subTest(system=system.name):
                self.assertGreater(system.n, 0)
                self.assertLessEqual(system.nnz, system.n**2)
                self.assertIn(system.symmetry, ("symmetric", "hermitian", "general"))
                self.assertFalse(system.spd and system.symmetry == "general")
                self.assertRegex(system.sha256, r"^([0-9a-f]{64})?$")

    def test_mirror_of_real_matrices(self):
        mirror = os.environ.get("BLOCKJACOBI_MATRICES")
        if not mirror:
            self.skipTest("BLOCKJACOBI_MATRICES is not set")
        names = [name for name, system in self.catalog.items()
                 if system.nnz <= 30000 and any(pathlib.Path(mirror).glob(f"{name}.mtx*"))]
        self.assertTrue(names, f"no system of the catalog in {mirror}")
        with tempfile.TemporaryDirectory(prefix="fetch-test-") as out:
            text = io.StringIO()
            with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
                status = fetch.main([*names, "--mirror", mirror, "--out", out])
            self.assertEqual(status, 0, text.getvalue())


if __name__ == "__main__":
    unittest.main()
