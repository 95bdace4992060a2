"""What a comparison's tests see of a report that does not fit what happened, and of conversions that go wrong."""

import pytest
import torch
from torch import nn

from refcells.autotest import gru_probes, judge, trained_probes
from refcells.autotest.torch_gru import compare, from_torch, to_torch, train_until
from refcells.autotest.verdict import Unfit


def changed(result, **entries):
    return {**result, **entries}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda result: list(result.values()), "a list came back; expected a dict with the keys accuracy"),
        (lambda result: {"accuracy": result["accuracy"]}, "with the keys accuracy came back"),
        (lambda result: changed(result, accuracy=torch.tensor(1.0)), "accuracy is a Tensor"),
        (lambda result: changed(result, updates=True), "updates is a bool"),
        (
            lambda result: changed(result, updates=result["updates"] + 1),
            "is not the number that the optimiser",
        ),
        (lambda result: changed(result, seconds=0.0), "not the time that the training took"),
        (lambda result: changed(result, seconds=-result["seconds"]), "not the time that the training took"),
        # After 30 updates on a task that is too long for them the model knows nothing.
        (lambda result: changed(result, accuracy=1.0), "not that of the trained model on fresh sequences"),
        (lambda result: changed(result, accuracy=float("nan")), "not between 0 and 1"),
    ],
)
def test_a_report_that_does_not_fit_is_refused(change, says):
    def work(model, steps, most, generator):
        return change(train_until(model, steps, most, generator))

    with pytest.raises(Unfit, match=says):
        gru_probes.trained_until(work, 4, 50, 0.95, seed=0)


def test_the_accuracy_that_counts_is_the_models_own():
    def work(model, steps, most, generator):
        result = train_until(model, steps, most, generator)
        with torch.no_grad():
            model.linear.bias[0] += 1000.0  # the model now always says 0
        return changed(result, accuracy=0.125)

    parameters = gru_probes.trained_until(work, 4, 50, 0.95, seed=0)
    assert trained_probes.remembered_by_gru(parameters, 4, 50, 0.95, 0) < 0.3


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda results: results["gru"],
            "with the keys accuracy, updates, seconds came back; expected a dict",
        ),
        (
            lambda results: {
                **results,
                "lstm": changed(results["lstm"], updates=results["lstm"]["updates"] + 1),
            },
            "is not the number that the optimiser",
        ),
        (lambda results: {name: changed(r, seconds=1e3) for name, r in results.items()}, "not the time"),
        # The models have learnt it, and the report says something else.
        (
            lambda results: {name: changed(r, accuracy=0.5) for name, r in results.items()},
            "an accuracy in its result is not that of the trained model",
        ),
    ],
)
def test_a_comparison_that_does_not_fit_is_refused(change, says):
    with pytest.raises(Unfit, match=says):
        gru_probes.compared(lambda *arguments: change(compare(*arguments)), 3, 1.0, 300, 0.95, seed=0)


def test_other_sizes_are_refused():
    def work(steps, bias, generator):
        model = nn.Linear(8, 8)
        nn.init.zeros_(model.weight)
        nn.init.zeros_(model.bias)
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(3):
            model(torch.rand(4, 8, generator=generator)).sum().backward()
            optimizer.step()
        return {}

    with pytest.raises(Unfit, match="neither an LSTM nor a GRU with 32 units"):
        gru_probes.compared(work, 3, 1.0, 300, 0.95, seed=0)


def test_threads_are_put_back():
    before = torch.get_num_threads()
    with pytest.raises(Unfit):
        gru_probes.trained_until(lambda *arguments: None, 4, 50, 0.95, seed=0)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("work", "says"),
    [
        (lambda state: from_torch(state)[:3], "3 results came back; expected four: W_x, W_h, b and b_hn"),
        (lambda state: None, "a NoneType came back; expected four"),
        (lambda state: (*from_torch(state)[:3], 0.0), "b_hn is a float; expected a tensor"),
    ],
)
def test_weights_that_are_no_four_tensors_are_refused(work, says):
    assert says in judge("torch.from_torch", work).message


@pytest.mark.parametrize(
    ("work", "says"),
    [
        (lambda *weights: list(to_torch(*weights).values()), "a list came back; expected a state dict"),
        (lambda *weights: {"weight_ih": weights[0]}, "an nn.GRUCell does not load it"),
        (lambda *weights: changed(to_torch(*weights), bias_hh=weights[3]), "an nn.GRUCell does not load it"),
    ],
)
def test_state_dicts_that_do_not_load_are_refused(work, says):
    assert says in judge("torch.to_torch", work).message


def test_the_probes_hold_no_answer():
    for name in ("from_torch", "to_torch", "set_keep_bias", "train_until", "compare"):
        assert not hasattr(gru_probes, name)
