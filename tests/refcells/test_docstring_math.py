"""The translation of docstrings for the book's API pages."""

import importlib.util
import inspect
import pathlib
import re

import pytest

pytest.importorskip("sphinx", reason="sphinx is not installed (pip install learning-to-remember[book])")
pytest.importorskip("torch", reason="torch is not installed")

BOOK = pathlib.Path(__file__).resolve().parents[2] / "book"
spec = importlib.util.spec_from_file_location("docstring_math", BOOK / "_ext" / "docstring_math.py")
docstring_math = importlib.util.module_from_spec(spec)
spec.loader.exec_module(docstring_math)

PLACES = docstring_math.public_names()


def translated(text, home=""):
    return "\n".join(docstring_math.translated(text.split("\n"), PLACES, home))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("input $x_t$.", "input :math:`x_t`."),
        ("the $i$-th of $a$ and $b$", "the :math:`i`\\ -th of :math:`a` and :math:`b`"),
        ("costs \\$5", "costs \\$5"),
        ("as `bias_ih + bias_hh`", "as ``bias_ih + bias_hh``"),
        ("see `lstm_step`", "see :py:obj:`lstm_step <refcells.vector.lstm_step>`"),
        ("see `refcells.scalar`", "see ``refcells.scalar``"),
        (":math:`x` stays", ":math:`x` stays"),
        ("``x`` stays", "``x`` stays"),
    ],
)
def test_inline(text, wanted):
    assert translated(text) == wanted


def test_a_shared_name_is_the_one_of_its_own_module():
    assert "refcells.scalar.lstm_step" in translated("`lstm_step`", "refcells.scalar")
    assert "refcells.vector.lstm_step" in translated("`lstm_step`", "refcells.torch_cells")


def test_displayed_formulas_keep_their_margin_and_their_backslashes():
    text = "    before:\n    $$a = b \\\\top,\n      c$$\n    after $x$"
    wanted = "    before:\n\n    .. math::\n\n       a = b \\\\top,\n       c\n\n    after :math:`x`"
    assert translated(text) == wanted


def test_tables():
    text = "| a | b |\n| --- | --- |\n| `x` | $y$ |"
    wanted = ".. list-table::\n   :header-rows: 1\n\n   * - a\n     - b\n   * - ``x``\n     - :math:`y`"
    assert translated(text).strip() == wanted


def test_examples_are_left_alone():
    text = ">>> `a` $b$\n1"
    assert translated(text).startswith(">>> `a` $b$")


def test_every_public_docstring_is_translated_without_a_rest():
    for module in docstring_math.MODULES:
        home = importlib.import_module(f"refcells.{module}")
        for thing in [home, *(getattr(home, name) for name in home.__all__)]:
            text = translated(inspect.getdoc(thing) or "", f"refcells.{module}")
            assert not re.search(r"(?<!\\)\$", text), thing
            assert not re.search(r"^\s*\|", text, re.M), thing


def test_every_module_has_its_page():
    pages = {path.stem for path in (BOOK / "api").glob("*.md")}
    assert pages == {"index", *docstring_math.MODULES}
    index = (BOOK / "api" / "index.md").read_text(encoding="utf-8")
    for module in docstring_math.MODULES:
        assert f"({module}.md)" in index
        page = (BOOK / "api" / f"{module}.md").read_text(encoding="utf-8")
        assert f".. automodule:: refcells.{module}\n" in page
