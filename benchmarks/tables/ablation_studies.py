"""What the ablations study: the designs, and the findings of the papers that they are from, by the short names of the
papers in docs/kernels/diary/variants.md."""

import dataclasses
import typing


@dataclasses.dataclass
class Finding:
    source: str  # short name of the paper
    text: str
    paper: str  # what it says of the factor
    operation: str
    slow: tuple  # design, and what is varied (matrices a thread block, width of panels) if not the best
    fast: tuple
    least: dict  # scalar: the paper's factor
    orders: tuple = (1, 512)  # that it speaks of
    claim: str = "gain"  # none: the paper finds that there is no gain; "": not from the paper


@dataclasses.dataclass
class Study:
    title: str
    varied: str  # key of the records
    varied_in_words: str
    unit: str  # "copy": percent of its bandwidth; "tflops"; "gflops"
    operations: dict  # in words
    sweep: tuple  # operation and design of which all numbers are shown
    designs: dict  # in words
    findings: typing.List[Finding]


TINY = Study(
    title="Design variants of tiny LU and inversion",
    varied="matrices_per_cta",
    varied_in_words="matrices a thread block",
    unit="copy",
    operations={"lu": "LU", "inverse": "inversion", "spd_inverse": "inversion of positive definite matrices"},
    sweep=("lu", "1d_registers_lazy"),
    designs={
        "2d_shared_eager": "2D, shared, eager",
        "2d_shared_lazy": "2D, shared, lazy",
        "1d_shared_eager_serial_search": "1D, shared, eager, serial search",
        "1d_shared_eager": "1D, shared, eager",
        "1d_shared_lazy": "1D, shared, lazy",
        "1d_registers_eager": "1D, registers, eager",
        "1d_registers_lazy": "1D, registers, lazy",
        "separate": "LU, interchange, two solves: 4 launches",
        "fused": "fused: 1 launch",
        "general": "this library, of any matrix",
        "definite_by_thread": "sweeps by a thread",
        "definite_by_team": "Gauss-Jordan without a search, by a team",
        "blockjacobi": "this library",
    },
    findings=[
        Finding("2017 paper", "1D against 2D threads, as the paper: shared, eager, one matrix a thread block",
                "6 (s), 4 (d) or more", "lu", ("2d_shared_eager", 1), ("1d_shared_eager_serial_search", 1),
                {"s": 6, "d": 4}),
        Finding("2017 paper", "1D against 2D threads, shared, lazy, best number of matrices", "-",
                "lu", ("2d_shared_lazy", None), ("1d_shared_lazy", None), {}, claim=""),
        Finding("2017 paper", "registers against shared memory, as the paper: 1D, eager, one matrix a thread block",
                "1.6 (s), 1.7 (d) at the large end", "lu", ("1d_shared_eager_serial_search", 1),
                ("1d_registers_eager", 1), {"s": 1.6, "d": 1.7}, (24, 32)),
        Finding("2017 paper", "registers against shared memory, 1D, lazy, same search, best number of matrices", "-",
                "lu", ("1d_shared_lazy", None), ("1d_registers_lazy", None), {}, claim=""),
        Finding("2017 paper", "butterfly against serial search, 1D, shared, eager, best number of matrices", "-",
                "lu", ("1d_shared_eager_serial_search", None), ("1d_shared_eager", None), {}, claim=""),
        Finding("2017 paper", "best of 1..16 matrices a thread block against one, registers, eager, N <= 16", "2 to 3",
                "lu", ("1d_registers_eager", 1), ("1d_registers_eager", None), {"s": 2, "d": 2}, (1, 16)),
        Finding("2017 paper", "the same, N >= 17", "none",
                "lu", ("1d_registers_eager", 1), ("1d_registers_eager", None), {}, (17, 32), "none"),
        Finding("2017 paper", "lazy against eager swap, 1D, registers, best number of matrices",
                "a gain, without a number", "lu", ("1d_registers_eager", None), ("1d_registers_lazy", None), {}),
        Finding("2017 paper", "lazy against eager swap, 1D, shared memory, best number of matrices", "-",
                "lu", ("1d_shared_eager", None), ("1d_shared_lazy", None), {}, claim=""),
        Finding("2017 paper", "inversion in one launch against four, best number of matrices",
                "a gain, without a number", "inverse", ("separate", None), ("fused", None), {}),
        Finding("", "this library against the paper's last LU: 1D, registers, lazy, best number of matrices", "-",
                "lu", ("1d_registers_lazy", None), ("blockjacobi", None), {}, claim=""),
        Finding("", "this library against the paper's fused inversion, best number of matrices", "-",
                "inverse", ("fused", None), ("blockjacobi", None), {}, claim=""),
        Finding("", "definite: sweeps by a thread against the inverse of any matrix", "-",
                "spd_inverse", ("general", None), ("definite_by_thread", None), {}, (4, 12), claim=""),
        Finding("", "definite: by a team, without a search, against the same", "-",
                "spd_inverse", ("general", None), ("definite_by_team", None), {}, claim=""),
    ],
)

BLOCKED = Study(
    title="Design variants of blocked LU and of the inversion after it",
    varied="panel_width",
    varied_in_words="columns of a panel",
    unit="tflops",
    operations={"lu": "LU", "getri": "inversion after LU", "larft": "triangles of reflectors"},
    sweep=("lu", "left_delayed"),
    designs={
        "left_immediate": "left-looking, immediate swap",
        "left_grouped": "left-looking, grouped swap",
        "left_delayed": "left-looking, delayed swap",
        "right_immediate": "right-looking, immediate swap",
        "right_grouped": "right-looking, grouped swap",
        "right_delayed": "right-looking, parallel swap",
        "right_delayed_unblocked": "the same, panel by launches",
        "right_delayed_column": "the same, column blocking",
        "right_delayed_matrix": "the same, matrix blocking",
        "right_delayed_recursive": "the same, recursive panel",
        "timely": "timely correction",
        "delayed_explicit": "delayed correction, columns interchanged in place",
        "delayed": "delayed correction",
        "delayed_dynamic": "delayed correction, dynamic resources",
        "larft_columns": "a column after the other",
        "larft_gram": "all products first",
        "larft_recursive": "by halves",
        "blockjacobi": "this library",
    },
    findings=[
        Finding("inversion paper", "left- against right-looking, grouped swap, panels of 16",
                "a gain, without a number", "lu", ("right_grouped", 16), ("left_grouped", 16), {}),
        Finding("inversion paper", "the same, best width of each", "-",
                "lu", ("right_grouped", None), ("left_grouped", None), {}, claim=""),
        Finding("inversion paper", "delayed against immediate swap, left-looking, panels of 16", "2 to 5",
                "lu", ("left_immediate", 16), ("left_delayed", 16), {"s": 2, "d": 2}),
        Finding("inversion paper", "of that: grouped against immediate swap", "-",
                "lu", ("left_immediate", 16), ("left_grouped", 16), {}, claim=""),
        Finding("inversion paper", "of that: delayed against grouped swap", "-",
                "lu", ("left_grouped", 16), ("left_delayed", 16), {}, claim=""),
        Finding("2015 paper", "parallel against immediate swap, right-looking, panels of 16", "1.8 at 512",
                "lu", ("right_immediate", 16), ("right_delayed", 16), {"s": 1.8, "d": 1.8}),
        Finding("inversion paper", "delayed against timely correction, panels of 8", "a gain, without a number",
                "getri", ("timely", 8), ("delayed", 8), {}),
        Finding("inversion paper", "the same, panels of 16", "a smaller one",
                "getri", ("timely", 16), ("delayed", 16), {}),
        Finding("inversion paper", "columns interchanged in the last copy against in place, panels of 16",
                "a gain, without a number", "getri", ("delayed_explicit", 16), ("delayed", 16), {}),
        Finding("inversion paper", "dynamic against static resources, panels of 8", "up to 1.3",
                "getri", ("delayed", 8), ("delayed_dynamic", 8), {"s": 1.3, "d": 1.3}),
        Finding("inversion paper", "the same, panels of 16", "up to 1.3",
                "getri", ("delayed", 16), ("delayed_dynamic", 16), {"s": 1.3, "d": 1.3}),
        Finding("multi-level paper", "column blocking against none, right-looking, panels of 16",
                "1.1 to 1.4 (panel alone)", "lu", ("right_delayed_unblocked", 16), ("right_delayed_column", 16),
                {"s": 1.1, "d": 1.1}),
        Finding("multi-level paper", "panel against column blocking", "1.5 to 4.8 (panel alone)",
                "lu", ("right_delayed_column", 16), ("right_delayed", 16), {"s": 1.5, "d": 1.5}),
        Finding("multi-level paper", "matrix against panel blocking", "2 up to 32",
                "lu", ("right_delayed", 16), ("right_delayed_matrix", 16), {"s": 2, "d": 2}),
        *(Finding("2015 paper", f"recursive panel against one in registers, panels of {width}",
                  "a gain, without a number", "lu", ("right_delayed", width), ("right_delayed_recursive", width), {})
          for width in (16, 32, 64)),
        *(Finding("2015 paper", f"triangles of reflectors by halves against column by column, panels of {width}",
                  "a gain, without a number", "larft", ("larft_columns", width), ("larft_recursive", width), {})
          for width in (16, 32, 64)),
        *(Finding("", f"the same against all products first, panels of {width}", "-", "larft", ("larft_gram", width),
                  ("larft_recursive", width), {}, claim="") for width in (16, 32, 64)),
        Finding("", "this library against the left-looking LU with delayed swap, best width", "-",
                "lu", ("left_delayed", None), ("blockjacobi", None), {}, claim=""),
        Finding("", "this library against the right-looking LU with parallel swap, best width", "-",
                "lu", ("right_delayed", None), ("blockjacobi", None), {}, claim=""),
        Finding("", "this library against the inversion with delayed correction, dynamic resources, best width", "-",
                "getri", ("delayed_dynamic", None), ("blockjacobi", None), {}, claim=""),
    ],
)

UPDATES = {f"{kind}_{width}": f"{words} of {width} columns" for kind, words in
           (("trailing", "update right of and below the first panel"), ("panel", "update of the panel in the middle"))
           for width in (16, 32)}
ON_HOST = {"lu": "LU on the host", "cholesky": "Cholesky on the host", "qr": "QR on the host"}

CONCURRENCY = Study(
    title="Many matrices at once against one after the other",
    varied="streams",
    varied_in_words="streams",
    unit="gflops",
    operations={**UPDATES, **ON_HOST},
    sweep=("trailing_16", "cublas_streams"),
    designs={
        "cublas_streams": "cuBLAS, a call each, on streams",
        "cublas_batched": "cuBLAS, batched",
        "cublas_strided_batched": "cuBLAS, strided batched",
        "lapack_all_cores": "LAPACK, all cores on one matrix",
        "lapack_one_core": "LAPACK, one core a matrix",
        "blockjacobi": "this library, one core a matrix",
    },
    findings=[
        *(Finding("2015 paper", f"streams against batched, {words}", "up to 1.2, by the shape",
                  operation, ("cublas_batched", None), ("cublas_streams", None), {"s": 1.2, "d": 1.2})
          for operation, words in UPDATES.items()),
        *(Finding("2015 paper", f"one core a matrix against all on one, LAPACK, {words}", "2 to 2.5",
                  operation, ("lapack_all_cores", None), ("lapack_one_core", None), {"s": 2, "d": 2})
          for operation, words in ON_HOST.items()),
        *(Finding("", f"this library against LAPACK, one core a matrix, {words}", "-",
                  operation, ("lapack_one_core", None), ("blockjacobi", None), {}, claim="")
          for operation, words in ON_HOST.items()),
    ],
)

# By what is varied; the first of which a record has something.
STUDIES = [TINY, BLOCKED, CONCURRENCY]
