"""What a verdict says when there is nothing to recognise, and what it survives."""

import sys
import time
import warnings

import numpy as np
import pytest

from refcells import scalar, vector
from refcells.autotest import WrongAnswer, check, hashed, judge, kind, show


def update(*results):
    return judge(
        "scalar.lstm_update", lambda i, f, g, o, c_prev: results[0] if len(results) == 1 else results
    )


@pytest.mark.parametrize(
    ("results", "says"),
    [
        ((None,), "None was returned; expected 2 results: hidden state h, cell state c"),
        ((1.0,), "a float was returned; expected 2 results"),
        ((1.0, 2.0, 3.0), "3 results were returned; expected 2"),
        (("a", 1.0), "hidden state h is 'a'; expected numbers"),
        ((True, 1.0), "hidden state h is True; expected numbers"),
        ((float("nan"), 1.0), "hidden state h is NaN"),
        (([1.0], 1.0), "hidden state h has shape (1); expected a single number"),
        ((object(), 1.0), "hidden state h is an object; expected numbers"),
    ],
)
def test_wrong_kinds_of_result(results, says):
    verdict = update(*results)
    assert not verdict.passed
    assert says in verdict.message


def test_a_wrong_shape_names_the_axes():
    def transposed(*arguments):
        h, c = vector.lstm_step(*arguments)
        return h.T, c

    message = judge("vector.lstm_step", transposed).message
    assert "hidden state h has shape (4, 2); expected (2, 4) = (batch 2, hidden 4)" in message


def test_a_wrong_step_is_named_and_measured():
    def wrong_at_three(xs, w_x, w_h, b, h0=0.0, c0=0.0):
        hs, cs = scalar.lstm_forward(xs, w_x, w_h, b, h0, c0)
        if len(cs) > 2:
            cs[2] += 0.25
        return hs, cs

    message = judge("scalar.lstm_forward", wrong_at_three).message
    assert "cell state cs differs, at time step 3 of 5, by up to 0.25" in message
    assert "at time step 3" in message.splitlines()[1]
    assert "Right with: a single step." in message


def test_an_exception_shows_the_students_own_line():
    def broken(i, f, g, o, c_prev):
        c = f * c_prev + i * gg
        return c, c

    message = judge("scalar.lstm_update", broken).message
    assert "NameError: name 'gg' is not defined" in message
    assert "in your line: c = f * c_prev + i * gg" in message


def test_changed_arguments_are_noticed():
    def careless(x, h_prev, c_prev, W_x, W_h, b):
        h, c = vector.lstm_step(x, h_prev, c_prev, W_x, W_h, b)
        c_prev[:] = c
        return h, c_prev.copy()

    assert "the argument c_prev was changed" in judge("vector.lstm_step", careless).message


def test_the_cases_themselves_are_never_changed():
    def destroy(x, h_prev, c_prev, W_x, W_h, b):
        for array in (x, h_prev, c_prev, W_x, W_h, b):
            array[:] = 0
        return h_prev, c_prev

    assert not judge("vector.lstm_step", destroy).passed
    assert judge("vector.lstm_step", vector.lstm_step).passed


def endless(*arguments):
    return endless(*arguments)


def exits(*arguments):
    sys.exit(0)


def closes(i, f, g, o, c_prev):
    sys.stdout.close()
    sys.stderr.close()
    return 0.0, 0.0


def itself(*arguments):
    return itself


class EqualsAll:
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = None


@pytest.mark.parametrize(
    ("work", "says"),
    [
        (endless, "RecursionError: it calls itself without end"),
        (exits, "it stopped with SystemExit"),
        (closes, "it closes sys.stdout"),
        (itself, "a function was returned"),
        (lambda *arguments: (EqualsAll(), EqualsAll()), "expected numbers"),
        (lambda: None, "TypeError"),
        ("lstm_update", "expected a function"),
    ],
)
def test_odd_functions_get_a_message(work, says, capsys):
    verdict = judge("scalar.lstm_update", work)
    assert not verdict.passed
    assert says in verdict.message
    assert len(verdict.message.splitlines()) < 10
    print("still here")
    assert capsys.readouterr().out == "still here\n"


def test_what_a_function_prints_stays_out_of_the_test_cell(capsys):
    def chatty(i, f, g, o, c_prev):
        for _ in range(10_000):
            print("a line")
        print("an error", file=sys.stderr)
        warnings.warn("a warning", stacklevel=1)
        return scalar.lstm_update(i, f, g, o, c_prev)

    started = time.monotonic()
    assert judge("scalar.lstm_update", chatty).passed
    assert time.monotonic() - started < 30
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_warnings_count_only_where_the_exercise_asks():
    def naive(x, h_prev, c_prev, W_x, W_h, b):
        i, f, g, o = np.split(x @ W_x.T + h_prev @ W_h.T + b, 4, axis=1)
        i, f, o = (1 / (1 + np.exp(-a)) for a in (i, f, o))
        c = f * c_prev + i * np.tanh(g)
        return o * np.tanh(c), c

    assert judge("vector.lstm_step", naive).passed
    assert "overflow encountered in exp" in judge("vector.lstm_step_extremes", naive).message


# --- directives -------------------------------------------------------------------------------------------------------


def test_kinds():
    import torch

    values = {
        "float": (0.5, np.float64(0.5), np.float32(0.5), np.array(0.5)),
        "int": (3,),
        "bool": (True,),
        "str": ("lstm",),
        "tuple": ((1.0, 2.0), [1.0]),
        "array": (np.zeros((2, 2)),),
        "tensor": (torch.zeros(2, requires_grad=True) * 2,),
        "verdict": (judge("scalar.sigmoid", scalar.sigmoid),),
    }
    for name, examples in values.items():
        assert [kind(example) for example in examples] == [name] * len(examples)
    with pytest.raises(TypeError, match="cannot be made of a dict"):
        kind({})


def shown(value):
    """The text as it reaches the cell: through the kernel's repr, and nbgrader's stripping of quotation marks."""
    return repr(show(value)).strip('"').strip("'")


@pytest.mark.parametrize(
    ("value", "right", "wrong"),
    [
        (0.5, (0.5, np.float32(0.5), 0.5 + 1e-9, np.array(0.5)), (0.501, "0.5", None, (0.5,), float("nan"))),
        (0.0, (-0.0, 0), (1e-3,)),
        (7, (7, 7.0, np.int64(7)), (8, 7.5, "7")),
        (True, (True,), (False, 1, "True")),
        ("ifgo", ("ifgo",), ("figo", 3)),
        ((1.0, 2.0), ([1.0, 2.0], np.array([1.0, 2.0])), ((1.0,), (1.0, 2.1), 1.0)),
        (
            (1.0, np.ones(2), "h"),
            ([1, [1.0, 1.0], "h"],),
            ((1.0, np.ones(3), "h"), (1.0, np.ones(2)), 1.0, (2.0, np.ones(2), "h"), (1.0, np.ones(2), "c")),
        ),
        (np.eye(2), (np.eye(2, dtype=np.float32), [[1, 0], [0, 1]]), (np.eye(3), -np.eye(2), np.eye(2)[0])),
    ],
)
def test_check_compares_values(value, right, wrong):
    text = shown(value)
    for other in right:
        check(lambda other=other: show(other), text, "the value")
    for other in wrong:
        with pytest.raises(WrongAnswer, match="the value"):
            check(lambda other=other: show(other), text, "the value")


def test_check_reports_one_wrong_element_among_many():
    big = np.arange(300.0)
    other = big.copy()
    other[250] += 1
    with pytest.raises(WrongAnswer, match=r"expected 250, got 251 at index \[250\]"):
        check(lambda: show(other), shown(big), "an array")


def test_values_that_make_no_test_are_marked():
    assert shown(np.zeros(5000)).startswith("unusable")
    assert shown({}).startswith("unusable")
    assert repr(judge("scalar.sigmoid", abs)).startswith("failed")


def test_hashes_are_for_discrete_values():
    text = hashed(show(3), "salt")
    assert text == hashed(3, "salt") == hashed(3.0, "salt") == hashed(np.int64(3), "salt")
    assert text != hashed(4, "salt")
    assert text != hashed(3, "pepper")
    check(lambda: hashed(show(3), "salt"), text, "a count")
    with pytest.raises(WrongAnswer, match="not the expected value"):
        check(lambda: hashed(show(4), "salt"), text, "a count")
    with pytest.raises(WrongAnswer, match=r"3\.5 came; expected a whole number"):
        hashed(3.5, "salt")
    with pytest.raises(WrongAnswer, match="expected numbers"):
        hashed(None, "salt")


def test_check_passes_verdicts_and_raises_their_message():
    check(lambda: judge("scalar.sigmoid", scalar.sigmoid), "passed", "the comparison")
    with pytest.raises(WrongAnswer, match="sigmoid: with"):
        check(lambda: judge("scalar.sigmoid", abs), "passed", "the comparison")
    with pytest.raises(WrongAnswer, match="name 'nothing' is not defined"):
        check(lambda: judge("scalar.sigmoid", nothing), "passed", "the comparison")


def test_a_wrong_answer_shows_as_its_message_alone():
    assert WrongAnswer("h is off")._render_traceback_() == ["Not right yet. h is off"]
