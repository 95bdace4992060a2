"""PyTorch's own numerical differentiation on every module, first and second derivatives."""

import itertools

import pytest

torch = pytest.importorskip(
    "torch", reason="torch is not installed (pip install learning-to-remember[torch])"
)

from refcells import torch_cells as tc  # noqa: E402

B, T, D, H = 2, 3, 2, 3
CELLS = [tc.RNNCell, tc.LSTMCell, tc.GRUCell]
LAYERS = [tc.RNN, tc.LSTM, tc.GRU]
LENGTHS = torch.tensor([3, 1])
LAYER_CASES = list(itertools.product(LAYERS, (False, True), (None, LENGTHS)))


def test_number_of_cases():
    assert (len(CELLS), len(LAYER_CASES)) == (3, 12)


def problem(module, x_shape, state_shape, **given):
    """A function of x, the states and every parameter, and seeded values for them."""
    generator = torch.Generator().manual_seed(61)
    names = list(dict(module.named_parameters()))
    count = 2 if "LSTM" in type(module).__name__ else 1
    shapes = [x_shape, *[state_shape] * count]
    values = [torch.randn(s, dtype=torch.float64, generator=generator, requires_grad=True) for s in shapes]
    values += [p.detach().clone().requires_grad_() for p in module.parameters()]

    def function(x, *rest):
        state = rest[:count] if count == 2 else rest[0]
        parameters = dict(zip(names, rest[count:], strict=True))
        results = torch.func.functional_call(module, parameters, (x, state), given)
        flat = []
        for result in results if isinstance(results, tuple) else (results,):
            flat += result if isinstance(result, tuple) else [result]
        return tuple(flat)

    return function, values


@pytest.mark.parametrize("check", [torch.autograd.gradcheck, torch.autograd.gradgradcheck])
@pytest.mark.parametrize("make", CELLS)
def test_cells(make, check):
    module = make(D, H, generator=torch.Generator().manual_seed(62)).double()
    function, values = problem(module, (B, D), (B, H))
    assert check(function, tuple(values), atol=1e-8, rtol=0)


@pytest.mark.parametrize(("make", "both", "lengths"), LAYER_CASES)
def test_layers(make, both, lengths):
    module = make(D, H, bidirectional=both, generator=torch.Generator().manual_seed(63)).double()
    function, values = problem(module, (B, T, D), (1 + both, B, H), lengths=lengths)
    assert torch.autograd.gradcheck(function, tuple(values), atol=1e-8, rtol=0)


@pytest.mark.parametrize("make", LAYERS)
def test_layers_twice(make):
    module = make(D, 2, generator=torch.Generator().manual_seed(64)).double()
    function, values = problem(module, (B, T, D), (1, B, 2))
    assert torch.autograd.gradgradcheck(function, tuple(values), atol=1e-8, rtol=0)


def test_reset_before_gru():
    module = tc.GRU(D, H, reset_after=False, generator=torch.Generator().manual_seed(65)).double()
    function, values = problem(module, (B, T, D), (1, B, H))
    assert torch.autograd.gradcheck(function, tuple(values), atol=1e-8, rtol=0)
