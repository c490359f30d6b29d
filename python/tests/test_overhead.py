"""What an application costs beside its arithmetic, as python/benchmarks/apply_overhead.py measures it."""

import pathlib
import runpy

BENCHMARK = pathlib.Path(__file__).resolve().parents[1] / "benchmarks" / "apply_overhead.py"


def test_an_application_through_an_operator_takes_at_most_6_us():
    # The least of many short runs, so that other work on the machine does not count.
    _, times = runpy.run_path(str(BENCHMARK))["measure_on_host"](20)
    assert times["aslinearoperator(M).matvec(r), as M= is used"] <= 6.0
    assert times["M.apply(r, out=out)"] <= times["A @ r"]
