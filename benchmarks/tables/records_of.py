"""Records: files that benchmark programs write, one a GPU and program, all of one schema.

A file says where its figures come from (device, driver, nvcc, copy_gbps, read_gbps, sm_clock_mhz, date, program_sha256,
commit; newer ones also the least and the median clock while the program measured, and what lowered it) and has a list
of records. One of batched work has operation, implementation, scalar, storage, n (order, or the largest one), batch,
pattern (moving or dominant rows; "system" or, where that was stated, "definite" for those of a system), time_ms with its
quartiles, bytes, batch_bytes, flops, fractions of the copy bandwidth and of the floor, error, and matrix where that has a
name, of a system with its rows, nnz, the entries inside of the blocks, singular blocks, and copies where a call was one
of several in turn; one of a solver operation, implementation, scalar, storage, matrix, rows, nnz, block, partition,
solver, iterations, setup_ms, solve_ms, time_ms, bytes, fraction_of_floor, true_residual, reason. What is varied beside
that stands in fields of its own (VARIED).
"""

import json
import statistics

HEAD = ("device", "driver", "nvcc", "copy_gbps", "read_gbps", "sm_clock_mhz", "date", "program_sha256", "commit", "records")
BATCHED = ("operation", "implementation", "scalar", "storage", "n", "batch", "pattern", "time_ms", "time_p25", "time_p75",
           "bytes", "batch_bytes", "flops", "fraction_of_copy", "fraction_of_floor", "error")
SOLVER = ("operation", "implementation", "scalar", "storage", "matrix", "rows", "nnz", "block", "partition", "solver",
          "iterations", "setup_ms", "solve_ms", "time_ms", "bytes", "fraction_of_floor", "true_residual", "reason")
VARIED = ("partition", "op", "columns", "rows", "inner", "streams", "cores", "matrices_per_cta", "panel_width")
# A time that is this much longer than the one on record is slower, not noise.
SLOWER = 1.03


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def faults(values):
    """What a file lacks of the schema."""
    found = [f"no {key}" for key in HEAD if key not in values]
    for number, record in enumerate(values.get("records", [])):
        wanted = SOLVER if "solver" in record else BATCHED
        missing = [key for key in wanted if key not in record]
        if missing:
            found.append(f"record {number}: no {', '.join(missing)}")
    return found


def head(record):
    """The line that says where the figures of a file come from, with the least clock while the program measured. Where the
    program's hash is not known they may be of other code than the commit's."""
    program, least = record.get("program_sha256"), record.get("sm_clock_least_mhz")
    lowered = "".join(f", lowered by {word}" for word in record.get("sm_clock_lowered_by") or [])
    clock = f"clock {least:.0f} MHz or more{lowered}" if least else "clock not read"
    return (f"{record['device']}, driver {record['driver']}, {record['date']}, copy {record['copy_gbps']:.0f} GB/s, {clock}, "
            f"commit {(record.get('commit') or 'not recorded')[:12]}, "
            f"program {program[:12] if program else 'without a hash'}")


def key_of(record):
    """What a record measures, by the words that name it."""
    size = ("matrix", "solver", "block") if "solver" in record else ("matrix", "n", "batch_of_one")
    record = {**record, "batch_of_one": record.get("batch") == 1 or None,
              "pattern": "definite" if record.get("pattern") == "definite" else None}
    return tuple((name, record[name]) for name in ("operation", "implementation", "scalar", "storage", *size, "pattern", *VARIED)
                 if record.get(name) not in (None, ""))


def time_of(record):
    """In ms a matrix, since the size of a batch may follow from the memory; of a solve in all. None without one."""
    return record["time_ms"] and record["time_ms"] / record.get("batch", 1)


def words_of(key):
    return " ".join(str(value) if name in ("operation", "scalar", "matrix", "solver", "pattern") else f"{name} {value}"
                    for name, value in key if name not in ("implementation", "batch_of_one")
                    and (name, value) != ("storage", "full"))


def comparison(before, after):
    """(lines, rows that are slower) of the rows of this library in both files."""
    times = [{key_of(r): time_of(r) for r in values["records"] if r["implementation"] == "blockjacobi"}
             for values in (before, after)]
    ratios = {key: times[1][key] / time for key, time in times[0].items() if time and times[1].get(key)}
    if not ratios:
        return ["no row is in both records"], []
    slower = sorted((key for key in ratios if ratios[key] > SLOWER), key=lambda key: -ratios[key])
    faster = sum(ratio < 1 / SLOWER for ratio in ratios.values())
    lines = [f"beside the record of {before['date']}, commit {(before.get('commit') or 'not recorded')[:12]}: "
             f"{len(ratios)} rows, median time {statistics.median(ratios.values()):.3f} of it, "
             f"{len(slower)} slower and {faster} faster by more than 3 %"]
    lines += [f"  slower {ratios[key]:.3f}: {words_of(key)}" for key in slower]
    for name, one, other in (("only on record", *times), ("new", *reversed(times))):
        alone = [key for key in one if key not in other]
        if alone:
            lines.append(f"  {name}: {len(alone)} rows, {words_of(alone[0])}{' ...' if len(alone) > 1 else ''}")
    return lines, slower
