"""Tagging real code: the tags are what Python says, the batches hold them, and the book's sentences hold."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from refcells.experiments import load  # noqa: E402
from refcells.experiments import source_names as names  # noqa: E402


def tagged(source):
    """Names and their tags, line by line."""
    lines = names.parse(source)
    return [
        [(text, names.TAGS[tag]) for text, tag in zip(line, tags, strict=True) if tag >= 0]
        for line, tags in zip(lines.text, lines.tags, strict=True)
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("f(x)", [("f", "called"), ("x", "read")]),
        ("f = x", [("f", "assigned"), ("x", "read")]),
        ("f.g.h(x)", [("f", "owner"), ("g", "owner"), ("h", "called"), ("x", "read")]),
        ("f.g = 1", [("f", "owner"), ("g", "assigned")]),
        ("g(f=x)", [("g", "called"), ("f", "keyword"), ("x", "read")]),
        ("def f(x, y=z): pass", [("f", "defined"), ("x", "parameter"), ("y", "parameter"), ("z", "read")]),
        ("class A(B): pass", [("A", "defined"), ("B", "read")]),
        ("f().g", [("f", "called"), ("g", "read")]),
        ("a, b = b, a", [("a", "assigned"), ("b", "assigned"), ("b", "read"), ("a", "read")]),
        ("for k in ks: pass", [("k", "assigned"), ("ks", "read")]),
        ("f(lambda x: x)", [("f", "called"), ("x", "parameter"), ("x", "read")]),
        ("übel(ß).x = 1", [("übel", "called"), ("ß", "read"), ("x", "assigned")]),
        ("f(\n    x,\n)", [("f", "called"), ("x", "read")]),
        ("f(f'{x!r} {y}', z)", [("f", "called"), ("z", "read")]),
    ],
)
def test_tags_are_what_the_parser_says(source, expected):
    assert tagged(source + "\n") == [expected]


def test_names_numbers_and_strings_are_hidden_and_keywords_are_not():
    (line,) = names.parse("if total == 3: raise ValueError('no')\n").tokens
    assert line == ("if", "name", "==", "number", ":", "raise", "name", "(", "string", ")")


def test_lines_without_a_tagged_name_and_long_lines_are_left_out():
    source = "import os\n" + "f(" + ", ".join(["x"] * 40) + ")\n" + "f(x)\n"
    assert [line[0] for line in names.parse(source).text] == ["f"]


def test_a_batch_holds_the_lines_and_reversal_is_by_length():
    lines = names.parse("f(x)\ng.h(y, z)\n")
    x, y, lengths = names.as_tensors(lines, [0, 1])
    back_x, back_y, back_lengths = names.as_tensors(lines, [0, 1], backwards=True)
    assert lengths.tolist() == back_lengths.tolist() == [4, 8]
    assert torch.equal(x.sum(dim=2), (torch.arange(8) < lengths[:, None]).float())
    for row, length in enumerate(lengths.tolist()):
        assert torch.equal(back_x[row, :length], x[row, :length].flip(0))
        assert torch.equal(back_y[row, :length], y[row, :length].flip(0))
        assert (y[row, length:] == -100).all()
        assert (back_y[row, length:] == -100).all()


def test_tables_know_their_neighbours_and_nothing_else():
    training = names.parse("f(x)\nf(x)\nf = x\n")
    held_out = names.parse("f(x)\nf = x\n")
    assert names.window_accuracy(0, 0, training, held_out) == 0.5  # 'read', the most frequent
    assert names.window_accuracy(1, 0, training, held_out) == 0.75  # the first name is called more often
    assert names.window_accuracy(0, 1, training, held_out) == 1.0


def test_shapes_leave_names_aside():
    assert names.shapes_in(names.parse("g(y)\ng = y\n"), names.parse("f(x)\n")) == [True, False]


def test_modules_are_found_and_kept_apart():
    assert not set(names.TRAINING_MODULES) & set(names.HELD_OUT_MODULES)
    for module in names.TRAINING_MODULES + names.HELD_OUT_MODULES:
        assert names.lines_of(module).tokens, module
    with pytest.raises(ValueError, match="expected one of the standard library"):
        names.lines_of("no_such_module")


def test_refuses_another_direction():
    with pytest.raises(ValueError, match="expected one of"):
        names.tag_run("inwards", 0, 1)


class TestWhatTheBookSays:
    @pytest.fixture
    def whole(self):
        parts = load("source_names").parts
        return {
            way: [p for p in parts if p["direction"] == way and p["updates"] == names.WHOLE]
            for way in names.DIRECTIONS
        }

    def test_both_directions_beat_each_alone_on_every_seed(self, whole):
        best = {way: max(p["accuracy"] for p in parts) for way, parts in whole.items()}
        worst_both = min(p["accuracy"] for p in whole["both"])
        assert best["left to right"] < best["right to left"] < worst_both
        assert worst_both > 0.95

    def test_what_the_figures_say_of_the_tags(self, whole):
        recall = {
            way: dict(
                zip(
                    names.TAGS,
                    np.median(
                        [np.diag(c) / np.sum(c, axis=1) for c in (np.array(p["confusion"]) for p in parts)],
                        axis=0,
                    ),
                    strict=True,
                )
            )
            for way, parts in whole.items()
        }
        assert all(recall["left to right"][tag] > 0.95 for tag in ("defined", "parameter"))
        assert all(recall["left to right"][tag] < 0.7 for tag in ("owner", "keyword", "called"))
        assert all(recall["right to left"][tag] > 0.9 for tag in ("owner", "called"))
        assert all(recall["right to left"][tag] < 0.98 for tag in ("defined", "parameter", "keyword"))
        assert all(value > 0.9 for value in recall["both"].values())

    def test_neighbours_alone_come_far(self):
        training, held_out = names.pool(names.TRAINING_MODULES), names.pool(names.HELD_OUT_MODULES)
        assert names.window_accuracy(0, 0, training, held_out) < 0.5
        assert 0.8 < names.window_accuracy(0, 1, training, held_out) < 0.9
        assert names.window_accuracy(1, 1, training, held_out) < 0.95
