"""Right-hand sides that blockjacobi-solve does not make itself, written as Matrix Market files. Needs numpy.

- random: b = A x with x = numpy.random.default_rng(1).standard_normal(n). Inferred: of the generators tried (uniform
  and normal, several engines and seeds) it alone gave the reference's counts on the four systems it was tried on;
- perturbed: a right-hand side with each element changed by at most two units in the last place, which shows how much
  of an iteration count is rounding.
"""

import gzip

import numpy


def read_triplets(path):
    """rows, columns (0-based), values and n of a coordinate file, with symmetry expanded."""
    with gzip.open(path, "rt", encoding="ascii") as file:
        _, _, _, field, symmetry = file.readline().lower().split()
        line = file.readline()
        while line.startswith("%"):
            line = file.readline()
        n = int(line.split()[0])
        numbers = numpy.array(file.read().split(), dtype=float)
    columns = {"pattern": 2, "complex": 4}.get(field, 3)
    table = numbers.reshape(-1, columns)
    row, col = (table[:, k].astype(int) - 1 for k in (0, 1))
    if field == "complex":
        value = table[:, 2] + 1j * table[:, 3]
    else:
        value = numpy.ones(len(table)) if field == "pattern" else table[:, 2]
    if symmetry != "general":
        below = row != col
        mirrored = {"symmetric": value, "hermitian": numpy.conj(value), "skew-symmetric": -value}[symmetry]
        row, col, value = (numpy.concatenate(pair) for pair in
                           ((row, col[below]), (col, row[below]), (value, mirrored[below])))  # fmt: skip
    return row, col, value, n


def multiply(triplets, x):
    row, col, value, n = triplets
    product = value * x[col]
    b = numpy.bincount(row, product.real, n)
    return b + 1j * numpy.bincount(row, product.imag, n) if numpy.iscomplexobj(product) else b


def write(path, b):
    with open(path, "w", encoding="ascii") as file:
        if numpy.iscomplexobj(b):
            file.write(f"%%MatrixMarket matrix array complex general\n{len(b)} 1\n")
            file.writelines(f"{float(v.real)!r} {float(v.imag)!r}\n" for v in b)
        else:
            file.write(f"%%MatrixMarket matrix array real general\n{len(b)} 1\n")
            file.writelines(f"{float(v)!r}\n" for v in b)


def write_right_hand_side(matrix, path, random, perturbation=0):
    """b = A x of the reference's random x, or A * ones; `perturbation` > 0 numbers a perturbed one."""
    triplets = read_triplets(matrix)
    n = triplets[3]
    b = multiply(triplets, numpy.random.default_rng(1).standard_normal(n) if random else numpy.ones(n))
    if perturbation > 0:
        b = b * (1 + numpy.finfo(float).eps * numpy.random.default_rng(1000 + perturbation).integers(-1, 2, n))
    write(path, b)
