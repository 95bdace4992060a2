"""Figures of the chapter on BPTT: where gradients go, what becomes of them, and what is done about it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from refcells.figures.measure_bptt import Descent, PlainRNN, cliff_loss
from refcells.figures.shapes import Canvas
from refcells.figures.style import COLOURS, GATES, INK, MUTED, CourseFigure, figure, in_style

__all__ = [
    "clipping_runs",
    "clipping_surface",
    "difference_error",
    "jacobian_chain",
    "rnn_gradient_by_lag",
    "transient_growth",
    "truncated_windows",
    "two_paths",
    "unrolled_gradients",
]

BACK = COLOURS["orange"]  # what runs backwards, in every diagram of the chapter
LAYER = COLOURS["blue"]

# Line style and marker tell the starts apart as well as the colour does.
LOOK = {
    "default": (MUTED, ":", "s"),
    "default × 2": (COLOURS["green"], "--", "v"),
    "default × 3": (COLOURS["purple"], "-.", "o"),
    "orthogonal": (COLOURS["blue"], "-", "^"),
    "orthogonal × 2": (COLOURS["orange"], (0, (5, 1)), "D"),
}


@in_style
def unrolled_gradients(steps: int = 4) -> CourseFigure:
    """The unrolled graph with the gradient's way back: from every loss, through every step, into one sum."""
    width = 2.3
    d = Canvas(0.9 + width * steps + 0.3, 5.7, scale=0.5)
    state, bus = 3.3, 0.75
    d.port(0.35, state + 0.55, "$h_0$")
    for k in range(steps):
        x = 1.75 + width * k
        before = 0.1 if k == 0 else x - width + 0.5
        d.wire([(before, state + 0.16), (x - 0.5, state + 0.16)])
        d.wire([(x - 0.5, state - 0.16), (before, state - 0.16)], BACK)
        d.layer(x, state, "tanh", LAYER, width=1.0, height=0.86)
        d.wire([(x - 0.25, 2.0), (x - 0.25, state - 0.43)])
        d.port(x - 0.42, 1.68, f"$x_{k + 1}$")
        d.wire([(x - 0.16, state + 0.43), (x - 0.16, 4.95)])
        d.wire([(x + 0.16, 4.95), (x + 0.16, state + 0.43)], BACK)
        d.port(x, 5.3, f"$L_{k + 1}$")
        if k < steps - 1:
            d.port(x + width / 2, state + 0.6, f"$h_{k + 1}$")
        if k < steps - 1:
            d.wire([(x + 0.28, state - 0.43), (x + 0.28, bus + 0.27)], BACK)
    last = 1.75 + width * (steps - 1) + 0.28
    d.wire([(last, state - 0.43), (last, bus), (last - width + 0.27, bus)], BACK)
    for k in reversed(range(steps - 1)):
        x = 1.75 + width * k + 0.28
        d.operation(x, bus, "+", BACK)
        d.wire([(x - 0.27, bus), (x - width + 0.27 if k else 1.45, bus)], BACK)
    d.port(0.78, bus, r"$\frac{\mathrm{d}L}{\mathrm{d}W_h}$", BACK, size=17)
    return d.figure


@in_style
def two_paths() -> CourseFigure:
    """Two steps of one unit: the weight reaches the last state directly, and through the state before."""
    d = Canvas(10, 4.5)
    lane, low = 3.3, 0.85
    d.wire([(0.6, lane), (2.35, lane)])
    d.layer(2.9, lane, "tanh", LAYER, width=1.1)
    d.wire([(3.45, lane), (6.35, lane)], BACK, lw=2.6)
    d.layer(6.9, lane, "tanh", LAYER, width=1.1)
    d.wire([(7.45, lane), (9.3, lane)])
    d.wire([(4.9, low + 0.3), (4.9, 1.9), (2.9, 1.9), (2.9, lane - 0.36)], BACK, lw=2.6)
    d.wire([(4.9, low + 0.3), (4.9, 1.9), (6.9, 1.9), (6.9, lane - 0.36)], GATES["o"], lw=2.6)
    d.fork(4.9, 1.9)
    d.port(4.9, low, "$w$", size=16)
    d.port(0.45, lane + 0.4, "$h_0$")
    d.port(4.9, lane + 0.4, "$h_1$")
    d.port(9.2, lane + 0.4, "$h_2$")
    d.port(2.6, 1.45, "through $h_1$", BACK, size=11)
    d.port(7.15, 1.45, "immediate", GATES["o"], size=11)
    return d.figure


@in_style
def jacobian_chain() -> CourseFigure:
    """The gradient's way over three steps: the same matrix each time, and slopes that each step has set."""
    d = Canvas(11.6, 3.4, scale=0.47)
    lane, unit = 2.0, 3.4
    names = ["T", "T{-}1", "T{-}2", "T{-}3"]
    right = 10.9
    for k in range(3):
        x = right - unit * k
        d.wire([(x - (0.35 if k == 0 else 0.55), lane), (x - 0.95, lane)], BACK)
        d.operation(x - 1.22, lane, "×", BACK)
        d.wire([(x - 1.22, 1.05), (x - 1.22, lane - 0.27)], MUTED)
        d.port(x - 1.22, 0.68, f"$1-h_{{{names[k]}}}^2$", MUTED, size=12.5)
        d.wire([(x - 1.49, lane), (x - 1.78, lane)], BACK)
        d.layer(x - 2.2, lane, "$W_h$", LAYER, width=0.84)
        d.wire([(x - 2.62, lane), (x - unit + 0.55, lane)], BACK)
        d.port(x - 1.7, 2.85, f"$J_{{{names[k]}}}$", INK)
    for k, name in enumerate(names):
        d.port(right - unit * k, lane, f"$h_{{{name}}}$", size=13)
    d.port(right, 3.05, "$L$", BACK)
    d.wire([(right, 2.8), (right, lane + 0.35)], BACK)
    return d.figure


@in_style
def rnn_gradient_by_lag(measured: Mapping[str, Sequence[PlainRNN]]) -> CourseFigure:
    """Norm of d h_T / d h_{T-k} by lag for plain RNNs: the median of several networks, and their range."""
    fig, ax = figure(5.0, 4.0)
    for name, nets in measured.items():
        colour, style, marker = LOOK[name]
        lags = nets[0].lags
        stack = np.array([net.jacobians for net in nets])
        ax.fill_between(lags, stack.min(axis=0), stack.max(axis=0), color=colour, alpha=0.16, lw=0)
        ax.semilogy(lags, np.median(stack, axis=0), color=colour, ls=style, marker=marker, ms=4.5, label=name)
    ax.axhline(1.0, color=INK, lw=0.8)
    ax.set(
        xlabel="lag $k$, in time steps",
        ylabel=r"norm of $\mathrm{d}h_T/\mathrm{d}h_{T-k}$, over $\sqrt{H}$",
        xlim=(0, 102),
        ylim=(1e-30, 1e8),
    )
    ax.legend(loc="lower left", title="$W_h$")
    return fig


@in_style
def transient_growth(norms: Mapping[str, np.ndarray], radius: float) -> CourseFigure:
    """Norm of the powers of matrices that share one spectral radius."""
    fig, ax = figure(5.0, 3.2)
    looks = [(COLOURS["orange"], "-"), (COLOURS["blue"], "--")]
    for (name, values), (colour, style) in zip(norms.items(), looks, strict=True):
        ax.semilogy(np.arange(len(values)), values, color=colour, ls=style, label=name)
    steps = len(next(iter(norms.values()))) - 1
    ax.axhline(1.0, color=INK, lw=0.8)
    ax.set(xlabel="number of steps $k$", ylabel="spectral norm of $A^k$", xlim=(0, steps))
    ax.legend(loc="lower left", title=f"both with spectral radius {radius:g}")
    return fig


@in_style
def difference_error(sizes: Sequence[float], errors: Mapping[str, np.ndarray]) -> CourseFigure:
    """Error of numerical derivatives against their step size, on two logarithmic axes."""
    fig, ax = figure(5.0, 3.5)
    looks = [(COLOURS["blue"], "-", "o"), (COLOURS["orange"], "--", "s"), (COLOURS["purple"], "-.", "^")]
    for (name, values), (colour, style, marker) in zip(errors.items(), looks, strict=True):
        ax.loglog(sizes, values, color=colour, ls=style, marker=marker, ms=4, lw=1.6, label=name)
        best = int(np.argmin(values))
        ax.plot(sizes[best], values[best], "o", ms=11, mfc="none", mec=colour, mew=1.5)
    ax.set(xlabel="step size", ylabel="relative error", ylim=(1e-13, 1e2))
    ax.legend(loc="lower left")
    return fig


@in_style
def clipping_surface(free: Descent, clipped: Descent) -> CourseFigure:
    """The loss of a one-unit RNN over its two parameters, and gradient descent on it with and without clipping."""
    fig, ax = figure(5.0, 4.0)
    w, b = np.meshgrid(np.linspace(0.4, 2.4, 401), np.linspace(-0.6, 1.7, 461))
    loss = cliff_loss(w, b)
    greys = LinearSegmentedColormap.from_list("light greys", ["#ffffff", "#a9b4be"])
    ax.contourf(w, b, loss, levels=np.linspace(0, 1.5, 16), cmap=greys)
    ax.plot(*free.path.T, color=COLOURS["orange"], marker="s", ms=4, lw=1.5, ls="--", label="no clipping")
    ax.plot(*clipped.path.T, color=COLOURS["blue"], marker="o", ms=3.5, lw=1.5, label="clipped at norm 1")
    ax.plot(*free.path[0], "*", color=INK, ms=14, zorder=5)
    ax.annotate("start", free.path[0], xytext=(8, 4), textcoords="offset points", fontsize=11)
    ax.text(1.95, 0.75, "loss 1.44,\nflat", fontsize=10.5)
    ax.text(2.02, -0.53, "loss 0.64,\nflat", fontsize=10.5)
    ax.text(0.45, -0.22, "loss\nnear 0", fontsize=10.5)
    ax.grid(False)
    ax.legend(loc="upper left")
    ax.set(xlabel="recurrent weight $w$", ylabel="bias $b$", xlim=(0.4, 2.4), ylim=(-0.6, 1.7))
    return fig


@in_style
def clipping_runs(
    parts: Sequence[Mapping[str, Any]], lr: float, chance: float, window: int = 10
) -> CourseFigure:
    """Training with and without clipping: gradient norms at one learning rate, and accuracies at all.

    Args:
        parts: runs of the experiment 'clipping', with their settings.
        lr: the learning rate whose gradient norms are drawn.
        chance: accuracy of guessing.
        window: updates that one entry of `norm` stands for.
    """
    fig, (top, bottom) = figure(5.0, 5.2, rows=2)
    rates = sorted({part["lr"] for part in parts})
    looks = (
        (None, COLOURS["orange"], "--", "s", "no clipping"),
        (1.0, COLOURS["blue"], "-", "o", "clipped at 1"),
    )
    for shift, (clip, colour, style, marker, name) in zip((-0.17, 0.17), looks, strict=True):
        mine = [part for part in parts if part["clip"] == clip]
        for k, part in enumerate(part for part in mine if part["lr"] == lr):
            updates = window * (1 + np.arange(len(part["norm"])))
            top.semilogy(
                updates, part["norm"], color=colour, ls=style, lw=1.2, label=name if k == 0 else None
            )
        for k, rate in enumerate(rates):
            scores = [part["accuracy"] for part in mine if part["lr"] == rate]
            places = k + shift + np.linspace(-0.1, 0.1, len(scores))
            bottom.plot(places, scores, marker, color=colour, ms=5, alpha=0.85, mew=0)
        medians = [np.median([part["accuracy"] for part in mine if part["lr"] == rate]) for rate in rates]
        bottom.plot(np.arange(len(rates)) + shift, medians, color=colour, ls=style, lw=1.3, label=name)
    top.set(xlabel=f"update (learning rate {lr:g})", ylabel="gradient norm")
    top.legend(loc="upper right", ncols=2)
    top.set_ylim(top=top.get_ylim()[1] * 8)
    bottom.axhline(chance, color=MUTED, lw=1, ls=(0, (2, 2)))
    bottom.text(-0.45, chance + 0.02, "chance", color=MUTED, va="bottom")
    bottom.set(
        ylim=(0, 1.05), xlim=(-0.5, len(rates) - 0.5), ylabel="accuracy", xlabel="learning rate of SGD"
    )
    bottom.set_xticks(range(len(rates)), [f"{rate:g}" for rate in rates])
    return fig


@in_style
def truncated_windows(chunk: int = 4, chunks: int = 3) -> CourseFigure:
    """Truncated BPTT: the state goes on from chunk to chunk, the gradient stops at each beginning."""
    width, gap = 0.7, 0.62
    steps = chunk * chunks
    d = Canvas(0.75 + steps * width + (chunks - 1) * gap + 0.6, 4.3, scale=0.46)
    state = 2.3
    places = [0.95 + k * width + (k // chunk) * gap for k in range(steps)]
    for k, x in enumerate(places):
        first = k % chunk == 0
        if first:
            d.frame(x - 0.4, 1.15, places[k + chunk - 1] + 0.4, 3.15)
            d.port((x + places[k + chunk - 1]) / 2, 0.8, f"chunk {k // chunk + 1}", MUTED, size=10)
        before = 0.05 if k == 0 else places[k - 1] + 0.2
        d.wire([(before, state + 0.13), (x - 0.19, state + 0.13)], lw=1.4)
        if first and k:
            cut = (places[k - 1] + x) / 2
            d.wire([(x - 0.2, state - 0.15), (cut + 0.05, state - 0.15)], BACK, lw=1.4)
            d.wire([(cut, state - 0.45), (cut, state - 0.0)], COLOURS["purple"], lw=3.0, arrow=False)
            d.wire([(cut, 0.6), (cut, state - 0.5)], COLOURS["purple"], lw=1.0)
            d.port(cut, 0.3, "detach", COLOURS["purple"], size=10)
        else:
            d.wire([(x - 0.2, state - 0.15), (before, state - 0.15)], BACK, lw=1.4)
        d.layer(x, state, "", LAYER, width=0.38, height=0.62)
        d.wire([(x, 3.75), (x, state + 0.33)], BACK, lw=1.4)
        d.wire([(x, 1.4), (x, state - 0.33)], lw=1.4)
    d.wire([(places[-1] + 0.2, state + 0.13), (places[-1] + 0.85, state + 0.13)], lw=1.4)
    d.port((places[0] + places[-1]) / 2, 4.05, "a loss at every step", BACK, size=10)
    return d.figure
