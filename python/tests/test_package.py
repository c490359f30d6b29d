"""What is installed, the examples, and the snippets of the READMEs, run as a user runs them."""

import importlib
import importlib.resources
import inspect
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import scipy.io
from systems import elasticity_like

import blockjacobi as bj

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "python" / "examples").glob("*.py"))


def run(*command, folder):
    done = subprocess.run([sys.executable, *map(str, command)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_version_is_that_of_the_library():
    header = (ROOT / "include" / "blockjacobi" / "version.hpp").read_text(encoding="utf-8")
    assert f'version = "{bj.__version__}"' in header
    for other in ("CITATION.cff", "packaging/conda/recipe.yaml", "packaging/vcpkg/blockjacobi/vcpkg.json"):
        assert re.search(rf'version"?: "?{re.escape(bj.__version__)}"?,?$', (ROOT / other).read_text(encoding="utf-8"),
                         re.MULTILINE), other


def test_a_release_is_dated_everywhere_and_its_abi_is_kept():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    stated = re.search(rf"^## {re.escape(bj.__version__)} \((.*)\)$", changes, re.MULTILINE)[1]
    cited = re.search(r"^date-released: (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    soname = f"libblockjacobi.so.{bj.__version__.rpartition('.')[0]}"
    is_kept = (ROOT / ".ci" / "abi" / f"{soname}.abi").exists()
    if stated == "not released":
        assert cited is None
    else:
        assert cited is not None and cited[1] == stated and is_kept


def test_it_is_typed():
    files = {file.name for file in importlib.resources.files(bj).iterdir()}
    if "_core.pyi" not in files:
        pytest.skip("not an installed package: stubs are made when it is installed")
    assert "py.typed" in files
    stub = (importlib.resources.files(bj) / "_core.pyi").read_text(encoding="utf-8")
    for name in ("class Backend", "class Partition", "class Report", "class SolveReport", "class Suggestion"):
        assert name in stub


def test_programs_pass_a_check_of_types(tmp_path):
    pytest.importorskip("mypy")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    program = tmp_path / "readme.py"
    program.write_text(re.search(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1] + """
assert report.converged and report.history[0] > 0
for block in blockjacobi.suggest(A).best.blocks.offsets:
    print(block, M.report().singular_blocks)
blockjacobi.BlockJacobi(A, storage="fp33")
""", encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "mypy", "--ignore-missing-imports", "--cache-dir", tmp_path / "cache",
                           program, *EXAMPLES], cwd=tmp_path, capture_output=True, text=True, check=False)
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    # That it looks at the hints shows in the one that is wrong.
    assert len(errors) == 1 and '"storage"' in errors[0], done.stdout + done.stderr


def test_one_module_serves_python_3_12_and_what_follows():
    assert (".abi3." in pathlib.Path(bj._core.__file__).name) == (sys.version_info >= (3, 12))


def test_the_module_shows_its_entry_alone():
    if shutil.which("nm") is None:
        pytest.skip("no nm")
    listing = subprocess.run(["nm", "-D", "--defined-only", bj._core.__file__], capture_output=True, text=True,
                             check=True)
    assert [line.split()[-1] for line in listing.stdout.splitlines()] == ["PyInit__core"]


def test_everything_public_is_documented():
    undocumented = []
    for owner in (bj, bj.partition, bj.batched, bj.errors):
        for name in owner.__all__:
            item = getattr(owner, name)
            if isinstance(item, str):
                continue
            if not inspect.getdoc(item):
                undocumented.append(name)
            if inspect.isclass(item) and not issubclass(item, (BaseException, tuple)):
                undocumented += [f"{name}.{member}" for member in vars(item)
                                 if not member.startswith("_") and not inspect.getdoc(getattr(item, member))]
    assert not undocumented


def documentation(item):
    """Its own and that of its public members, without the signature with which nanobind begins those of functions."""
    members = [name for name in vars(item) if not name.startswith("_")] if inspect.isclass(item) else []
    texts = {"": inspect.getdoc(item), **{name: inspect.getdoc(getattr(item, name)) for name in members}}
    return {name: re.sub(r"\A\w+\(.*\) -> .*\n\n", "", text) for name, text in texts.items()}


def test_the_manual_documents_what_is_compiled(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    stated = importlib.import_module("compiled").module(ROOT)
    page = (ROOT / "docs" / "api" / "python.md").read_text(encoding="utf-8")
    compiled = {name: item for name in bj.__all__ if (item := getattr(bj, name)) is getattr(bj._core, name, None)}
    assert len(compiled) > 10
    for name, item in compiled.items():
        if name != "__version__":
            assert f":: blockjacobi.{name}\n" in page
            assert documentation(getattr(stated, name)) == documentation(item), name


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples(example, tmp_path):
    arguments = []
    if example.stem == "blocks_of_a_real_system":
        scipy.io.mmwrite(tmp_path / "system.mtx", elasticity_like(12, 3))
        arguments = ["system.mtx"]
    assert run(example, *arguments, folder=tmp_path)


@pytest.mark.parametrize("page", ["README.md", "python/README.md"])
def test_snippets_of(page, tmp_path):
    text = (ROOT / page).read_text(encoding="utf-8")
    snippets = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert snippets
    for snippet in snippets:
        (tmp_path / "snippet.py").write_text(snippet, encoding="utf-8")
        printed = run("snippet.py", folder=tmp_path)
        assert "converged" in printed and "not converged" not in printed


def test_doctest_of_the_package():
    import doctest

    assert doctest.testmod(bj).failed == 0 and doctest.testmod(bj).attempted > 0
