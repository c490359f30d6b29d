"""Figures of records, as SVG."""

from tables import ablation

COLOURS = {"s": "tab:blue", "d": "black", "c": "tab:orange", "z": "tab:red"}
PEERS = {"cublas": ":", "cusolver": "-.", "cusparse": "--"}


def peer_of(record):
    """The library, of "cublas getrf" or "cusolver_batched"."""
    return record["implementation"].split()[0].split("_")[0]


def is_plain(record):
    """A row of the main curve: full storage, one right-hand side, a batch, not transposed."""
    return (record["storage"] == "full" and record.get("columns", 1) == 1 and record["batch"] > 1 and "op" not in record
            and record.get("partition", "uniform") == "uniform" and record["time_ms"])


def throughput(values, plt):
    """Percent of the copy bandwidth by order, a panel an operation; above order 32, where arithmetic counts, of the
    floor. Dotted: the libraries of the toolkit in the same run."""
    records = [r for r in values["records"] if is_plain(r)]
    operations = list(dict.fromkeys(r["operation"] for r in records))
    columns = min(3, len(operations))
    rows = -(-len(operations) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(5 * columns, 3.8 * rows), squeeze=False, layout="constrained")
    for panel, operation in zip(axes.flat, operations):
        chosen = [r for r in records if r["operation"] == operation]
        large = max(r["n"] for r in chosen) > 32
        field = "fraction_of_floor" if large else "fraction_of_copy"
        for scalar, colour in COLOURS.items():
            for name, style in {"blockjacobi": "-", **PEERS}.items():
                best = {}
                for r in chosen:
                    if r["scalar"] == scalar and peer_of(r) == name:
                        best[r["n"]] = max(best.get(r["n"], 0), 100 * r[field])
                if best:
                    panel.plot(sorted(best), [best[n] for n in sorted(best)], style, color=colour,
                               linewidth=1.6 if name == "blockjacobi" else 0.9, marker=".", markersize=3,
                               label=scalar if name == "blockjacobi" else f"{scalar}, {name}")
        panel.set(title=operation, xlabel="N", ylabel=f"percent of the {'floor' if large else 'copy bandwidth'}")
        panel.set_ylim(bottom=0)
        if large:
            panel.set_xscale("log", base=2)
        panel.legend(fontsize=6, ncols=2)
    for panel in axes.flat[len(operations):]:
        panel.remove()
    return figure


def solves(values, plt):
    """Iterations against their floor, and whole solves."""
    iterations = [r for r in values["records"] if r["operation"].endswith("_iteration") and r["storage"] == "full"
                  and r["implementation"] == "blockjacobi"]
    whole = {}
    for r in values["records"]:
        if r["operation"] == "krylov_solve" and r["reason"] == "converged" and r["implementation"] == "blockjacobi":
            best = whole.setdefault((r["matrix"], r["solver"]), r)
            whole[r["matrix"], r["solver"]] = min(best, r, key=lambda one: one["time_ms"])
    figure, (left, right) = plt.subplots(1, 2, figsize=(14, 0.25 * max(len(iterations), len(whole)) + 1.6),
                                         layout="constrained")
    names = [f"{r['matrix']}, {r['solver']}, blocks of {r['block']}" for r in iterations]
    left.barh(names, [100 * r["fraction_of_floor"] for r in iterations], color="tab:blue")
    left.set(title="Iterations", xlabel="percent of the floor")
    names = [f"{matrix}, {solver}, {r['partition']}" for (matrix, solver), r in whole.items()]
    right.barh(names, [r["time_ms"] for r in whole.values()], color="tab:blue")
    right.set(title="Whole solves, fastest choice of blocks, and the share of the set-up", xlabel="ms", xscale="log")
    right.bar_label(right.containers[0], [f" {100 * r['setup_ms'] / r['time_ms']:.0f} %" if r["setup_ms"] else ""
                                          for r in whole.values()], fontsize=6)
    for axes in (left, right):
        axes.invert_yaxis()
    return figure


def energy(values, plt):
    """Energy of a matrix, of each implementation."""
    records = [r for r in values["records"] if r.get("energy_j")]
    cases = list(dict.fromkeys((r["operation"], r["n"]) for r in records))
    names = list(dict.fromkeys(r["implementation"] for r in records))
    figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
    for k, name in enumerate(names):
        found = {(r["operation"], r["n"]): 1e6 * r["energy_j"] / r["batch"] for r in records if r["implementation"] == name}
        at = [i for i, case in enumerate(cases) if case in found]
        axes.bar([i + 0.8 * k / len(names) for i in at], [found[cases[i]] for i in at], 0.8 / len(names), label=name)
    axes.set_xticks(range(len(cases)), [f"{operation} {n}" for operation, n in cases], rotation=45)
    axes.set(ylabel="uJ a matrix", yscale="log")
    axes.legend(fontsize=7)
    return figure


def write(values, draw, path):
    """False where there is no matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    # the same bytes from the same record
    matplotlib.rcParams.update({"svg.hashsalt": "blockjacobi", "svg.fonttype": "none", "font.size": 8, "axes.grid": True,
                                "grid.alpha": 0.3})
    import matplotlib.pyplot as plt

    figure = draw(values, plt)
    if draw is not ablation.plot:
        figure.suptitle(f"{values['device']}, {values['date']}")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return True
