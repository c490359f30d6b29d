"""Seeds of the fuzzers that take choices instead of text.

FuzzedDataProvider reads choices from the end of the input, the first byte of each the most significant one, and takes
the least where nothing is left. Functions here write what those of their names in csr_input.hpp, c_api_fuzz.cpp and
partition_fuzz.cpp read, arguments from left to right as clang evaluates them; bytes(N) are N zeros, which mean right
arguments.
"""

MOST_ROWS = 16


def index(value, least, most):
    return (value - least).to_bytes(((most - least).bit_length() + 7) // 8, "big")


def flag(value):
    return index(value, 0, 1)


def wild(value, least, most):
    return index(0, 0, 15) + index(value, least, most)


def real(value):
    return index(14, 0, 31) + index(round(8 * value), -100, 100)


def indices(values, most, first, last):
    return index(len(values), 0, most) + b"".join(wild(value, first, last) for value in values)


def scalar(value, parts):
    return real(value) + index(0, 0, 31) * (parts - 1)


def matrix(rows, parts):
    """Tridiagonal and definite."""
    columns = [[j for j in (i - 1, i, i + 1) if 0 <= j < rows] for i in range(rows)]
    read = index(rows, 0, MOST_ROWS) + index(0, 0, 3) + flag(0) + index(0, 0, 31)
    read += b"".join(index(len(row), 0, 4) for row in columns) + index(0, 0, 3)
    for i, row in enumerate(columns):
        read += b"".join(index(j, 0, rows - 1) + scalar(4 if i == j else -1, parts) for j in row)
    return read


SCALARS = "sdcz"  # bj_scalar


def session(kind, steps, rows=6):
    """Objects of a matrix with blocks of order 2, and steps with them."""
    parts = 2 if kind in "cz" else 1
    read = index(SCALARS.index(kind), 0, 3) + flag(1) + matrix(rows, parts)
    read += scalar(1, parts) * MOST_ROWS + index(0, 0, 31) * parts * MOST_ROWS
    read += flag(0) + flag(0) + index(2, 1, 8)
    read += flag(1) + bytes(3) + policy(0) + bytes(4)  # create_block_jacobi
    read += bytes(5)  # create_operator
    return read + b"".join(steps)


def policy(value):
    return index(0, 0, 7) + index(4 - value, 0, 4)


def step(number, *choices):
    return index(number, 0, 13) + b"".join(choices)


def solve_options():
    return index(0, 0, 15) + index(20, 0, 40) + flag(0)


def refresh(kind):
    return step(3, index(kind, 0, 3), bytes(2 if kind == 2 else 4))


def apply(kind, parts, rows):
    columns = bytes(3) + index(rows, -1, 16) + bytes(2) + index(rows, -1, 16) + bytes(1) + index(2, -1, 16)
    arguments = columns + wild(0, -1, 2) + bytes(1) if kind == 2 else bytes(5)
    return step(4, bytes(2), scalar(2, parts), scalar(1, parts), index(kind, 0, 2), arguments)


def ask_block_jacobi(kind):
    return step(5, index(kind, 0, 6), bytes({4: 5, 6: 3}.get(kind, 2)))


def solve(method):
    return step(6, solve_options(), index(method, 0, 6), bytes(8))


def solve_columns(by_cg, rows):
    return step(13, solve_options(), flag(by_cg), index(0, 0, 7), index(3, 1, 4), bytes(3), index(rows, -1, 16), bytes(1),
                index(rows, -1, 16), bytes(1), wild(0, -1, 2), bytes(3))


def enqueue(by_cg):
    return step(7, solve_options(), flag(by_cg), bytes(4), bytes(6))


def texts(kind):
    return step(8, index(250, 0, 299), bytes(1), index(kind, 0, 6), bytes(3 if kind in (3, 4) else 2))


def create_two_level(mode):
    coarse = index(0, 0, 7) + index(mode, 0, 3) + wild(3, -1, 16) + bytes(2) + flag(0)
    return step(10, policy(0), coarse, bytes(6), bytes(2), bytes(5))


def create_multigrid():
    options = index(0, 0, 7) + index(2, 1, 4) + bytes(3) + flag(0)
    return step(12, policy(0), options, bytes(6), bytes(2), bytes(1))


def suggest():
    options = wild(0, -1, 2) + real(0.125) + real(0.5) + wild(20, -1, 30) + bytes(1)
    text = index(250, 0, 299) + bytes(3)
    return step(11, options, bytes(4), bytes(3), text, text, wild(0, -1, 6), bytes(4))


def detect(number, parts):
    options = index(8, -1, 20) + real(0) + index(1, 0, 3) + real(0)
    order = indices([3, 2, 1, 0, 5, 4], 20, -1, 20)
    return index(number, 0, 7) + matrix(6, parts) + options + order


SEEDS = {
    "c_api": {
        "solves": session("s", [solve(method) for method in range(7)]),
        "two_levels": session("d", [call for mode in range(4) for call in (create_two_level(mode), solve(0))]),
        "multigrids": session("d", [create_multigrid(), solve(0), texts(6), refresh(0), solve(2)]),
        "enqueued": session("c", [enqueue(1), refresh(2), enqueue(1), enqueue(0), refresh(0), enqueue(0)]),
        "applications": session("z", [apply(0, 2, 4), refresh(0), apply(1, 2, 4), refresh(1), apply(2, 2, 4)], rows=4),
        "questions": session("d", [ask_block_jacobi(kind) for kind in range(7)]),
        "texts": session("s", [texts(kind) for kind in range(5)] + [create_two_level(0), texts(5)]),
        "columns": session("d", [solve_columns(1, 6), solve_columns(0, 6), create_two_level(0), solve_columns(1, 6)]),
        "columns_of_no_rows": session("s", [solve_columns(by_cg, 0) for by_cg in (1, 0)], rows=0),
        "suggested": session("d", [suggest(), solve(2), texts(2)]),
    },
    "partition": {
        "detected": detect(0, 1),
        "detected_complex": detect(1, 2),
        "detected_single": detect(2, 1),
        "offsets": index(3, 0, 7) + indices([0, 1, 3, 9, 512], 20, -2, 600),
        "labels": index(4, 0, 7) + indices([2, 0, 0, 1, 2, 0, 1, 1], 600, -1, 2),
        "permutation": index(5, 0, 7) + indices([2, 0, 3, 1], 20, -1, 20),
        "uniform": index(6, 0, 7) + index(1000, -1, 2000) + index(7, -1, 600),
    },
}


def write(name, folder):
    """Those of a fuzzer."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, read in SEEDS.get(name, {}).items():
        (folder / seed).write_bytes(read[::-1])
