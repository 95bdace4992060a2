"""The catalogue: the references pass, every known mistake fails and is recognised, correct variants pass."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from refcells import backward, bidirectional, scalar, vector
from refcells.autotest import judge, vector_questions
from refcells.autotest.mistakes import edited
from refcells.autotest.verdict import questions

QUESTIONS = questions()
MISTAKES = [(name, mistake) for name, question in QUESTIONS.items() for mistake in question.mistakes]
SEEDS = (0, 1, 20261129)


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("seed", range(5))
def test_reference_passes(name, seed):
    verdict = judge(name, QUESTIONS[name].reference, seed)
    assert verdict.passed, verdict.message


@pytest.mark.parametrize(("name", "mistake"), MISTAKES, ids=[f"{n}: {m.name}" for n, m in MISTAKES])
def test_mistake_is_found_and_named(name, mistake):
    for seed in SEEDS:
        verdict = judge(name, mistake.make(), seed)
        assert not verdict.passed
        assert verdict.mistake == mistake.name, verdict.message
        assert mistake.hint in verdict.message
        assert len(verdict.message.splitlines()) < 10


def test_mistakes_have_names_hints_and_sources():
    assert len(MISTAKES) > 100
    for name, question in QUESTIONS.items():
        names = [mistake.name for mistake in question.mistakes]
        assert len(names) == len(set(names)), name
    for _, mistake in MISTAKES:
        assert mistake.source
        assert mistake.hint.endswith(".")


# Where the mistakes were seen that the catalogue began with; each has to stay in it.
SEEN = [
    "nicodjimenez/lstm#47",
    "nicodjimenez/lstm#43",
    "torchrecurrent#22",
    "NX-AI/xlstm#98",
    "coremltools PR#93",
    "ngraph PR#2080",
    "numpy-ml#42",
    "borelien/entailment-neural-attention-lstm-tf#3",
    "makemore PR#3",
    "glample/tagger#25",
    "glample/tagger#17",
    "zhiyongc/GRU-D#2",
    "Dive-into-DL-PyTorch#88",
    "ageron/handson-ml#563",
    "D-Nilsson/GRFP#6",
    "distillpub/post--memorization-in-rnns#24",
    "mquad/hgru4rec#11",
    "mxnet#4057",
    "CaptainE/RNN-LSTM-in-numpy#1",
    "hanbt/learn_dl#53",
    "deep-learning-from-scratch-2#26",
    "sagarnildass/andrew_ng_deep_learning_specialization#1",
    "Halfish/cs231n#4",
    "stanfordmlgroup/nlc#8",
    "d2l-en#2306",
    "pytorch-tutorial#149",
    "Sentence-VAE#15",
    "ml-toolkit#1",
    "yzhangcs/parser#48",
    "pytorch#4145",
    "sherjilozair/ctc#1",
    "neon#311",
    "pytorch#1811",
    "vsepp PR#36",
    "MorvanZhou tutorials #57",
    "OpenNMT-py#403",
    "pyGRU4REC#8",
    "handson-mlp PR#4",
    "OpenNMT-py#891",
    "pytorch/rl#1742",
    "pytorch#715",
    "karpathy/neuraltalk#2",
    "VGRNN#4",
    "flashlight#139",
    "karpathy/micrograd#2",
]


def test_no_mistake_that_people_made_is_lost():
    named = ", ".join(mistake.source for _, mistake in MISTAKES)
    assert [source for source in SEEN if source not in named] == []


def test_judging_scalars_needs_neither_numpy_nor_torch():
    code = (
        "import sys\n"
        "from refcells import scalar\n"
        "from refcells.autotest import judge\n"
        "assert judge('scalar.lstm_forward', scalar.lstm_forward).passed\n"
        "assert not judge('scalar.lstm_update', lambda i, f, g, o, c: (o * c, c)).passed\n"
        "print([name for name in ('numpy', 'torch', 'jaxtyping') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_unknown_questions_are_refused():
    with pytest.raises(LookupError, match="there are scalar"):
        judge("scalar.nothing", abs)
    with pytest.raises(LookupError, match="no questions about 'nowhere'"):
        judge("nowhere.nothing", abs)


def test_an_edit_that_does_not_fit_is_refused():
    with pytest.raises(LookupError, match="occurs 0 times"):
        edited(vector.lstm_step, ("not there", "anything"))


# --- the plain references are the fast ones --------------------------------------------------------------------------


def test_plain_forward_equals_the_fast_one():
    for case in vector_questions.QUESTIONS["vector.lstm_forward"].cases(3):
        run = vector.lstm_forward(*case.arguments)
        for plain, fast in zip(
            vector_questions.lstm_forward(*case.arguments), (run.output, run.h_n, run.c_n), strict=True
        ):
            np.testing.assert_allclose(plain, fast, rtol=0, atol=1e-13)


def test_plain_step_backward_equals_the_fast_one():
    for case in vector_questions.QUESTIONS["vector.lstm_step_backward"].cases(3):
        for plain, fast in zip(
            vector_questions.lstm_step_backward(*case.arguments),
            backward.lstm_step_backward(*case.arguments),
            strict=True,
        ):
            np.testing.assert_allclose(plain, fast, rtol=0, atol=1e-12)


def test_plain_backward_equals_the_fast_one():
    for case in vector_questions.QUESTIONS["vector.lstm_backward"].cases(3):
        d_output, d_c_n, *forward = case.arguments
        grads = backward.lstm_backward(vector.lstm_forward(*forward), d_output=d_output, d_c_n=d_c_n)
        fast = (grads.x, grads.W_x, grads.W_h, grads.b, grads.h0, grads.c0)
        for plain, other in zip(vector_questions.lstm_backward(*case.arguments), fast, strict=True):
            np.testing.assert_allclose(plain, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["rnn", "gru"])
def test_plain_forms_of_one_state_equal_the_fast_ones(name):
    def same(question, fast):
        for case in QUESTIONS[f"vector.{name}_{question}"].cases(3):
            plain = QUESTIONS[f"vector.{name}_{question}"].reference(*case.arguments)
            other = fast(*case.arguments)
            pairs = zip(plain, other, strict=True) if isinstance(plain, tuple) else [(plain, other)]
            for one, two in pairs:
                np.testing.assert_allclose(one, two, rtol=0, atol=1e-12)

    def forward(*arguments):
        run = getattr(vector, f"{name}_forward")(*arguments)
        return run.output, run.h_n

    same("step", getattr(vector, f"{name}_step"))
    same("forward", forward)
    same("step_backward", getattr(backward, f"{name}_step_backward"))


def test_plain_rnn_backward_and_jacobian_equal_the_fast_ones():
    for case in QUESTIONS["vector.rnn_backward"].cases(3):
        d_output, *forward = case.arguments
        grads = backward.rnn_backward(vector.rnn_forward(*forward), d_output=d_output)
        fast = (grads.x, grads.W_x, grads.W_h, grads.b, grads.h0)
        for plain, other in zip(
            QUESTIONS["vector.rnn_backward"].reference(*case.arguments), fast, strict=True
        ):
            np.testing.assert_allclose(plain, other, rtol=0, atol=1e-12)
    for case in QUESTIONS["vector.rnn_step_jacobian"].cases(3):
        x, h, *weights = case.arguments
        rows = [
            backward.rnn_step_backward(row[None], x[None], h[None], *weights).h_prev[0]
            for row in np.eye(len(h))
        ]
        np.testing.assert_allclose(
            QUESTIONS["vector.rnn_step_jacobian"].reference(*case.arguments), rows, rtol=0, atol=1e-12
        )


def test_plain_gru_jacobian_equals_the_fast_backward_pass():
    for case in QUESTIONS["vector.gru_step_jacobian"].cases(3):
        x, h, *weights = case.arguments
        rows = [
            backward.gru_step_backward(row[None], x[None], h[None], *weights).h_prev[0]
            for row in np.eye(len(h))
        ]
        np.testing.assert_allclose(
            QUESTIONS["vector.gru_step_jacobian"].reference(*case.arguments), rows, rtol=0, atol=1e-12
        )


def test_converted_scalar_weights_give_the_same_state_in_the_other_convention():
    convert = QUESTIONS["scalar.convert_update_gate"].reference
    for case in QUESTIONS["scalar.gru_step"].cases(3):
        x, h, *weights = case.arguments
        r, z = scalar.gru_gates(x, h, *convert(*weights))
        n = scalar.gru_candidate(x, h, r, *convert(*weights))
        assert z * h + (1 - z) * n == pytest.approx(scalar.gru_step(x, h, *weights), abs=1e-14)


def test_shares_rebuild_the_last_state():
    zs, ns, h = [0.2, 0.9, 0.4, 0.05], [0.5, -0.7, 0.1, 0.9], -0.3
    shares = QUESTIONS["scalar.gru_shares"].reference(zs)
    total = sum(share * part for share, part in zip(shares, [h, *ns], strict=True))
    for z, n in zip(zs, ns, strict=True):
        h = scalar.gru_update(z, n, h)
    assert total == pytest.approx(h, abs=1e-15)
    assert sum(shares) == pytest.approx(1.0, abs=1e-15)


def test_plain_two_directions_equal_the_fast_ones():
    for case in QUESTIONS["bidirectional.reverse"].cases(3):
        np.testing.assert_array_equal(
            QUESTIONS["bidirectional.reverse"].reference(*case.arguments),
            bidirectional.reverse(*case.arguments),
        )
    for case in QUESTIONS["bidirectional.bidirectional_forward"].cases(3):
        x, lengths, one, two = case.arguments
        run = bidirectional.bidirectional_forward(vector.rnn_forward, x, one, two, lengths)
        output, summary = QUESTIONS["bidirectional.bidirectional_forward"].reference(*case.arguments)
        np.testing.assert_allclose(output, run.output, rtol=0, atol=1e-12)
        np.testing.assert_allclose(summary, bidirectional.last_state(run), rtol=0, atol=1e-12)


def test_the_summary_is_both_last_states_of_pytorchs_last_layer():
    layer = nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True)
    output, (h_n, _) = layer(torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0)))
    ours = QUESTIONS["bidirectional.summary"].reference(output, h_n)
    assert torch.equal(ours, torch.cat([output[:, -1, :4], output[:, 0, 4:]], dim=-1))


def _pytorchs_gru(x, h_prev, W_x, W_h, b):
    cell = nn.GRUCell(x.shape[1], h_prev.shape[1]).double()
    arrays = {"weight_ih": W_x, "weight_hh": W_h, "bias_ih": b, "bias_hh": 0 * b}
    cell.load_state_dict({name: torch.tensor(array) for name, array in arrays.items()})
    return cell(torch.tensor(x), torch.tensor(h_prev))


def _cho_gru(x, h_prev, W_x, W_h, b):
    W_r, W_z, W_n = np.split(np.hstack([W_x, W_h, b[:, None]]), 3)
    ones = np.ones((len(x), 1))
    r, z = (vector.sigmoid(np.hstack([x, h_prev, ones]) @ W.T) for W in (W_r, W_z))
    return z * h_prev + (1 - z) * np.tanh(np.hstack([x, r * h_prev, ones]) @ W_n.T)


def _reset_after(x, h_prev, W_x, W_h, b):
    return vector.gru_reset_after_step(x, h_prev, W_x, W_h, b, np.zeros_like(b))


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (_pytorchs_gru, "the cell is PyTorch's"),
        (_cho_gru, "That is a right GRU in the convention of PyTorch, Keras and Cho et al."),
        (_reset_after, "That is a right GRU of another kind, the one of PyTorch and cuDNN"),
    ],
)
def test_a_right_gru_of_another_convention_is_told_which(step, says):
    """Cells from PyTorch and from the papers' equations, not from the catalogue's edits."""
    for seed in SEEDS:
        message = judge("vector.gru_step", step, seed).message
        assert says in message, message
        assert len(message.splitlines()) < 10


# --- correct variants, written as different people write -------------------------------------------------------------


def _sig(a):
    return 1 / (1 + np.exp(-np.clip(a, -80, 80)))


def per_gate_step(x, h_prev, c_prev, W_x, W_h, b):
    n = h_prev.shape[1]
    parts = []
    for k in range(4):
        rows = slice(k * n, (k + 1) * n)
        parts.append(
            np.einsum("bd,hd->bh", x, W_x[rows]) + np.einsum("bg,hg->bh", h_prev, W_h[rows]) + b[rows]
        )
    c = _sig(parts[1]) * c_prev + _sig(parts[0]) * np.tanh(parts[2])
    return [_sig(parts[3]) * np.tanh(c), c]


def concatenated_step(x, h_prev, c_prev, W_x, W_h, b):
    both = np.hstack([h_prev, x]) @ np.hstack([W_h, W_x]).T + b
    a = both.reshape(len(x), 4, -1)
    new = (1 - 1 / (1 + np.exp(np.clip(a[:, 1], -500, 500)))) * c_prev
    new += 0.5 * (1 + np.tanh(a[:, 0] / 2)) * np.tanh(a[:, 2])
    return 0.5 * (1 + np.tanh(a[:, 3] / 2)) * np.tanh(new), new


def row_by_row_step(x, h_prev, c_prev, W_x, W_h, b):
    h, c = np.empty_like(h_prev), np.empty_like(c_prev)
    for row in range(len(x)):
        i, f, g, o = np.split(W_x @ x[row] + W_h @ h_prev[row] + b, 4)
        c[row] = _sig(f) * c_prev[row] + _sig(i) * np.tanh(g)
        h[row] = _sig(o) * np.tanh(c[row])
    return h, c


def float32_step(x, h_prev, c_prev, W_x, W_h, b):
    return per_gate_step(*(array.astype(np.float32) for array in (x, h_prev, c_prev, W_x, W_h, b)))


def torch_step(x, h_prev, c_prev, W_x, W_h, b):
    i, f, g, o = (
        nn.functional.linear(torch.tensor(x), torch.tensor(W_x), torch.tensor(b))
        .add(nn.functional.linear(torch.tensor(h_prev), torch.tensor(W_h)))
        .chunk(4, 1)
    )
    c = f.sigmoid() * torch.tensor(c_prev) + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def in_place_on_copies_step(x, h_prev, c_prev, W_x, W_h, b):
    a = x @ W_x.T
    a += h_prev @ W_h.T
    a += b
    i, f, g, o = (part.copy() for part in np.split(a, 4, axis=-1))
    for part in (i, f, o):
        np.multiply(part, 0.5, out=part)
        np.tanh(part, out=part)
        part += 1
        part /= 2
    c = c_prev.copy()
    c *= f
    c += i * np.tanh(g)
    return o * np.tanh(c), c


STEPS = (per_gate_step, concatenated_step, row_by_row_step, float32_step, torch_step, in_place_on_copies_step)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("question", ["vector.lstm_step", "vector.lstm_step_extremes"])
def test_correct_steps_pass(step, question):
    for seed in SEEDS:
        verdict = judge(question, step, seed)
        assert verdict.passed, verdict.message


def test_backward_by_central_differences_passes():
    def numeric(d_h, d_c, *arguments):
        def loss(*arrays):
            h, c = vector.lstm_step(*arrays)
            return (d_h * h + d_c * c).sum()

        gradients = []
        for k, array in enumerate(arguments):
            gradient = np.zeros_like(array)
            for index in np.ndindex(array.shape):
                step = np.zeros_like(array)
                step[index] = 1e-5
                up = loss(*(a + step if j == k else a for j, a in enumerate(arguments)))
                down = loss(*(a - step if j == k else a for j, a in enumerate(arguments)))
                gradient[index] = (up - down) / 2e-5
            gradients.append(gradient)
        return tuple(gradients)

    assert judge("vector.lstm_step_backward", numeric).passed


def test_pytorchs_own_cell_passes():
    for part in ("FusedLSTMCell_parameters", "FusedLSTMCell", "FusedLSTMCell_gradients"):
        assert judge(f"torch.{part}", nn.LSTMCell).passed


def test_numpy_scalars_and_lists_pass():
    def step(x, h_prev, c_prev, w_x, w_h, b):
        a = np.float64(x) * np.array(w_x) + h_prev * np.array(w_h) + np.array(b)
        s = _sig(a)
        c = s[1] * c_prev + s[0] * np.tanh(a[2])
        return [s[3] * np.tanh(c), c]

    assert judge("scalar.lstm_step", step).passed
    assert judge(
        "scalar.lstm_update",
        lambda i, f, g, o, c: np.array([o * np.tanh(f * c + i * g), f * c + i * g]).tolist(),
    ).passed


def test_a_sigmoid_in_float32_passes():
    assert judge("scalar.sigmoid", lambda a: np.float32(scalar.sigmoid(a))).passed
