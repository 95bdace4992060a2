"""Hidden tests stay hidden in a student's page, whoever ran them."""

from nbformat.v4 import new_code_cell, new_output

from classroom.feedback import WithoutHiddenTests

HIDDEN = 'check(lambda: judge("scalar.sigmoid", sigmoid, seed=12345), """passed""", "x")'
SOURCE = f"""# Checks sigmoid.
check(lambda: judge("scalar.sigmoid", sigmoid), \"\"\"passed\"\"\", "x")
### BEGIN HIDDEN TESTS
{HIDDEN}
### END HIDDEN TESTS
last = 1"""


def page(*outputs, source=SOURCE):
    cell = new_code_cell(source, outputs=list(outputs))
    cell, _ = WithoutHiddenTests().preprocess_cell(cell, {}, 0)
    return cell


def test_one_comment_stands_in_their_place():
    cell = page()
    assert cell.source.splitlines() == [
        *SOURCE.splitlines()[:2],
        "# Hidden tests: the same question with other numbers.",
        "last = 1",
    ]


def test_the_hint_of_a_failing_hidden_test_stays():
    error = new_output(
        "error", ename="WrongAnswer", evalue="at step 3", traceback=["Not right yet. h differs, at step 3"]
    )
    assert page(error).outputs[0].traceback == ["Not right yet. h differs, at step 3"]


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
