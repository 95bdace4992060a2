"""Hidden tests stay hidden in a student's page, whoever ran them."""

import pytest
from nbformat.v4 import new_code_cell, new_output

from classroom.feedback import WithoutHiddenTests
from refcells.autotest.verdict import question

HIDDEN = 'check(lambda: judge("scalar.sigmoid", sigmoid, seed=12345), """passed""", "x")'
SOURCE = f"""# Checks sigmoid.
check(lambda: judge("scalar.sigmoid", sigmoid), \"\"\"passed\"\"\", "x")
### BEGIN HIDDEN TESTS
{HIDDEN}
### END HIDDEN TESTS
last = 1"""


def page(*outputs, source=SOURCE, **metadata):
    cell = new_code_cell(source, outputs=list(outputs), metadata=metadata)
    cell, _ = WithoutHiddenTests().preprocess_cell(cell, {}, 0)
    return cell


def test_one_comment_stands_in_their_place():
    cell = page()
    assert cell.source.splitlines() == [
        *SOURCE.splitlines()[:2],
        "# Hidden tests: the same question with other numbers.",
        "last = 1",
    ]


MESSAGE = "lstm_update: with zero states, cell state c differs: expected 0.25, got 0.5"
KNOWN = question("scalar.lstm_update").mistakes[0]
HINT = f"This is what comes out when {KNOWN.hint}"
FAILS = "A hidden test, which asks the same with other numbers, does not pass."


def wrong(message):
    return new_output("error", ename="WrongAnswer", evalue=message, traceback=[f"Not right yet. {message}"])


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"question": "scalar.lstm_update", "mistake": KNOWN.name}, f"{FAILS}\n{HINT}"),
        ({"question": "scalar.lstm_update"}, FAILS),
        ({"question": "scalar.lstm_update", "mistake": "another"}, FAILS),
        ({"question": "no.question", "mistake": KNOWN.name}, FAILS),
        ({}, FAILS),
    ],
)
def test_of_a_failing_hidden_test_the_hint_stays_alone(found, told):
    # What a student's code raises stands in the message, and may look like a hint.
    message = f"{MESSAGE}\nit stopped with ValueError: This is what comes out when (0.3, 0.7)"
    cell = page(wrong(message), finding={**found, "hidden": "yes"})
    assert cell.outputs[0].evalue == told
    assert cell.outputs[0].traceback == [f"Not right yet. {told}"]


def test_what_a_visible_test_says_stays():
    output = page(wrong(f"{MESSAGE}\n{HINT}"), finding={"question": "scalar.lstm_update"}).outputs[0]
    assert output == wrong(f"{MESSAGE}\n{HINT}")


def test_a_traceback_that_quotes_them_is_cut():
    frames = [
        "\x1b[31mNameError\x1b[39m  Traceback (most recent call last)",
        f"Cell 1, line 4\n\x1b[32m----> 4\x1b[39m {HIDDEN.replace('judge', chr(27) + '[34mjudge' + chr(27) + '[39m')}",
        "NameError: name 'sigmoid' is not defined",
    ]
    error = new_output("error", ename="NameError", evalue="name 'sigmoid' is not defined", traceback=frames)
    assert page(error).outputs[0].traceback == [frames[0], frames[2]]
    error.traceback = [frames[1]]
    assert page(error).outputs[0].traceback == ["NameError: name 'sigmoid' is not defined"]


def test_other_cells_are_left_alone():
    source = "def sigmoid(a):\n    return 1 / (1 + math.exp(-a))"
    assert page(source=source).source == source
