"""The figures of the page on grading a class, drawn from what the benchmark measured."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import ScalarFormatter

from refcells.figures.style import COLOURS, INK, MUTED, CourseFigure, figure, in_style

__all__ = ["class_growth", "grading_rates", "more_workers"]


@in_style
def grading_rates(rows: Sequence[Mapping[str, Any]]) -> CourseFigure:
    """Submissions a minute of each notebook under stock nbgrader and here, as pairs of bars.

    Args:
        rows: the benchmark's: `what`, `per_minute` with `stock` and `here`, `ratio`.
    """
    fig, ax = figure(5.0, 0.75 * len(rows) + 1.0)
    most = max(row["per_minute"]["here"] for row in rows)
    for k, row in enumerate(rows):
        rates = row["per_minute"]
        ax.barh(k - 0.18, rates["stock"], 0.32, color=MUTED, label="nbgrader autograde" if k == 0 else None)
        ax.barh(
            k + 0.18, rates["here"], 0.32, color=COLOURS["blue"], label="classroom grade" if k == 0 else None
        )
        ax.text(
            rates["here"] + 0.02 * most,
            k + 0.18,
            f"{row['ratio']:.1f} times",
            va="center",
            fontsize=10,
            color=INK,
        )
    ax.set_yticks(range(len(rows)), [f"{row['what']}" for row in rows])
    ax.set(xlim=(0, 1.22 * most), ylim=(len(rows) - 0.5, -0.55), xlabel="submissions a minute")
    ax.grid(False, axis="y")
    ax.set_axisbelow(True)
    fig.legend(loc="outside upper left", ncols=2)
    return fig


@in_style
def class_growth(runs: Sequence[Mapping[str, Any]], fit: Mapping[str, float]) -> CourseFigure:
    """Time of a run by the size of the class, with the line through it, and the grader's and a worker's memory.

    Args:
        runs: the benchmark's: `submissions`, `seconds`, `megabytes` with `grader` and `worker`.
        fit: `start` and `each`, in seconds.
    """
    fig, (above, below) = figure(5.0, 4.6, rows=2, sharex=True)
    sizes = np.array([run["submissions"] for run in runs])
    above.plot(sizes, [run["seconds"] for run in runs], "o", color=COLOURS["blue"], ms=5)
    ends = np.array([0, sizes.max()])
    above.plot(ends, fit["start"] + fit["each"] * ends, "-", color=COLOURS["blue"], lw=1.3)
    above.set(ylabel="seconds", ylim=(0, None))
    for name, colour, marker in (("worker", COLOURS["orange"], "s"), ("grader", COLOURS["green"], "^")):
        peaks = [run["megabytes"][name] for run in runs]
        below.plot(
            sizes, peaks, marker, color=colour, ms=5, label=f"the {name}" if name == "grader" else "a worker"
        )
    most = max(run["megabytes"][name] for run in runs for name in ("worker", "grader"))
    below.set(
        xlabel="submissions in the class", ylabel="peak memory in MB", ylim=(0, 1.15 * most), xlim=(0, None)
    )
    below.legend(loc="lower right")
    return fig


@in_style
def more_workers(worker: float, serial: float, most: int = 1000) -> CourseFigure:
    """Notebooks a minute by the number of workers: in proportion to them, until the grader can write no faster.

    Args:
        worker: seconds of one notebook in one worker.
        serial: seconds that the grader itself takes for one.
        most: largest number of workers.
    """
    fig, ax = figure(5.0, 3.1)
    counts = np.geomspace(1, most, 200)
    ax.plot(counts, 60 * np.minimum(counts / worker, 1 / serial), color=COLOURS["blue"])
    ax.plot(counts, 60 * counts / worker, ":", color=MUTED, lw=1.4, label="workers alone")
    ax.axhline(60 / serial, ls="--", color=COLOURS["orange"], lw=1.4, label="the grader alone")
    ax.set(xscale="log", yscale="log", xlabel="workers", ylabel="notebooks a minute", xlim=(1, most))
    ax.set_ylim(top=60 / serial * 3)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(ScalarFormatter())
    ax.legend(loc="lower right")
    return fig
