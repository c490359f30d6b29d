"""The library's own solvers, and M= in those of SciPy."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from systems import elasticity_like, random_matrix, random_numbers, tolerance

import blockjacobi as bj

SYSTEM = elasticity_like(20, 3)
RHS = SYSTEM @ random_numbers(SYSTEM.shape[0], "float64", 9)


def unsymmetric(n=400, dtype="float64"):
    A = sp.diags_array([-1.4, 2.6, -0.6, 0.3], offsets=[-1, 0, 1, 20], shape=(n, n))
    return sp.csr_array(A.astype(dtype))


class Counter:
    def __init__(self):
        self.count = 0

    def __call__(self, *_):
        self.count += 1


def residual(A, x, b):
    return np.linalg.norm(b - A @ x) / np.linalg.norm(b)


# Both stop at the same residual of the same recurrence, but for the order of sums and what is checked when.
@pytest.mark.parametrize("blocks", [1, 3, 12, "coupled", "labels"])
def test_cg_takes_as_many_iterations_as_scipys(blocks):
    if blocks == "labels":
        blocks = bj.partition.from_labels(np.arange(SYSTEM.shape[0]) // 3 % 100)
    M = bj.BlockJacobi(SYSTEM, blocks)
    theirs = Counter()
    x, status = spla.cg(SYSTEM, RHS, M=M, rtol=1e-8, callback=theirs)
    ours = bj.solve(SYSTEM, RHS, M, rtol=1e-8)
    assert status == 0 and ours.report.converged
    assert abs(ours.report.iterations - theirs.count) <= max(2, 0.02 * theirs.count)
    for solution in (x, ours.x):
        assert residual(SYSTEM, solution, RHS) <= 1.1e-8


def test_blocks_pay():
    counts = {}
    for blocks in (None, 1, 3):
        M = None if blocks is None else bj.BlockJacobi(SYSTEM, blocks)
        counts[blocks] = bj.solve(SYSTEM, RHS, M).report.iterations
    assert counts[3] < counts[1] < counts[None]


@pytest.mark.parametrize("solver", ["gmres", "bicgstab", "minres", "lgmres", "gcrotmk", "bicg", "cgs", "qmr"])
def test_solvers_of_scipy(solver):
    symmetric = solver == "minres"
    A = SYSTEM if symmetric else unsymmetric()
    b = A @ np.ones(A.shape[0])
    M = bj.BlockJacobi(A, 3 if symmetric else 8)
    preconditioner = {"M1": M, "M2": spla.aslinearoperator(sp.eye_array(A.shape[0]))} if solver == "qmr" else {"M": M}
    counts = []
    for options in (preconditioner, {}):
        counter = Counter()
        extra = {"callback_type": "pr_norm"} if solver == "gmres" else {}
        x, status = getattr(spla, solver)(A, b, rtol=1e-9, callback=counter, maxiter=2000, **options, **extra)
        counts.append(counter.count)
        if options:
            assert status == 0 and residual(A, x, b) <= 1e-6
    assert counts[0] < counts[1]


@pytest.mark.parametrize("solver", ["gmres", "bicgstab"])
def test_counts_of_scipys_unsymmetric_solvers(solver):
    A = unsymmetric()
    b = A @ np.ones(A.shape[0])
    M = bj.BlockJacobi(A, 8)
    theirs = Counter()
    extra = {"callback_type": "pr_norm", "restart": 30} if solver == "gmres" else {}
    _, status = getattr(spla, solver)(A, b, M=M, rtol=1e-8, callback=theirs, **extra)
    ours = bj.solve(A, b, M, method=solver)
    assert status == 0 and ours.report.converged
    # SciPy preconditions GMRES from the left: another residual is minimized.
    assert abs(ours.report.iterations - theirs.count) <= max(3, 0.15 * theirs.count)


@pytest.mark.parametrize("method", ["cg", "fcg", "minres", "bicgstab", "gmres", "fgmres", "richardson"])
def test_methods(method, dtype):
    A = elasticity_like(8, 2, dtype)
    if method == "richardson":
        A = random_matrix(60, dtype)
    x0 = random_numbers(A.shape[0], dtype, 1)
    b = A @ x0
    rtol = 1e-4 if tolerance(dtype) > 1e-6 else 1e-8
    result = bj.solve(A, b, bj.BlockJacobi(A, 4), method=method, rtol=rtol, max_iterations=5000)
    assert result.report.converged and result.x.dtype == b.dtype
    assert residual(A, result.x, b) <= 1.1 * rtol
    warm = bj.solve(A, b, bj.BlockJacobi(A, 4), method=method, rtol=rtol, x0=result.x.copy())
    assert warm.report.iterations < result.report.iterations


def test_bsr_and_wide_indices():
    B = sp.bsr_array(SYSTEM, blocksize=(3, 3))
    expected = bj.solve(SYSTEM, RHS, bj.BlockJacobi(SYSTEM, 3)).report.iterations
    assert abs(bj.solve(B, RHS, bj.BlockJacobi(B)).report.iterations - expected) <= 1
    A = SYSTEM.copy()
    A.indptr, A.indices = A.indptr.astype("int64"), A.indices.astype("int64")
    assert bj.solve(A, RHS, bj.BlockJacobi(A, 3)).report.iterations == expected


def test_report():
    x, report = bj.solve(SYSTEM, RHS, bj.BlockJacobi(SYSTEM, 3))
    assert report.reason == "converged" and report.converged
    assert report.history.shape == (report.iterations + 1,) and report.history[0] == report.initial_residual
    assert report.rhs_norm == pytest.approx(np.linalg.norm(RHS))
    assert report.true_residual == pytest.approx(np.linalg.norm(RHS - SYSTEM @ x), rel=1e-6)
    assert report.relative_residual == report.true_residual / report.rhs_norm <= 1e-8
    assert report.residual_gap < 1e-10 and report.seconds > 0
    assert report.to_dict()["iterations"] == report.iterations
    assert len(report.to_dict()["history"]) == report.iterations + 1
    assert str(report).startswith("converged after") and "converged" in repr(report)
    assert bj.solve(SYSTEM, RHS, history=False).report.history.size == 0


def test_options_reach_the_solver():
    M = bj.BlockJacobi(SYSTEM, 3)
    assert bj.solve(SYSTEM, RHS, M, max_iterations=5).report.reason == "max_iterations"
    assert bj.solve(SYSTEM, RHS, M, atol=1e300).report.iterations == 0
    assert bj.solve(SYSTEM, RHS, M, max_seconds=1e-9).report.reason == "time_limit"
    loose, tight = (bj.solve(SYSTEM, RHS, M, rtol=rtol).report.iterations for rtol in (1e-2, 1e-10))
    assert loose < tight
    by_rhs, by_start = (bj.solve(SYSTEM, RHS, M, x0=1e4 * np.ones(len(RHS)), relative_to=to).report.iterations
                        for to in ("rhs", "initial_residual"))
    assert by_start < by_rhs
    short, long = (bj.solve(SYSTEM, RHS, M, method="gmres", restart=m).report.iterations for m in (5, 80))
    assert long < short
    assert bj.solve(SYSTEM, RHS, M, method="gmres", basis="single").report.converged
    assert bj.solve(SYSTEM, RHS, M, resident="never").report.converged
    assert bj.solve(SYSTEM, RHS, M, method="richardson", relaxation=5.0, max_iterations=50).report.reason != "converged"


@pytest.mark.parametrize("kind", ["cg", "gmres"])
def test_the_default_of_rtol_can_be_reached(kind, dtype):
    A = (SYSTEM if kind == "cg" else unsymmetric()).astype(dtype)
    b = A @ random_numbers(A.shape[0], dtype, 9)
    report = bj.solve(A, b, bj.BlockJacobi(A, 3), method=kind).report
    expected = 10 * np.finfo(np.float32).eps if dtype in ("float32", "complex64") else 1e-8
    assert report.converged and report.relative_residual <= expected
    same = bj.solve(A, b, bj.BlockJacobi(A, 3), method=kind, rtol=expected).report
    assert same.iterations == report.iterations
    assert bj.suggest(A, method=kind).best.iterations > 0


def test_progress():
    M, seen = bj.BlockJacobi(SYSTEM, 3), []
    report = bj.solve(SYSTEM, RHS, M, progress=lambda p: seen.append((p.iteration, p.residual, p.target))).report
    assert report.converged and seen[-1][0] >= report.iterations - 1 > 5
    assert all(a[0] < b[0] for a, b in zip(seen, seen[1:]))
    assert seen[0][2] == pytest.approx(1e-8 * report.rhs_norm)
    stopped = bj.solve(SYSTEM, RHS, M, progress=lambda p: p.iteration < 7).report
    assert stopped.reason == "user_stop" and 7 <= stopped.iterations <= 8

    described = []
    bj.solve(SYSTEM, RHS, M, progress=lambda p: described.append((repr(p), p.residual, p.target)))
    text, residual, target = described[0]
    assert text == f"<blockjacobi.SolveProgress: iteration 0, residual {residual:.3g}, target {target:.3g}>"

    for no in (False, np.False_, 0):
        assert bj.solve(SYSTEM, RHS, M, progress=lambda p, no=no: no).report.reason == "user_stop"
    for yes in (None, True, np.True_, 1):
        assert bj.solve(SYSTEM, RHS, M, progress=lambda p, yes=yes: yes).report.converged
    with pytest.raises(ValueError, match="truth value"):
        bj.solve(SYSTEM, RHS, M, progress=lambda p: np.zeros(2))

    def fails(progress):
        if progress.iteration == 3:
            raise KeyError("three")

    with pytest.raises(KeyError, match="three"):
        bj.solve(SYSTEM, RHS, M, progress=fails)


def test_an_interrupt_ends_a_solve():
    import signal

    def interrupt(progress):
        if progress.iteration == 3:
            signal.raise_signal(signal.SIGINT)

    # SIGINT too: a shell starts what runs in the background with the signal ignored.
    numbers = (signal.SIGINT, signal.SIGALRM)
    old = [signal.signal(number, signal.default_int_handler) for number in numbers]
    try:
        with pytest.raises(KeyboardInterrupt):
            bj.solve(SYSTEM, RHS, progress=interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):  # without a callback
            bj.solve(SYSTEM, RHS, rtol=0.0, atol=0.0, method="richardson", relaxation=1e-9, max_iterations=2**30,
                     history=False)
    finally:
        for number, handler in zip(numbers, old):
            signal.signal(number, handler)


def test_it_does_not_converge_is_no_error():
    A = sp.csr_array(np.diag([1.0, -2.0]))
    assert bj.solve(A, np.ones(2)).report.reason == "indefinite_matrix"
    b = np.array([np.nan, 1.0])
    assert bj.solve(A, b, method="gmres").report.reason == "nan_or_inf"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda A, b, M: bj.solve(A, b[:-1], M), f"b has {len(RHS) - 1} elements, must have {len(RHS)}"),
        (lambda A, b, M: bj.solve(A, b.astype("float32"), M), "b is of float32, must be of float64"),
        (lambda A, b, M: bj.solve(A, b.reshape(-1, 1, 1), M), "b has 3 dimensions"),
        (lambda A, b, M: bj.solve(A, np.repeat(b, 2)[::2], M), r"b has the strides \(2,\)"),
        (lambda A, b, M: bj.solve(A, b, M, x0=b[:-1]), "x0 has the shape"),
        (lambda A, b, M: bj.solve(A, b, M, x0=b.astype("float32")), "x0 .* float32"),
        (lambda A, b, M: bj.solve(A, b, M, method="sor"), 'method is "sor", must be one of cg, fcg'),
        (lambda A, b, M: bj.solve(A, b, M, relative_to="x"), 'relative_to is "x"'),
        (lambda A, b, M: bj.solve(A, b, M, basis="half"), 'basis is "half"'),
        (lambda A, b, M: bj.solve(A, b, M, resident="always"), 'resident is "always"'),
        (lambda A, b, M: bj.solve(A, b, M, method="gmres", restart=0), "restart"),
        (lambda A, b, M: bj.solve(A, b, M, max_iterations=-1), "max_iterations"),
        (lambda A, b, M: bj.solve(A, b, M, rtol=-1.0), "rtol is -1"),
        (lambda A, b, M: bj.solve(A, b, M, atol=-1.0), "atol is -1"),
        (lambda A, b, M: bj.solve(A, b, M, max_seconds=-1.0), "max_seconds is -1"),
        (lambda A, b, M: bj.solve(A, b, M, method="richardson", relaxation=0.0), "relaxation is 0"),
        (lambda A, b, M: bj.solve(A, np.stack([b, b], axis=1), M, method="fcg"),
         'method for several columns is "fcg", must be one of cg, gmres'),
        (lambda A, b, M: bj.solve(A, np.ones((9, 2)), M), r"b has the shape \(9, 2\), must have"),
        (lambda A, b, M: bj.solve(A, np.ones((len(b), 2), "float32"), M), "b is of float32, must be of float64"),
        (lambda A, b, M: bj.solve(A.astype("float32"), b.astype("float32"), M), "A is of float32, M of float64"),
        (lambda A, b, M: bj.solve(A[:9, :9], b[:9], M), "9"),
        (lambda A, b, M: bj.solve(A, b, M, backend=bj.Backend.host(1)), "M's is"),
    ],
)
def test_misuse(call, words):
    with pytest.raises(bj.InvalidArgument, match=words):
        call(SYSTEM, RHS, bj.BlockJacobi(SYSTEM, 3))


def test_types():
    with pytest.raises(TypeError, match="choice must be a Suggestion or one of its candidates"):
        bj.preconditioner(SYSTEM, 3)
    with pytest.raises(TypeError, match="M must be a BlockJacobi, a TwoLevel, a Multigrid, a Suggestion or None"):
        bj.solve(SYSTEM, RHS, sp.eye_array(len(RHS)))
    with pytest.raises(TypeError, match="list"):
        bj.solve(SYSTEM, list(RHS))
    with pytest.raises(TypeError, match="solve: x0 must be an array of NumPy, CuPy or PyTorch.*list"):
        bj.solve(SYSTEM, RHS, x0=list(RHS))


@pytest.mark.parametrize("method", ["cg", "gmres"])
def test_suggest(method):
    found = bj.suggest(SYSTEM, method=method, probe_share=1.0)
    assert found.candidates[0].name == "scalar" and found.best.name == found.candidates[found.recommended].name
    assert found.blocks_pay == (found.recommended != 0)
    assert all(0 <= candidate.captured <= 1 for candidate in found.candidates)
    assert any(candidate.probed for candidate in found.candidates) and found.probe_seconds > 0
    assert found.best.seconds >= found.best.setup_seconds > 0 and found.best.bytes > 0
    assert found.best.iterations > 0 and found.best.iteration_seconds > 0 and not found.best.failed
    assert found.to_dict()["candidates"][0]["name"] == "scalar"
    assert found.best.name in str(found) and found.best.name in repr(found) and found.best.name in repr(found.best)
    for each in found.candidates:
        M = bj.preconditioner(SYSTEM, each)
        assert M.partition == each.blocks and isinstance(M, bj.BlockJacobi) == (each.coarse is None)
        assert each.multigrid is None
        assert bj.solve(SYSTEM, RHS, M, method=method).report.converged
    assert bj.solve(SYSTEM, RHS, found, method=method).report.converged


def test_suggest_names_an_entry_that_is_not_finite():
    A = SYSTEM.copy().tocsr()
    row = A.shape[0] // 2
    A.data[A.indptr[row]] = np.nan
    found = bj.suggest(A)
    assert found.non_finite == (row, A.indices[A.indptr[row]]) and not found.blocks_pay
    assert "NaN or Inf" in str(found) and found.to_dict()["non_finite"] == list(found.non_finite)
    assert bj.suggest(SYSTEM).non_finite is None


def test_suggest_weighs_a_coarse_level(monkeypatch):
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(100, 100))
    A = sp.csr_array(sp.kronsum(line, line))
    b = A @ random_numbers(A.shape[0], "float64", 9)
    host = bj.Backend.host(1)
    found = bj.suggest(A, probe_share=1.0, backend=host)
    joined = next(each for each in found.candidates if each.coarse is not None)
    assert joined.coarse["mode"] == "adef2" and joined.name.endswith((" + ones", " + relaxed 4"))
    M = bj.preconditioner(A, joined, backend=host)
    assert isinstance(M, bj.TwoLevel) and M.report().mode == "adef2"
    alone = bj.solve(A, b, bj.BlockJacobi(A, joined.blocks, backend=host)).report
    assert bj.solve(A, b, M).report.iterations < 0.8 * alone.iterations
    assert all(each.coarse is None for each in bj.suggest(A, probe_share=1.0, coarse=False, backend=host).candidates)
    monkeypatch.setattr(bj._core, "Suggestion", SimpleNamespace)
    recommends_it = SimpleNamespace(best=joined)
    for refused in (bj.BlockJacobi, lambda A, blocks: bj.TwoLevel(A, blocks=blocks)):
        with pytest.raises(bj.InvalidArgument, match=r"has a coarse level: preconditioner\(A, suggestion\)"):
            refused(A, recommends_it)
    assert isinstance(bj.preconditioner(A, recommends_it), bj.TwoLevel)
    assert bj.solve(A, b, recommends_it, backend=host).report.iterations < 0.8 * alone.iterations


def test_suggest_weighs_a_multigrid():
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(600, 600))
    A = sp.csr_array(sp.kronsum(line, line))
    b = A @ random_numbers(A.shape[0], "float64", 9)
    host = bj.Backend.host(1)
    found = bj.suggest(A, backend=host)
    best = found.best
    assert best.name.endswith(" + multigrid") and best.coarse is None
    assert best.multigrid == {"coarsest": 512, "relaxed": 0}
    assert found.to_dict()["candidates"][found.recommended]["multigrid"] is True
    M = bj.preconditioner(A, found, backend=host)
    assert isinstance(M, bj.Multigrid) and M.partition == best.blocks and len(M.report().levels) > 2
    report = bj.solve(A, b, found, backend=host).report
    assert report.converged and report.iterations < 40
    assert all(each.multigrid is None for each in bj.suggest(A, coarse=False, backend=host).candidates)
    for refused in (bj.BlockJacobi, lambda A, blocks: bj.TwoLevel(A, blocks=blocks)):
        with pytest.raises(bj.InvalidArgument, match=r"has a multigrid: preconditioner\(A, suggestion\)"):
            refused(A, found)


def test_suggest_knows_the_nodes_of_block_rows():
    A = sp.bsr_array(elasticity_like(12, 3), blocksize=(3, 3))
    node = next(each for each in bj.suggest(A).candidates if each.name == "node")
    assert node.blocks == bj.partition.uniform(A.shape[0], 3)


def test_suggest_misuse():
    for options, words in (({"method": "sor"}, "sor"), ({"rtol": 2.0}, "rtol"), ({"probe_share": 2.0}, "probe_share"),
                           ({"method": "gmres", "restart": 0}, "restart")):
        with pytest.raises(bj.InvalidArgument, match=words):
            bj.suggest(SYSTEM, **options)
    with pytest.raises(bj.InvalidArgument):
        bj.suggest(SYSTEM[:5])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("method", ["cg", "gmres"])
def test_several_right_hand_sides(method, order, dtype):
    A = SYSTEM.astype(dtype)
    n = A.shape[0]
    M = bj.BlockJacobi(A, 3)
    b = np.array(np.stack([A @ random_numbers(n, dtype, 20 + c) for c in range(11)], axis=1), order=order)
    b[:, 4] = 0
    rtol = 1e-5 if dtype in ("float32", "complex64") else 1e-9
    x, reports = bj.solve(A, b, M, method=method, rtol=rtol)
    assert x.shape == b.shape and x.dtype == b.dtype and len(reports) == 11
    for c, report in enumerate(reports):
        assert report.converged
        alone = bj.solve(A, np.ascontiguousarray(b[:, c]), M, method=method, rtol=rtol)
        assert abs(report.iterations - alone.report.iterations) <= max(2, 0.02 * alone.report.iterations)
        if c != 4:
            assert residual(A, x[:, c], b[:, c]) <= 1.1 * rtol + 1e-6 * (dtype in ("float32", "complex64"))
    assert not x[:, 4].any() and reports[4].iterations == 0


def test_several_right_hand_sides_by_renumbered_blocks():
    A = unsymmetric()
    n = A.shape[0]
    M = bj.BlockJacobi(A, bj.partition.from_labels(np.arange(n) % 50))
    b = np.stack([A @ random_numbers(n, "float64", c) for c in range(3)], axis=1)
    x0 = np.stack([random_numbers(n, "float64", 30 + c) for c in range(3)], axis=1)
    x, reports = bj.solve(A, b, M, method="gmres", x0=x0)
    for c in range(3):
        alone = bj.solve(A, b[:, c].copy(), M, method="gmres", x0=x0[:, c].copy())
        assert reports[c].converged and abs(reports[c].iterations - alone.report.iterations) <= 2
        assert residual(A, x[:, c], b[:, c]) <= 1.1e-8


def test_progress_of_several_right_hand_sides_ends_them():
    b = np.stack([RHS, 2 * RHS], axis=1)
    reports = bj.solve(SYSTEM, b, progress=lambda p: p.iteration < 3).report
    assert [report.reason for report in reports] == ["user_stop", "user_stop"]
