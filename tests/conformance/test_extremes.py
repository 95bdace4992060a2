"""Our modules beside torch.nn on whatever sizes, lengths and magnitudes hypothesis thinks of."""

import pytest

torch = pytest.importorskip(
    "torch", reason="torch is not installed (pip install learning-to-remember[torch])"
)
pytest.importorskip(
    "hypothesis", reason="hypothesis is not installed (pip install learning-to-remember[test])"
)

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence  # noqa: E402

from refcells import torch_cells  # noqa: E402


@settings(max_examples=80, deadline=None, derandomize=True)
@given(data=st.data())
@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_layers(name, data):
    """Sizes from 1 up, inputs up to +-1e3, weights up to ten times their usual size; values and gradients of x."""
    b, t, d, h, layers = (data.draw(st.integers(1, 4), label) for label in ("B", "T", "D", "H", "layers"))
    both = data.draw(st.booleans(), "bidirectional")
    lengths = data.draw(st.none() | st.lists(st.integers(1, t), min_size=b, max_size=b).map(torch.tensor))
    scale = data.draw(st.sampled_from([0.0, 1e-6, 1.0, 1e3]), "scale of x")
    weight_scale = data.draw(st.sampled_from([1.0, 10.0]), "scale of the weights")
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 2**31), "seed"))
    module = getattr(torch_cells, name)(
        d, h, num_layers=layers, bidirectional=both, generator=generator
    ).double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(weight_scale)
    peer = getattr(nn, name)(d, h, layers, batch_first=True, bidirectional=both).double()
    peer.load_state_dict(module.state_dict())
    x = scale * torch.randn(b, t, d, dtype=torch.float64, generator=generator)
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    output, state = module(ours, lengths=lengths)
    if lengths is None:
        wanted, last = peer(theirs)
    else:
        wanted, last = peer(pack_padded_sequence(theirs, lengths, batch_first=True, enforce_sorted=False))
        wanted, _ = pad_packed_sequence(wanted, batch_first=True, total_length=t)
    # Rounding in pre-activations grows with them, and large weights pass it on enlarged from step to step.
    tolerance = 1e-11 * max(1.0, scale)
    torch.testing.assert_close(output, wanted, rtol=0, atol=tolerance)
    pairs = zip(state, last, strict=True) if name == "LSTM" else [(state, last)]
    for mine, peers in pairs:
        torch.testing.assert_close(mine, peers, rtol=0, atol=tolerance * max(1.0, peers.abs().max().item()))
    output.sum().backward()
    wanted.sum().backward()
    size = max(1.0, theirs.grad.abs().max().item())
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=0, atol=tolerance * size)
