"""Tables of solves with a coarse level out of a record of `two_level`, with the verdict on the project's targets.

By system and choice of blocks and coarse level: iterations, the first set-up with the solve, and new values of the same
pattern with the solve; in parentheses how many times faster than the best choice without a coarse level. With new values
the best choice has to be 2 times as fast in the geometric mean over the systems.
"""

import math

from tables import records_of

LAND = 2.0
PARTS = {"krylov_solve": "first set-up + solve, ms", "refresh_solve": "new values + solve, ms"}


def converged(record):
    return record["reason"] == "converged"


def has_coarse_level(record):
    return " + " in record["partition"]


def best(records):
    """The shortest time of those that converged; None without one."""
    return min((r["time_ms"] for r in records if converged(r)), default=None)


def cell(record, plain):
    """The times of a solve, and how many times faster it is than the best without a coarse level took."""
    if not converged(record):
        return record["reason"]
    text = f"{record['setup_ms']:.2f} + {record['solve_ms']:.2f}"
    return f"{text} ({plain / record['time_ms']:.2f}x)" if plain and has_coarse_level(record) else text


def report(record):
    """(tables as text, whether the target is met)"""
    systems = {}
    for r in record["records"]:
        systems.setdefault(r["matrix"], {}).setdefault(r["operation"], []).append(r)
    lines, gains = [], []
    for matrix, by_operation in systems.items():
        plain = {part: best([r for r in by_operation[part] if not has_coarse_level(r)]) for part in PARTS}
        known = best(by_operation["refresh_solve"])
        gains.append(plain["refresh_solve"] / known if plain["refresh_solve"] else None)
        lines += ["", f"## {matrix}, {by_operation['refresh_solve'][0]['rows']} rows", "",
                  f"| blocks | iterations | {' | '.join(PARTS.values())} |", "| --- | --: | --: | --: |"]
        for first, again in zip(*(by_operation[part] for part in PARTS)):
            cells = cell(first, plain["krylov_solve"]), cell(again, plain["refresh_solve"])
            lines.append(f"| {again['partition']} | {again['iterations']} | {' | '.join(cells)} |")
    mean = math.exp(sum(map(math.log, gains)) / len(gains)) if gains and all(gains) else None
    head = f"new values + solve {mean:.2f} times as fast with a coarse level in the geometric mean (LAND {LAND})" if mean \
        else "some system was not solved without a coarse level"
    return "\n".join([f"{records_of.head(record)}; {head}", *lines]) + "\n", bool(mean) and mean >= LAND
