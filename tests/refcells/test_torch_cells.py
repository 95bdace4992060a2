"""The modules: states, lengths, initialisation, second derivatives, bad input. Peers are in tests/conformance."""

import math

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch import nn  # noqa: E402

from refcells import torch_cells as tc  # noqa: E402

B, T, D, H = 3, 5, 4, 6
CELLS = {"rnn": tc.RNNCell, "lstm": tc.LSTMCell, "gru": tc.GRUCell}
LAYERS = {"rnn": tc.RNN, "lstm": tc.LSTM, "gru": tc.GRU}


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def as_tuple(state):
    return state if isinstance(state, tuple) else (state,)


@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}], ids=["one", "deep, two"])
@pytest.mark.parametrize("name", LAYERS)
def test_lengths_equal_each_sequence_alone(name, options):
    layer = LAYERS[name](D, H, generator=seeded(1), **options)
    x, lengths = torch.randn(B, T, D, generator=seeded(2)), torch.tensor([5, 1, 3])
    output, state = layer(x, lengths=lengths)
    for row, length in enumerate(lengths.tolist()):
        alone, last = layer(x[row : row + 1, :length])
        torch.testing.assert_close(output[row : row + 1, :length], alone, rtol=0, atol=1e-6)
        assert not output[row, length:].any()
        for together, one in zip(as_tuple(state), as_tuple(last), strict=True):
            torch.testing.assert_close(together[:, row : row + 1], one, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_layer_equals_its_cell_in_a_loop(name):
    layer, cell = LAYERS[name](D, H, generator=seeded(3)), CELLS[name](D, H)
    cell.load_state_dict({key.removesuffix("_l0"): value for key, value in layer.state_dict().items()})
    x = torch.randn(B, T, D, generator=seeded(4), requires_grad=True)
    state, outputs = None, []
    for t in range(T):
        state = cell(x[:, t], state)
        outputs.append(as_tuple(state)[0])
    output, last = layer(x)
    torch.testing.assert_close(output, torch.stack(outputs, 1), rtol=0, atol=1e-6)
    for ours, theirs in zip(as_tuple(last), as_tuple(state), strict=True):
        torch.testing.assert_close(ours[0], theirs, rtol=0, atol=1e-6)
    ours, theirs = (
        torch.autograd.grad(output.sum(), x)[0],
        torch.autograd.grad(sum(o.sum() for o in outputs), x)[0],
    )
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


def test_a_split_run_equals_the_whole():
    layer = tc.LSTM(D, H, generator=seeded(5))
    x = torch.randn(B, T, D, generator=seeded(6))
    whole, _ = layer(x)
    first, state = layer(x[:, :2])
    second, _ = layer(x[:, 2:], state)
    torch.testing.assert_close(torch.cat([first, second], 1), whole, rtol=0, atol=1e-6)


def test_batch_first_only_changes_the_layout():
    layer = tc.GRU(D, H, generator=seeded(7))
    other = tc.GRU(D, H, batch_first=False)
    other.load_state_dict(layer.state_dict())
    x = torch.randn(B, T, D, generator=seeded(8))
    torch.testing.assert_close(other(x.transpose(0, 1))[0].transpose(0, 1), layer(x)[0], rtol=0, atol=0)


def test_no_gradient_is_kept_where_none_is_asked_for():
    layer = tc.LSTM(D, H, generator=seeded(9))
    with torch.no_grad():
        output, (h_n, c_n) = layer(torch.ones(B, T, D))
    assert not any(result.requires_grad for result in (output, h_n, c_n))
    frozen = tc.LSTM(D, H, generator=seeded(9)).requires_grad_(False)
    x = torch.ones(B, T, D, requires_grad=True)
    frozen(x)[0].sum().backward()
    assert x.grad.any()


def test_second_derivatives_of_the_fast_walk():
    layer = tc.LSTM(2, 3, generator=seeded(10)).double()
    x = torch.randn(2, 4, 2, dtype=torch.float64, generator=seeded(11), requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: layer(x)[0], (x,), atol=1e-8, rtol=0)


def test_reset_before_is_another_function_with_the_same_parameters():
    after, before = tc.GRU(D, H, generator=seeded(12)), tc.GRU(D, H, reset_after=False)
    before.load_state_dict(after.state_dict())
    x = torch.randn(B, T, D, generator=seeded(13))
    assert (after(x)[0] - before(x)[0]).abs().max() > 1e-3


@pytest.mark.parametrize("make", [*CELLS.values(), *LAYERS.values()])
def test_generator_decides_the_parameters(make):
    one, same, other = (make(D, H, generator=seeded(seed)) for seed in (14, 14, 15))
    for a, b, c in zip(one.parameters(), same.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
        assert not torch.equal(a, c)
        assert a.abs().max() <= 1 / math.sqrt(H)
    state = torch.get_rng_state()
    make(D, H, generator=seeded(16))
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("make", [nn.LSTM, nn.LSTMCell, tc.LSTM, tc.LSTMCell])
def test_forget_bias(make):
    module = make(D, H)
    before = {name: p.clone() for name, p in module.named_parameters()}
    tc.set_forget_bias(module, 1.5)
    for name, p in module.named_parameters():
        if name.startswith("bias"):
            i, f, g, o = p.chunk(4)
            assert (f == (1.5 if "ih" in name else 0.0)).all()
            kept = before[name].chunk(4)
            assert all(torch.equal(a, b) for a, b in zip((i, g, o), (kept[0], *kept[2:]), strict=True))
        else:
            assert torch.equal(p, before[name])


@pytest.mark.parametrize(
    "make", [nn.LSTM, nn.LSTMCell, tc.LSTM, tc.LSTMCell, nn.GRU, nn.GRUCell, tc.GRU, tc.GRUCell]
)
def test_chrono_initialisation(make):
    module = nn.Sequential(make(D, 500))
    before = {name: p.clone() for name, p in module.named_parameters()}
    longest = 50
    tc.chrono_init(module, longest=longest, generator=seeded(17))
    blocks = next(iter(before.values())).shape[0] // 500
    total = sum(p for name, p in module.named_parameters() if "bias" in name).chunk(blocks)
    untouched = sum(p for name, p in before.items() if "bias" in name).chunk(blocks)
    kept = total[1]
    assert kept.min() >= 0
    assert kept.max() <= math.log(longest - 1)
    assert kept.exp().mean().item() == pytest.approx(longest / 2, rel=0.1)
    if blocks == 4:
        torch.testing.assert_close(total[0], -total[1], rtol=0, atol=0)
    changed = (1,) if blocks == 3 else (0, 1)
    for k in range(blocks):
        assert (k in changed) != torch.equal(total[k], untouched[k])
    for name, p in module.named_parameters():
        assert torch.equal(p, before[name]) == ("weight" in name)


def test_chrono_units_remember_as_long_as_their_bias_says():
    """A GRU unit that only keeps loses its state by the factor sigma(b_z) a step: a span of 1 + u steps."""
    cell = tc.GRUCell(1, 50)
    with torch.no_grad():
        for p in cell.parameters():
            p.zero_()
    tc.chrono_init(cell, longest=30, generator=seeded(18))
    factor = cell(torch.zeros(1, 1), torch.ones(1, 50))[0]
    u = cell.bias_ih.chunk(3)[1].exp()
    torch.testing.assert_close(1 / (1 - factor), 1 + u, rtol=1e-4, atol=0)


X = torch.ones(B, T, D)
GRU = tc.GRU(D, H)
LSTM = tc.LSTM(D, H)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tc.RNNCell(0, H), r"input_size is 0; expected a positive whole number"),
        (lambda: tc.LSTMCell(D, -1), r"hidden_size is -1; expected a positive whole number"),
        (lambda: tc.GRU(D, 2.5), r"hidden_size is 2.5; expected a positive whole number"),
        (lambda: tc.LSTM(D, H, num_layers=0), r"num_layers is 0; expected a positive whole number"),
        (lambda: tc.RNN(D, H, nonlinearity="gelu"), r"nonlinearity is 'gelu'; expected 'tanh' or 'relu'"),
        (lambda: tc.RNNCell(D, H, "gelu"), r"nonlinearity is 'gelu'"),
        (
            lambda: tc.LSTMCell(D, H)(X),
            r"x has shape \(3, 5, 4\): 3 axes came, 2 were expected, \(batch, input\)",
        ),
        (lambda: tc.LSTMCell(D, H)(X[:, 0], X[:, 0]), r"state is a Tensor; expected a tuple of 2: h, c"),
        (lambda: tc.LSTMCell(D, H)(X[:, 0], (X[:, 0],)), r"state is 1 values; expected a tuple of 2: h, c"),
        (
            lambda: tc.GRUCell(D, H)(X[:, 0], X[:, 0]),
            r"state h has shape \(3, 4\); expected .* with hidden = 6",
        ),
        (
            lambda: tc.RNNCell(D, H)(X[:, 0], torch.ones(2, H)),
            r"state h has shape \(2, 6\); expected .* batch = 3",
        ),
        (lambda: LSTM([1.0]), r"x is a list; expected a torch.Tensor \(batch, time, input\)"),
        (lambda: LSTM(X.long()), r"x has dtype torch.int64; expected torch.float32, as the parameters"),
        (
            lambda: GRU(X.double()),
            r"x has dtype torch.float64; expected torch.float32, as the parameters have",
        ),
        (
            lambda: GRU(X, torch.ones(1, B, H).half()),
            r"state h has dtype torch.float16; expected torch.float32",
        ),
        (
            lambda: LSTM(X[..., :2]),
            r"x has shape \(3, 5, 2\); expected \(batch, time, input\) with input = 4",
        ),
        (lambda: LSTM(X[:0]), r"x has shape \(0, 5, 4\): its axis 'batch' is empty"),
        (lambda: GRU(X[:, :0]), r"x has shape \(3, 0, 4\): its axis 'time' is empty"),
        (lambda: tc.RNN(D, H)(X * math.nan), r"x holds a NaN or an infinity; expected finite numbers"),
        (lambda: LSTM(X * math.inf), r"x holds a NaN or an infinity"),
        (
            lambda: LSTM(X, (torch.ones(B, 1, H),) * 2),
            r"state h has shape \(3, 1, 6\); expected .* directions = 1",
        ),
        (lambda: GRU(X, torch.full((1, B, H), math.nan)), r"state h holds a NaN"),
        (lambda: GRU(X, lengths=[5, 1, 3]), r"lengths is list; expected a torch.Tensor of whole numbers"),
        (lambda: GRU(X, lengths=torch.ones(B)), r"lengths is torch.float32; expected"),
        (
            lambda: GRU(X, lengths=torch.tensor([5, 1])),
            r"lengths has shape \(2,\); expected \(batch,\) = \(3,\)",
        ),
        (lambda: LSTM(X, lengths=torch.tensor([5, 0, 1])), r"lengths\[1\] is 0; expected 1 to 5"),
        (
            lambda: tc.set_forget_bias(nn.GRU(D, H)),
            r"GRU.bias_ih_l0 stacks 3 gate blocks; expected 4 \(an LSTM\)",
        ),
        (lambda: tc.set_forget_bias(nn.Linear(D, H)), r"Linear holds no recurrent biases; expected an LSTM"),
        (
            lambda: tc.chrono_init(nn.RNN(D, H), 10, seeded(0)),
            r"RNN.bias_ih_l0 stacks 1 gate block; expected 3",
        ),
        (
            lambda: tc.chrono_init(nn.LSTM(D, H), 1, seeded(0)),
            r"longest is 1; expected at least 2 time steps",
        ),
        (lambda: tc.chrono_init(nn.Linear(D, H), 9, seeded(0)), r"Linear holds no recurrent biases"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_number_of_layers_is_no_third_position():
    """nn.LSTM's third position is num_layers, others' is batch_first: here both have to be named."""
    with pytest.raises(TypeError):
        tc.LSTM(D, H, 2)
