"""Diagrams of cells, all in the one vocabulary of `refcells.figures.shapes`."""

from refcells.figures.shapes import Canvas
from refcells.figures.style import COLOURS, GATES, INK, CourseFigure, in_style

__all__ = ["lstm_cell", "rnn_cell", "two_states"]

STATE = COLOURS["gold"]


@in_style
def rnn_cell() -> CourseFigure:
    """The plain recurrent cell: one layer, one state."""
    d = Canvas(10, 3.4)
    d.frame(1.5, 0.95, 8.5, 3.05)
    d.wire([(0.55, 1.85), (4.5, 1.85)])
    d.wire([(2.5, 0.45), (2.5, 1.85)], arrow=False)
    d.join(2.5, 1.85)
    d.layer(5.0, 1.85, "tanh", GATES["g"], width=1.05)
    d.wire([(5.55, 1.85), (9.45, 1.85)])
    d.port(0.3, 2.2, "$h_{t{-}1}$", ha="left")
    d.port(2.5, 0.2, "$x_t$")
    d.port(9.5, 2.2, "$h_t$")
    return d.figure


@in_style
def lstm_cell() -> CourseFigure:
    """The LSTM cell: the cell state runs along the top, and four layers decide what happens to it."""
    d = Canvas(10, 6.9)
    d.frame(1.5, 0.95, 8.7, 6.4)
    lane, joint, layers = 5.3, 1.6, 2.55

    # The cell state, along the top: keep, write.
    d.wire([(0.5, lane), (2.33, lane)], STATE, lw=3.0)
    d.wire([(2.9, lane), (4.23, lane)], STATE, lw=3.0)
    d.wire([(4.8, lane), (9.5, lane)], STATE, lw=3.0)

    # Input and hidden state meet, and all four layers read both.
    d.wire([(0.5, joint), (6.4, joint), (6.4, layers - 0.36)])
    d.wire([(1.95, 0.45), (1.95, joint)], arrow=False)
    d.join(1.95, joint)
    for x in (2.6, 3.85, 5.15):
        d.wire([(x, joint), (x, layers - 0.36)])
        d.fork(x, joint)

    for x, name, squash in (
        (2.6, "f", r"$\sigma$"),
        (3.85, "i", r"$\sigma$"),
        (5.15, "g", "tanh"),
        (6.4, "o", r"$\sigma$"),
    ):
        d.layer(x, layers, squash, GATES[name])

    # Forget: a product on the lane.
    d.wire([(2.6, layers + 0.36), (2.6, lane - 0.28)], GATES["f"])
    d.operation(2.6, lane, "×", GATES["f"])
    # Write: input gate times candidate, then a sum on the lane.
    d.wire([(3.85, layers + 0.36), (3.85, 4.0), (4.22, 4.0)], GATES["i"])
    d.wire([(5.15, layers + 0.36), (5.15, 4.0), (4.78, 4.0)], GATES["g"])
    d.operation(4.5, 4.0, "×", GATES["i"])
    d.wire([(4.5, 4.28), (4.5, lane - 0.28)])
    d.operation(4.5, lane, "+")
    # Show: the squashed cell state times the output gate.
    d.wire([(7.6, lane), (7.6, 4.75)], STATE)
    d.fork(7.6, lane, STATE)
    d.operation(7.6, 4.45, "tanh")
    d.wire([(7.6, 4.17), (7.6, 3.68)])
    d.wire([(6.4, layers + 0.36), (6.4, 3.4), (7.32, 3.4)], GATES["o"])
    d.operation(7.6, 3.4, "×", GATES["o"])
    d.wire([(7.6, 3.12), (7.6, joint), (9.5, joint)])

    for x, y, name in ((2.36, 3.35, "f"), (3.61, 3.35, "i"), (5.4, 3.35, "g"), (6.16, 3.2, "o")):
        d.port(x, y, f"${name}$", GATES[name])
    for x, y, word, name in ((2.6, 5.9, "keep", "f"), (4.5, 5.9, "write", "i"), (8.16, 2.85, "show", "o")):
        d.port(x, y, word, GATES[name], size=10)
    d.port(0.25, lane + 0.4, "$c_{t{-}1}$", STATE, ha="left")
    d.port(0.25, joint + 0.4, "$h_{t{-}1}$", ha="left")
    d.port(1.95, 0.2, "$x_t$")
    d.port(9.45, lane + 0.4, "$c_t$", STATE)
    d.port(9.45, joint + 0.4, "$h_t$")
    return d.figure


@in_style
def two_states(words: tuple[str, ...] = ("keys", "by", "the", "door")) -> CourseFigure:
    """An LSTM unrolled over a phrase: two states go from step to step, one of them to the outside."""
    step = 2.45
    d = Canvas(0.8 + step * len(words) + 0.4, 4.6, scale=0.47)
    top, bottom = 3.0, 1.9
    d.port(0.3, top + 0.38, "$c_0$", STATE)
    d.port(0.3, bottom + 0.38, "$h_0$")
    for k, word in enumerate(words):
        left, right = 0.95 + step * k, 0.95 + step * k + 1.35
        middle = (left + right) / 2
        before = 0.1 if k == 0 else left - step + 1.35
        d.wire([(before, top), (left, top)], STATE, lw=3.0)
        d.wire([(before, bottom), (left, bottom)])
        d.frame(left, 1.4, right, 3.5, INK, lw=1.5)
        d.port(middle, 2.45, "LSTM", size=10)
        d.wire([(middle, 0.8), (middle, 1.4)])
        d.port(middle, 0.5, word, size=11)
        d.wire([(middle, 3.5), (middle, 4.1)])
        d.port(middle, 4.35, f"$h_{k + 1}$")
        if k < len(words) - 1:
            d.port(right + 0.5, top + 0.38, f"$c_{k + 1}$", STATE)
            d.port(right + 0.5, bottom + 0.38, f"$h_{k + 1}$")
    end = 0.95 + step * (len(words) - 1) + 1.35
    d.wire([(end, top), (end + 0.75, top)], STATE, lw=3.0)
    d.wire([(end, bottom), (end + 0.75, bottom)])
    d.port(end + 0.45, top + 0.38, f"$c_{len(words)}$", STATE)
    d.port(end + 0.45, bottom + 0.38, f"$h_{len(words)}$")
    return d.figure
