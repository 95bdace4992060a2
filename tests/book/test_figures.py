"""The figures: each is one, each has the course's style, and each shows what was measured."""

import re
import warnings

import matplotlib as mpl
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from refcells import figures  # noqa: E402
from refcells.figures import gru_measure, measure, measure_bptt, style  # noqa: E402


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


LAGS = (1, 5, 10, 20)
RUNS = [
    {"initialisation": name, "lr": lr, "steps": steps, "accuracy": 0.1 + 0.2 * seed, "reached": None}
    for name in measure.LAYERS
    for steps, rates in ((10, (0.01, 0.1)), (200, (0.01,)))
    for lr in rates
    for seed in range(3)
]
TAGS = ("defined", "parameter", "keyword", "assigned", "called", "owner", "read")
COSTS = [
    {"layer": layer, "steps": steps, "seconds": steps * 1e-4}
    for layer in ("RNN", "LSTM", "GRU", "attention")
    for steps in (64, 128, 256, 512)
]
CLIPPING = [
    {
        "clip": clip,
        "lr": lr,
        "seed": seed,
        "accuracy": 0.2 + lr + seed / 9,
        "norm": [0.5, 7.0, 3.0],
        "loss": [2.0] * 3,
    }
    for clip in (None, 1.0)
    for lr in (0.1, 0.3)
    for seed in range(2)
]
SWEPT = [
    {"initialisation": name, "steps": steps, "lr": lr, "seed": seed, "reached": 25 if seed else None}
    for name in ("LSTM, default", "GRU, chrono")
    for steps in (10, 200)
    for lr in (0.001, 0.01)
    for seed in range(3)
]
GROWN = [
    {"submissions": size, "seconds": 5 + size / 4, "megabytes": {"grader": 150.0, "worker": 300.0}}
    for size in (20, 100, 400)
]
RATES = [{"what": "NumPy", "per_minute": {"stock": 20.0, "here": 180.0}, "ratio": 9.0}] * 2
DRAWN = {
    "grading_rates": lambda: figures.grading_rates(RATES),
    "class_growth": lambda: figures.class_growth(GROWN, {"start": 5.0, "each": 0.25}),
    "more_workers": lambda: figures.more_workers(worker=0.6, serial=0.005),
    "chain_and_attention": figures.chain_and_attention,
    "cost_by_length": lambda: figures.cost_by_length(COSTS),
    "step_cost": lambda: figures.step_cost(COSTS, 128),
    "forecast_errors": lambda: figures.forecast_errors({"last year": 30.0}, {"GRU": [16.0, 17.0]}),
    "timeline": figures.timeline,
    "three_readers": figures.three_readers,
    "rnn_cell": figures.rnn_cell,
    "rnn_unrolled": figures.rnn_unrolled,
    "echoes": figures.echoes,
    "sequence_tasks": figures.sequence_tasks,
    "loss_by_context": lambda: figures.loss_by_context(
        [np.linspace(2.6, 1.9, 32), np.linspace(2.7, 2.0, 32)], np.array([3.1, 2.5, 2.0, 1.8])
    ),
    "text_heatmap": lambda: figures.text_heatmap("if a:\n    print('$_^')", np.linspace(-0.9, 0.9, 22)),
    "lstm_cell": figures.lstm_cell,
    "two_states": figures.two_states,
    "unrolled_gradients": figures.unrolled_gradients,
    "two_paths": figures.two_paths,
    "jacobian_chain": figures.jacobian_chain,
    "truncated_windows": figures.truncated_windows,
    "rnn_gradient_by_lag": lambda: figures.rnn_gradient_by_lag(
        {start: [measure_bptt.plain_rnn(start, seeded(), lags=LAGS)] for start in measure_bptt.RNN_STARTS}
    ),
    "transient_growth": lambda: figures.transient_growth(
        {"one": np.array([1.0, 3.0, 2.0]), "other": np.array([1.0, 0.9, 0.81])}, radius=0.9
    ),
    "difference_error": lambda: figures.difference_error(
        [1e-8, 1e-5, 1e-2], {name: np.array([1e-4, 1e-9, 1e-3]) for name in ("a", "b", "c")}
    ),
    "clipping_surface": lambda: figures.clipping_surface(
        measure_bptt.cliff_descent(None, updates=12), measure_bptt.cliff_descent(1.0, updates=12)
    ),
    "clipping_runs": lambda: figures.clipping_runs(CLIPPING, lr=0.1, chance=0.125),
    "gate_curves": figures.gate_curves,
    "content_times_control": figures.content_times_control,
    "kept_share": figures.kept_share,
    "without_forget_gate": figures.without_forget_gate,
    "direct_against_full": lambda: figures.direct_against_full(
        [measure.direct_against_full(seeded(), lags=LAGS)]
    ),
    "gradient_by_lag": lambda: figures.gradient_by_lag(
        LAGS, {name: [np.ones(4), np.full(4, 0.5)] for name in measure.INITIALISATIONS}
    ),
    "accuracy_by_length": lambda: figures.accuracy_by_length(RUNS, chance=0.125),
    "rates_by_length": lambda: figures.rates_by_length(RUNS),
    "gate_heatmap": lambda: figures.gate_heatmap(
        ["the", "keys"], {"$f$": np.array([0.9, 0.2]), "$g$": np.array([-0.5, 0.01])}
    ),
    "two_directions": figures.two_directions,
    "reversals": figures.reversals,
    "which_state": figures.which_state,
    "recall_by_tag": lambda: figures.recall_by_tag(
        TAGS, {way: [np.linspace(0, 1, len(TAGS))] for way in ("left to right", "right to left", "both")}
    ),
    "padded_batches": lambda: figures.padded_batches(
        {"at random": [[3, 9], [4, 8]], "sorted": [[3, 4], [8, 9]]}
    ),
    "dropout_masks": figures.dropout_masks,
    "tuning_grid": lambda: figures.tuning_grid((0.01, 0.1), (8, 16), np.array([[0.5, 0.6], [0.9, 0.8]])),
    "training_curves": lambda: figures.training_curves(
        {
            name: {"at": [10, 20], "training": [1.0, 1e-5], "held_out": [1.1, 0.3]}
            for name in ("fine", "too slow", "diverging", "overfitting")
        },
        chance=1.9,
    ),
    "confusions": lambda: figures.confusions(TAGS, {"left to right": np.ones((7, 7)), "both": np.eye(7)}),
    "gru_cell": figures.gru_cell,
    "three_cells": figures.three_cells,
    "blended_paths": figures.blended_paths,
    "dynamic_gates": lambda: figures.dynamic_gates(
        [["the", "keys"], ["the", "key", "by"]], [np.full((2, 3), 0.1), np.full((3, 3), 0.9)]
    ),
    "blend_against_full": lambda: figures.blend_against_full(
        {"default": [gru_measure.measure_terms("GRU, default", seeded(), lags=LAGS)]}
    ),
    "gradient_of_all_cells": lambda: figures.gradient_of_all_cells(
        LAGS,
        {name: [np.ones(4), np.full(4, 0.5)] for name in ("RNN, default", "LSTM, chrono", "GRU, chrono")},
    ),
    "sweep_map": lambda: figures.sweep_map(SWEPT, ["LSTM, default", "GRU, chrono"]),
}


def test_every_public_figure_is_tested():
    assert set(DRAWN) == set(figures.__all__) - {"CourseFigure"}


@pytest.fixture(scope="module", params=DRAWN, ids=str)
def drawn(request):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a missing glyph, a layout that does not fit
        figure = DRAWN[request.param]()
        return figure, figure.svg()


class TestEachFigure:
    def test_is_a_matplotlib_figure_outside_pyplot(self, drawn):
        figure, _ = drawn
        assert isinstance(figure, figures.CourseFigure)
        assert isinstance(figure, mpl.figure.Figure)
        import matplotlib.pyplot as plt

        assert plt.get_fignums() == []

    def test_has_a_transparent_ground(self, drawn):
        _, svg = drawn
        patch = re.search(r'<g id="patch_1">(.*?)</g>', svg, re.S)
        assert patch is None or "fill: none" in patch[1] or "opacity: 0" in patch[1]

    def test_is_narrow_enough_for_a_telephone(self, drawn):
        _, svg = drawn
        width = float(re.search(r'width="([\d.]+)pt"', svg)[1])
        assert width <= 400, "at 350 pixels a 10-point letter is then at least 8.8 pixels high"

    def test_carries_no_date_and_the_same_bytes_each_time(self, drawn):
        figure, svg = drawn
        assert "<dc:date>" not in svg
        assert figure.svg() == svg

    def test_text_is_drawn_as_paths(self, drawn):
        """So that it looks the same on a machine without our fonts."""
        assert "<text" not in drawn[1]

    def test_letters_are_not_too_small(self, drawn):
        figure, _ = drawn
        sizes = [text.get_fontsize() for text in figure.findobj(mpl.text.Text) if text.get_text().strip()]
        assert sizes
        assert min(sizes) >= 9

    def test_shows_itself_as_svg_alone(self, drawn):
        bundle = drawn[0]._repr_mimebundle_()
        assert set(bundle) == {"image/svg+xml", "text/plain"}


@pytest.mark.parametrize("name", DRAWN)
def test_drawing_again_gives_the_same_bytes(name):
    assert DRAWN[name]().svg() == DRAWN[name]().svg()


def test_drawing_leaves_the_callers_settings_alone():
    def settings():
        return {name: value for name, value in mpl.rcParams.items() if name != "backend"}

    before = settings()
    figures.gate_curves().svg()
    assert settings() == before


def test_the_callers_settings_do_not_change_a_figure():
    plain = figures.gate_curves().svg()
    with mpl.rc_context({"font.size": 30, "axes.grid": False, "lines.linewidth": 9}):
        assert figures.gate_curves().svg() == plain


def luminance(colour):
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in mpl.colors.to_rgb(colour)]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(one, other):
    light, dark = sorted([luminance(one), luminance(other)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colour", [*style.COLOURS.values(), style.INK, style.MUTED])
def test_colours_stand_out_from_the_ground(colour):
    assert contrast(colour, "white") >= 4.5


def in_dark_mode(colour):
    """What the style sheet's filter makes of a colour: invert(0.93) hue-rotate(180deg) saturate(1.15)."""
    rgb = np.array(mpl.colors.to_rgb(colour))
    rgb = rgb * (1 - 2 * 0.93) + 0.93
    weights = np.array([0.213, 0.715, 0.072])
    rotate = 2 * np.tile(weights, (3, 1)) - np.eye(3)  # hue-rotate by half a turn
    rgb = np.clip(rotate @ rgb, 0, 1)
    grey = weights @ rgb
    return np.clip(grey + 1.15 * (rgb - grey), 0, 1)


@pytest.mark.parametrize("colour", [*style.COLOURS.values(), style.INK, style.MUTED])
def test_colours_stand_out_in_dark_mode_too(colour):
    assert contrast(in_dark_mode(colour), "#121212") >= 4.5


def test_the_style_sheet_still_has_that_filter():
    from pages import BOOK

    css = (BOOK / "_static" / "course.css").read_text("utf-8")
    assert "filter: invert(0.93) hue-rotate(180deg) saturate(1.15)" in css


class TestRefusals:
    def test_text_with_too_few_values(self):
        with pytest.raises(ValueError, match="2 values came for 3 characters"):
            figures.text_heatmap("a b", np.zeros(2))

    def test_grid_of_another_size(self):
        with pytest.raises(ValueError, match=r"expected \(2, 3\)"):
            figures.tuning_grid((0.1, 0.2), (8, 16, 32), np.ones((2, 2)))

    def test_confusion_of_another_size(self):
        with pytest.raises(ValueError, match="one row a tag"):
            figures.confusions(TAGS, {"both": np.eye(3)})

    def test_heatmap_with_a_row_of_the_wrong_length(self):
        with pytest.raises(ValueError, match="one value a word"):
            figures.gate_heatmap(["the", "keys"], {"f": np.ones(3)})

    def test_unknown_initialisation(self):
        with pytest.raises(ValueError, match="expected one of"):
            measure.layer_with("GRU, forget bias 1", 2, 3, 10, seeded())
