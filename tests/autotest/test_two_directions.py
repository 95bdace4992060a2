"""The references of the bidirectional assignment against other code: the library's own functions, and PyTorch's layers."""

import numpy as np
import pytest
import torch
from torch import nn

from refcells import bidirectional, vector
from refcells.autotest import judge, tagging_questions
from refcells.autotest.verdict import question
from refcells.tasks import IGNORED, tagging
from refcells.training import EveryStepClassifier, accuracy, step_cross_entropy


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def cases(name):
    return [case.copied() for case in question(name).cases(3)]


def same(one, other):
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


# --- NumPy ------------------------------------------------------------------------------------------------------------


def test_walk_equals_the_length_aware_one():
    for x, lengths, *weights in cases("bidirectional.rnn_walk"):
        output, h_n = question("bidirectional.rnn_walk").reference(x, lengths, *weights)
        run = vector.rnn_forward(x, *weights, lengths=lengths)
        same(output, run.output)
        same(h_n, run.h_n)


def test_merge_equals_the_librarys():
    for forward, backward, mode in cases("bidirectional.merge"):
        ours = question("bidirectional.merge").reference(forward, backward, mode)
        same(ours, bidirectional.merge(forward, backward, mode))


def test_last_state_of_outputs_is_the_last_state_of_the_run():
    for x, lengths, forward, backward in cases("bidirectional.bidirectional_forward"):
        run = bidirectional.bidirectional_forward(vector.rnn_forward, x, forward, backward, lengths)
        same(
            question("bidirectional.last_state").reference(run.output, lengths), bidirectional.last_state(run)
        )


# --- PyTorch ----------------------------------------------------------------------------------------------------------


def test_packed_run_equals_each_sequence_alone():
    generator = torch.Generator().manual_seed(0)
    layer = nn.GRU(2, 4, 2, batch_first=True, bidirectional=True)
    x, lengths = torch.randn(3, 6, 2, generator=generator), torch.tensor([2, 5, 4])
    output, h_n = tagging_questions.run_packed(layer, x, lengths)
    assert output.shape == (3, 6, 8)
    for row, length in enumerate(lengths):
        alone, last = layer(x[row : row + 1, :length])
        torch.testing.assert_close(output[row, :length], alone[0])
        torch.testing.assert_close(h_n[:, row], last[:, 0])
        assert not output[row, length:].any()


def test_pad_equals_pytorchs():
    generator = torch.Generator().manual_seed(0)
    sequences = [torch.randn(length, 2, generator=generator) for length in (2, 5, 3)]
    x, lengths = tagging_questions.pad(sequences)
    assert torch.equal(x, nn.utils.rnn.pad_sequence(sequences, batch_first=True))
    assert lengths.tolist() == [2, 5, 3]


def test_start_state_is_what_a_layer_takes():
    layer = nn.GRU(3, 4, 2, batch_first=True, bidirectional=True)
    start = torch.randn(4, 4, generator=torch.Generator().manual_seed(0))
    x = torch.ones(2, 5, 3)
    _, batch = layer(x, tagging_questions.start_state(start, 2))
    _, alone = layer(x[0], start)
    torch.testing.assert_close(batch[:, 0], alone)
    torch.testing.assert_close(batch[:, 1], alone)


def test_loss_and_accuracy_equal_those_that_know_ignored_targets():
    _, y, lengths = tagging(20, 9, generator=torch.Generator().manual_seed(0), shortest=3)
    scores = torch.randn(20, 9, 4, generator=torch.Generator().manual_seed(1))
    mask = tagging_questions.step_mask(lengths, 9)
    assert torch.equal(mask, y != IGNORED)
    torch.testing.assert_close(tagging_questions.masked_loss(scores, y, mask), step_cross_entropy(scores, y))
    assert tagging_questions.masked_accuracy(scores, y, mask) == pytest.approx(accuracy(scores, y))


def test_tagger_equals_the_librarys_classifier():
    tagger = tagging_questions.Tagger(2, 4, 5)
    other = EveryStepClassifier(tagger.layer, 8, 5)
    other.linear.load_state_dict(tagger.linear.state_dict())
    x, lengths = torch.randn(3, 6, 2, generator=torch.Generator().manual_seed(0)), torch.tensor([2, 5, 4])
    torch.testing.assert_close(tagger(x, lengths), other(x, lengths))


@pytest.mark.parametrize("backwards", [False, True])
def test_one_direction_is_told_so_whichever_it_is(backwards):
    """A tagger that reads from the right alone is found as well; the catalogue's reads from the left."""

    class OneWay(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.GRU(2, 8, batch_first=True)
            self.linear = nn.Linear(8, 4)

        def forward(self, x, lengths):
            if not backwards:
                return self.linear(tagging_questions.run_packed(self.layer, x, lengths)[0])
            turned = torch.tensor(bidirectional.reverse(x.double().numpy(), lengths.numpy())).float()
            output = tagging_questions.run_packed(self.layer, turned, lengths)[0]
            order = torch.arange(x.shape[1]).repeat(len(x), 1)
            order = torch.where(order < lengths[:, None], lengths[:, None] - 1 - order, order)
            return self.linear(output.gather(1, order[:, :, None].expand_as(output)))

    def train(steps, generator):
        model = OneWay()
        tagging_questions.redraw(model, generator)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(20):
            x, y, lengths = tagging(32, steps, generator=generator, shortest=4)
            optimizer.zero_grad()
            step_cross_entropy(model(x, lengths), y).backward()
            optimizer.step()
        return model

    message = judge("tagging.train_tagger", train).message
    side = "before" if backwards else "after"
    assert f"do not depend on what comes {side} it" in message


def test_a_tagger_that_is_not_trained_is_told_its_accuracy_and_the_ceiling_of_one_direction():
    def train(steps, generator):
        model = tagging_questions.Tagger(2, 16, 4)
        tagging_questions.redraw(model, generator)
        return model

    message = judge("tagging.train_tagger", train).message
    assert "of the held-out tags; expected at least 95%" in message
    assert "one direction alone cannot expect more than 71%" in message


@pytest.mark.parametrize(
    ("name", "work", "says"),
    [
        ("tagging.pad", lambda sequences: sequences[0], "expected two: x and lengths"),
        ("tagging.step_mask", lambda lengths, steps: torch.ones(len(lengths), steps), "expected torch.bool"),
        ("tagging.step_mask", lambda lengths, steps: 1, "an int came back; expected a tensor"),
        ("tagging.masked_loss", lambda s, y, m: s.sum(2), "expected the loss, one number"),
        ("tagging.masked_loss", lambda s, y, m: s.detach().sum(), "does not carry a gradient"),
        ("tagging.masked_accuracy", lambda s, y, m: "all", "expected one number between 0 and 1"),
        ("tagging.Tagger", lambda d, h, k: 1, "expected a torch.nn.Module"),
        (
            "tagging.Tagger",
            lambda d, h, k: nn.Linear(d, k),
            "expected layer.weight_ih_l0 (12, 2); 9 more differ",
        ),
        ("tagging.train_tagger", lambda steps, generator: 1, "expected the trained model"),
        (
            "tagging.train_tagger",
            lambda steps, generator: tagging_questions.Tagger(2, 3, 5),
            "two runs with equal generators",
        ),
    ],
)
def test_what_cannot_be_used_is_named(name, work, says):
    verdict = judge(name, work)
    assert not verdict.passed
    assert says in verdict.message
    assert len(verdict.message.splitlines()) < 10


def test_scores_of_another_shape_are_named():
    class Wide(tagging_questions.Tagger):
        def forward(self, x, lengths):
            return super().forward(x, lengths).transpose(1, 2)

    assert "(batch, time, class)" in judge("tagging.Tagger", Wide).message
