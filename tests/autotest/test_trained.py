"""What a training is believed: the parameters that it leaves, counted by whoever judges, and nothing that is claimed."""

import numpy as np
import pytest
import torch
from torch import nn

from refcells.autotest import judge, probes, trained_probes
from refcells.autotest.calls import Answer, Unfit
from refcells.autotest.torch_questions import train_to_remember
from refcells.autotest.verdict import question, questions
from refcells.tasks import remember_first, tagging
from refcells.training import EveryStepClassifier, LastStepClassifier, accuracy, redraw

SCORED = [name for name, asked in questions().items() if asked.score]
CHANCE = 0.3


pytestmark = pytest.mark.usefixtures("one_thread")


class Elsewhere:
    """A student's work in another process, which claims whatever it likes."""

    def __init__(self, claim):
        self.claim = claim

    def __call__(self, *arguments):
        raise AssertionError("it is asked elsewhere")

    def answers_elsewhere(self, probe, cases, quiet, seconds):
        return iter([Answer(results=self.claim)] * len(cases))


def classifier(layer=nn.LSTM, hidden=32, seed=0, **more):
    model = LastStepClassifier(layer(8, hidden, batch_first=True, **more), hidden, 8)
    redraw(model, torch.Generator().manual_seed(seed))
    return model


def arrays(model):
    return trained_probes.parameters_of(model.parameters())


def untrained(name):
    """What an honest process gives that has not trained."""
    kinds = {"torch.train_rnn_to_remember": nn.RNN, "torch.train_until": nn.GRU}
    if name == "torch.compare":
        return {"lstm": arrays(classifier()), "gru": arrays(classifier(nn.GRU))}
    if name == "tagging.train_tagger":
        layer = nn.GRU(2, 16, batch_first=True, bidirectional=True)
        return arrays(EveryStepClassifier(layer, 32, 4))
    return arrays(classifier(kinds.get(name, nn.LSTM)))


def test_every_question_about_an_accuracy_has_it_counted():
    assert len(SCORED) == 5
    assert [name for name, asked in questions().items() if asked.accept] == SCORED


@pytest.mark.parametrize("name", SCORED)
@pytest.mark.parametrize(
    "claim",
    [
        1.0,
        None,
        "1.0",
        [],
        {},
        {"lstm": 1.0, "gru": 1.0},
        [1.0] * 6,
        [np.ones(())] * 6,
        [np.ones((3, 3))] * 6,
        [np.ones((32, 8), dtype=int)] * 6,
        [np.array(["1"] * 8)] * 10,
        [np.zeros((4, 8)), np.zeros((4, 100_000)), *[np.zeros(4)] * 2, np.zeros((8, 1)), np.zeros(8)],
    ],
    ids=lambda claim: str(claim)[:20],
)
def test_a_claim_is_no_accuracy(name, claim):
    verdict = judge(name, Elsewhere(claim))
    assert not verdict.passed
    assert "expected those of" in verdict.message or "no parameters came" in verdict.message


@pytest.mark.parametrize("name", SCORED)
@pytest.mark.parametrize("change", [lambda p: p, np.zeros_like, lambda p: np.full_like(p, np.nan)])
def test_parameters_that_have_learnt_nothing_do_not_pass(name, change):
    came = untrained(name)
    parts = {k: [change(p) for p in v] for k, v in came.items()} if isinstance(came, dict) else None
    verdict = judge(name, Elsewhere(parts or [change(p) for p in came]))
    assert not verdict.passed
    assert "expected at least 95%" in verdict.message


def test_parameters_that_have_learnt_pass():
    """So the tests above do not fail for another reason."""
    name = "torch.train_to_remember"
    came = arrays(train_to_remember(20, torch.Generator().manual_seed(1000)))
    assert judge(name, Elsewhere(came)).passed
    came[-2:] = [np.zeros_like(p) for p in came[-2:]]
    assert not judge(name, Elsewhere(came)).passed


def test_a_process_that_believes_its_accuracy_is_not_believed(monkeypatch):
    """The student's side may think what it likes: it hands over parameters, and these have learnt nothing."""

    def work(steps, generator):
        model = classifier()
        redraw(model, generator)
        return model

    arguments = question("torch.train_to_remember").cases(0)[0].arguments
    with monkeypatch.context() as patched:
        for module in (probes, trained_probes):
            patched.setattr(module, "accuracy", lambda scores, y: 1.0)
        came = probes.remembered(work, *arguments)
        assert trained_probes.remembered(came, *arguments) == 1.0
    assert trained_probes.remembered(came, *arguments) < CHANCE


@pytest.mark.parametrize("layer", [nn.RNN, nn.LSTM, nn.GRU])
@pytest.mark.parametrize("hidden", [8, 32])
def test_the_share_is_the_models_own(layer, hidden):
    model = classifier(layer, hidden, seed=3)
    x, y = remember_first(512, 5, 8, generator=torch.Generator().manual_seed(8))
    kind = layer.__name__.lower()
    assert trained_probes.remembered(arrays(model), 5, 8, 1, 0.95, 7, kind) == accuracy(model(x), y)

    class LinearFirst(nn.Module):
        def __init__(self):
            super().__init__()
            self.readout, self.memory = model.linear, model.layer

    assert trained_probes.remembered(arrays(LinearFirst()), 5, 8, 1, 0.95, 7, kind) == accuracy(model(x), y)


def test_the_share_of_tags_is_the_models_own():
    model = EveryStepClassifier(nn.GRU(2, 16, batch_first=True, bidirectional=True), 32, 4)
    x, y, lengths = tagging(512, 12, generator=torch.Generator().manual_seed(8), shortest=4)
    assert trained_probes.tagged(arrays(model), 12, 4, 1, 0.95, 7) == accuracy(model(x, lengths), y)


def test_pytorchs_own_generator_is_left_alone():
    came, before = arrays(classifier()), torch.random.get_rng_state()
    trained_probes.remembered(came, 5, 8, 1, 0.95, 7, "lstm")
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(
    "model",
    [
        classifier(nn.GRU),
        classifier(nn.LSTM, num_layers=2),
        classifier(nn.LSTM, bias=False),
        nn.Linear(8, 8),
    ],
)
def test_another_model_is_refused_by_name(model):
    with pytest.raises(
        Unfit, match=r"parameters are \(.*expected those of LastStepClassifier\(nn\.LSTM\(8, 32"
    ):
        trained_probes.remembered(arrays(model), 5, 8, 1, 0.95, 7, "lstm")


def test_an_answer_that_no_layer_gives_is_refused():
    """A model that reads the answer off its input has the right parameters and does not use them."""

    class Reader(LastStepClassifier):
        def forward(self, x):
            return x[:, 0]

    def work(steps, generator):
        model = Reader(nn.LSTM(8, 32, batch_first=True), 32, 8)
        redraw(model, generator)
        return model

    with pytest.raises(Unfit, match="does not do what that model does"):
        probes.remembered(work, 5, 8, 1, 0.95, 7, "lstm")


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn"])
def test_parameters_come_in_any_order(kind):
    """Groups of an optimiser may have weights and biases apart."""
    layer = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[kind]
    came = arrays(classifier(layer))
    apart = [a for a in came if a.ndim == 2] + [a for a in came if a.ndim == 1]
    expected = trained_probes.remembered(came, 5, 8, 1, 0.95, 7, kind)
    assert trained_probes.remembered(apart, 5, 8, 1, 0.95, 7, kind) == expected
    with pytest.raises(Unfit, match="expected those of"):
        trained_probes.remembered([*came, came[-1]], 5, 8, 1, 0.95, 7, kind)
