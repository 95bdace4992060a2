"""torch.nn as the peer: values and gradients of every module and walk, packed sequences, state dicts both ways."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip(
    "torch", reason="torch is not installed (pip install learning-to-remember[torch])"
)

from peers import BLOCKS, arguments  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence  # noqa: E402

from refcells import backward as bw  # noqa: E402
from refcells import interop, torch_cells  # noqa: E402
from refcells.bidirectional import bidirectional_backward, bidirectional_forward, last_state  # noqa: E402

B, T, D, H = 3, 6, 5, 4
LENGTHS = [6, 1, 4]
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}
KINDS = [("rnn", "tanh"), ("rnn", "relu"), ("lstm", None), ("gru", None)]

LAYER_CASES = list(
    itertools.product(
        KINDS, TOLERANCE, (1, 2, 3), (False, True), (False, True), (None, LENGTHS), (False, True)
    )
)
CELL_CASES = list(itertools.product(KINDS, TOLERANCE, (False, True)))
NUMPY_CASES = list(itertools.product(KINDS, TOLERANCE, (False, True), (None, LENGTHS)))


def test_number_of_cases():
    assert (len(LAYER_CASES), len(CELL_CASES), len(NUMPY_CASES)) == (384, 16, 32)


def pair(kind, ours, theirs, *sizes, **options):
    """Our module and PyTorch's, with the same parameters, after they have gone both ways."""
    if kind[1]:
        options["nonlinearity"] = kind[1]
    dtype = options.pop("dtype")
    peer = getattr(nn, theirs)(*sizes, **options).to(dtype)
    module = getattr(torch_cells, ours)(*sizes, **options).to(dtype)
    assert list(module.state_dict()) == list(peer.state_dict())
    module.load_state_dict(peer.state_dict())
    again = getattr(nn, theirs)(*sizes, **options).to(dtype)
    again.load_state_dict(module.state_dict())
    return module, again


def name_of(kind):
    return {"rnn": "RNN", "lstm": "LSTM", "gru": "GRU"}[kind[0]]


def tensors(state):
    return [] if state is None else list(state) if isinstance(state, tuple) else [state]


def state_for(kind, shape, dtype, generator):
    states = [torch.randn(shape, dtype=dtype, generator=generator) for _ in range(1 + (kind[0] == "lstm"))]
    return tuple(states) if len(states) == 2 else states[0]


def copied(value):
    if isinstance(value, tuple):
        return tuple(copied(v) for v in value)
    return None if value is None else value.clone().requires_grad_()


def compare(ours, theirs, tolerance, what):
    """Elementwise, relative to the largest element of the peer's."""
    assert (ours is None) == (theirs is None), what
    if ours is not None:
        assert ours.shape == theirs.shape, what
        size = max(1.0, theirs.abs().max().item())
        assert (ours - theirs).abs().max().item() <= tolerance * size, what


def check(module, peer, call_ours, call_peer, inputs, dtype, generator):
    """Values, then gradients of a random combination of everything that comes out."""
    results = []
    weights = None
    for call, part in ((call_ours, module), (call_peer, peer)):
        given = [copied(value) for value in inputs]
        out = [t for result in call(*given) for t in tensors(result)]
        if weights is None:
            weights = [torch.randn(t.shape, dtype=dtype, generator=generator) for t in out]
        part.zero_grad()
        sum((t * w).sum() for t, w in zip(out, weights, strict=True)).backward()
        gradients = [t.grad for value in given for t in tensors(value)] + [p.grad for p in part.parameters()]
        results.append((out, gradients))
    (ours, d_ours), (theirs, d_theirs) = results
    for kind, left, right in (("value", ours, theirs), ("gradient", d_ours, d_theirs)):
        for k, (a, b) in enumerate(zip(left, right, strict=True)):
            compare(a, b, TOLERANCE[dtype], f"{kind} {k}")


@pytest.mark.parametrize(
    ("kind", "dtype", "layers", "both", "batch_first", "lengths", "initial"), LAYER_CASES
)
def test_layers(kind, dtype, layers, both, batch_first, lengths, initial):
    generator = torch.Generator().manual_seed(51)
    module, peer = pair(
        kind, name_of(kind), name_of(kind), D, H,
        num_layers=layers, bidirectional=both, batch_first=batch_first, dtype=dtype,
    )  # fmt: skip
    x = torch.randn((B, T, D) if batch_first else (T, B, D), dtype=dtype, generator=generator)
    state = state_for(kind, (layers * (1 + both), B, H), dtype, generator) if initial else None

    def call_peer(x, state):
        if lengths is None:
            return peer(x, state)
        packed = pack_padded_sequence(x, torch.tensor(lengths), batch_first=batch_first, enforce_sorted=False)
        output, last = peer(packed, state)
        return pad_packed_sequence(output, batch_first=batch_first)[0], last

    given = None if lengths is None else torch.tensor(lengths)
    check(module, peer, lambda x, state: module(x, state, given), call_peer, (x, state), dtype, generator)


@pytest.mark.parametrize(("kind", "dtype", "initial"), CELL_CASES)
def test_cells(kind, dtype, initial):
    generator = torch.Generator().manual_seed(52)
    name = name_of(kind) + "Cell"
    module, peer = pair(kind, name, name, D, H, dtype=dtype)
    x = torch.randn(B, D, dtype=dtype, generator=generator)
    state = state_for(kind, (B, H), dtype, generator) if initial else None
    check(
        module, peer, lambda *a: (module(*a),), lambda *a: (peer(*a),), (x, state), dtype, generator
    )  # fmt: skip


@pytest.mark.parametrize(("kind", "dtype", "both", "lengths"), NUMPY_CASES)
def test_numpy_walks_and_their_bptt(kind, dtype, both, lengths):
    """Through `interop`: outputs, last states, and the gradients of x, every weight and bias, and the states."""
    generator = torch.Generator().manual_seed(53)
    cell, nonlinearity = kind
    options = {"nonlinearity": nonlinearity} if nonlinearity else {}
    peer = getattr(nn, name_of(kind))(D, H, batch_first=True, bidirectional=both, **options).to(dtype)
    x = torch.randn(B, T, D, dtype=dtype, generator=generator, requires_grad=True)
    state = copied(state_for(kind, (1 + both, B, H), dtype, generator))
    fed = x if lengths is None else pack_padded_sequence(x, torch.tensor(lengths), True, enforce_sorted=False)
    output, last = peer(fed, state)
    if lengths is not None:
        output, _ = pad_packed_sequence(output, batch_first=True)
    d_output = torch.randn(output.shape, dtype=dtype, generator=generator)
    d_h = torch.randn(1 + both, B, H, dtype=dtype, generator=generator)
    ((output * d_output).sum() + (tensors(last)[0] * d_h).sum()).backward()

    given = None if lengths is None else np.array(lengths)
    walks, weights, states = [], [], []
    for d in range(1 + both):
        w = interop.from_torch(cell, peer.state_dict(), layer=0, reverse=bool(d))
        walk, ordered = arguments(cell, w, linear_before_reset=True, activation=nonlinearity)
        walks.append(walk)
        weights.append(ordered)
        states.append([s[d].detach().numpy() for s in tensors(state)])
    back = {"rnn": bw.rnn_backward, "lstm": bw.lstm_backward, "gru": bw.gru_reset_after_backward}[cell]
    d_out, d_state = d_output.numpy(), d_h.numpy()
    inputs = x.detach().numpy()
    if both:
        run = bidirectional_forward(walks[0], inputs, *weights, given, "concat", *states)
        ours, runs = run.output, [run.forward, run.backward]
        compare(
            torch.from_numpy(last_state(run)),
            torch.cat(tuple(tensors(last)[0]), 1).detach(),
            1e-5,
            "last state",
        )
        gradients = bidirectional_backward(back, run, d_out, np.concatenate(tuple(d_state), axis=1))
        parts, d_x = [gradients.forward, gradients.backward], gradients.x
    else:
        run = walks[0](inputs, *weights[0], *states[0], lengths=given)
        ours, runs = run.output, [run]
        parts = [back(run, d_out, d_state[0])]
        d_x = parts[0].x

    tolerance = TOLERANCE[dtype]
    assert ours.dtype == inputs.dtype
    compare(torch.from_numpy(np.ascontiguousarray(ours)), output.detach(), tolerance, "output")
    compare(torch.from_numpy(np.ascontiguousarray(d_x)), x.grad, tolerance, "gradient of x")
    grads = {name: p.grad.numpy() for name, p in peer.named_parameters()}
    for d, (part, single) in enumerate(zip(parts, runs, strict=True)):
        for k, theirs in enumerate(tensors(last)):
            compare(
                torch.from_numpy((single.h_n, getattr(single, "c_n", None))[k]),
                theirs[d].detach(),
                tolerance,
                "last",
            )
        for k, theirs in enumerate(tensors(state)):
            mine = torch.from_numpy((part.h0, getattr(part, "c0", None))[k])
            compare(mine, theirs.grad[d], tolerance, "gradient of the initial state")
        wanted = interop.from_torch(cell, grads, layer=0, reverse=bool(d))
        pairs = [(part.W_x, wanted.W_x), (part.W_h, wanted.W_h)]
        if cell == "gru":
            pairs += [(part.b_x, wanted.b_x), (part.b_h, wanted.b_h)]
        else:
            pairs += [(part.b, wanted.b_x), (part.b, wanted.b_h)]
        for mine, theirs in pairs:
            compare(torch.from_numpy(mine), torch.from_numpy(theirs), tolerance, "gradient of a weight")


@pytest.mark.parametrize("cell", BLOCKS)
def test_at_the_size_that_the_benchmark_uses(cell):
    """Rounding grows with time steps and units: float32 at T = 100, H = 128, relative to the largest element."""
    generator = torch.Generator().manual_seed(54)
    name = name_of((cell, None))
    module, peer = pair((cell, None), name, name, 64, 128, batch_first=True, dtype=torch.float32)
    x = torch.randn(8, 100, 64, generator=generator)
    check(module, peer, lambda x: module(x), lambda x: peer(x), (x,), torch.float32, generator)


@pytest.mark.parametrize("cell", BLOCKS)
def test_our_reset_before_gru_and_others_against_numpy(cell):
    """The torch modules against the NumPy walks, where torch.nn has no peer: the reset before the product."""
    generator = torch.Generator().manual_seed(55)
    options = {"reset_after": False} if cell == "gru" else {}
    layer = getattr(torch_cells, name_of((cell, None)))(D, H, generator=generator, **options).double()
    x = torch.randn(B, T, D, dtype=torch.float64, generator=generator)
    w = interop.from_torch(cell, layer.state_dict(), layer=0)
    walk, weights = arguments(cell, w, linear_before_reset=False)
    run = walk(x.numpy(), *weights, lengths=np.array(LENGTHS))
    output, last = layer(x, lengths=torch.tensor(LENGTHS))
    compare(torch.from_numpy(np.ascontiguousarray(run.output)), output.detach(), 1e-12, "output")
    compare(torch.from_numpy(run.h_n), tensors(last)[0][0].detach(), 1e-12, "last state")
