"""Curves of the scalar cell: what a gate is, what it keeps, and what happens without one."""

import numpy as np

from refcells import scalar
from refcells.figures.style import COLOURS, GATES, MUTED, CourseFigure, figure, in_style
from refcells.vector import lstm_1997_forward, lstm_forward, sigmoid

__all__ = ["content_times_control", "gate_curves", "kept_share", "without_forget_gate"]


@in_style
def gate_curves() -> CourseFigure:
    """The two squashing functions: sigmoid for how much, tanh for what."""
    fig, ax = figure(5.0, 2.9)
    a = np.linspace(-6, 6, 241)
    ax.axvspan(-6, -4, color=MUTED, alpha=0.13, lw=0)
    ax.axvspan(4, 6, color=MUTED, alpha=0.13, lw=0)
    ax.plot(a, sigmoid(a), color=GATES["f"])
    ax.plot(a, np.tanh(a), color=GATES["g"], ls=(0, (5, 2)))
    ax.plot([0, 0], [0, 0.5], "o", color=MUTED, ms=5, zorder=3)
    ax.annotate("0.5", (0, 0.5), xytext=(-8, 6), textcoords="offset points", ha="right")
    ax.text(2.0, 0.70, r"$\sigma(a)$: how much", color=GATES["f"], fontsize=11.5)
    ax.text(-0.62, -0.86, r"$\tanh(a)$: what", color=GATES["g"], fontsize=11.5)
    ax.text(-5.9, 0.3, "gate\nclosed", color=MUTED)
    ax.text(4.15, 0.3, "gate\nopen", color=MUTED)
    ax.set(xlabel="pre-activation $a$", xlim=(-6, 6), ylim=(-1.1, 1.12), yticks=[-1, -0.5, 0, 0.5, 1])
    return fig


@in_style
def content_times_control() -> CourseFigure:
    """What is written, as a function of the pre-activations of the input gate and of the candidate."""
    fig, ax = figure(5.0, 3.5)
    a_g, a_i = np.meshgrid(np.linspace(-3, 3, 181), np.linspace(-6, 6, 181))
    written = sigmoid(a_i) * np.tanh(a_g)
    levels = np.linspace(-1, 1, 11)
    ax.contourf(a_g, a_i, written, levels=levels, cmap="PuOr", alpha=0.85)
    marked = [-0.8, -0.4, -0.1, 0.1, 0.4, 0.8]
    ax.contour(a_g, a_i, written, levels=marked, colors="black", linewidths=0.8)
    for value in marked:
        # Name each line where there is room: the outer ones at a_i = 3.2, the flat ones at a_g = 2 and -2.
        if abs(value) > 0.2:
            x, y = float(np.arctanh(value / scalar.sigmoid(3.2))), 3.2
        else:
            share = value / float(np.tanh(np.copysign(2.0, value)))
            x, y = float(np.copysign(2.0, value)), float(np.log(share / (1 - share)))
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85}
        ax.text(x, y, f"{value:+.1f}".replace("-", "−"), fontsize=9, ha="center", va="center", bbox=box)
    ax.text(
        0,
        -5.0,
        "gate closed: nothing is written,\nwhatever the candidate",
        ha="center",
        va="center",
        fontsize=9.5,
    )
    ax.grid(False)
    ax.set(xlabel="candidate's pre-activation $a_g$ (what)", ylabel="input gate's $a_i$ (how much)")
    return fig


@in_style
def kept_share(gates: tuple[float, ...] = (0.5, 0.9, 0.98, 1.0), steps: int = 60) -> CourseFigure:
    """Share of the cell state that is left after k steps at a constant forget gate, with nothing written."""
    fig, ax = figure(5.0, 3.0)
    styles = [":", "--", "-.", "-"]
    for f, style, colour in zip(gates, styles, ["orange", "purple", "green", "blue"], strict=True):
        c, kept = 1.0, [1.0]
        for _ in range(steps):
            _, c = scalar.lstm_update(0.0, f, 0.9, 1.0, c)
            kept.append(c)
        ax.plot(range(steps + 1), kept, color=COLOURS[colour], ls=style)
        ax.text(
            steps + 1,
            kept[-1] + (0.02 if f == 0.5 else 0.08 if f == 0.9 else 0),
            f"f = {f:g}",
            color=COLOURS[colour],
            va="center",
        )
    ax.set(
        xlabel="time steps since it was written",
        ylabel="share of $c$ left",
        xlim=(0, steps),
        ylim=(-0.02, 1.06),
    )
    return fig


@in_style
def without_forget_gate(steps: int = 200, seed: int = 0) -> CourseFigure:
    """The same stream of candidates through the 1997 recurrence and through one with a forget gate."""
    fig, (top, bottom) = figure(5.0, 4.2, rows=2, sharex=True)
    # One unit that reads only its input: the candidate sees x, the gates only their biases.
    x = np.random.default_rng(seed).normal(0.2, 0.5, (1, steps, 1))
    a_f, a_o, W_h = np.log(0.9 / 0.1), 100.0, np.zeros((4, 1))
    with_gate = lstm_forward(x, np.array([[0.0], [0.0], [1.0], [0.0]]), W_h, np.array([0.0, a_f, 0.0, a_o]))
    without = lstm_1997_forward(x, np.array([[0.0], [1.0], [0.0]]), W_h[:3], np.array([0.0, 0.0, a_o]))
    for run, name, colour, style in (
        (without, "1997: $f = 1$ always", "orange", "-"),
        (with_gate, "forget gate at 0.9", "blue", "--"),
    ):
        cs = run.c[1:, 0, 0]
        top.plot(range(1, steps + 1), cs, color=COLOURS[colour], ls=style, label=name)
        bottom.semilogy(range(1, steps + 1), 1 / np.cosh(cs) ** 2, color=COLOURS[colour], ls=style)
    top.legend(loc="upper left")
    top.set(ylabel="cell state $c_t$")
    bottom.set(xlabel="time step $t$", ylabel=r"slope $1 - \tanh^2 c_t$", xlim=(0, steps))
    return fig
