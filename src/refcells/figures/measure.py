"""What the book's plots show, measured on the course's own cells.

Each function takes its seed or generator, says what it measures, and returns plain data: a page plots it and
quotes it. torch is imported where it is used, so that the diagrams need only NumPy.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from refcells.backward import gru_reset_after_backward, lstm_backward, rnn_backward
from refcells.interop import from_torch
from refcells.vector import LSTMRun, gru_reset_after_forward, lstm_forward, rnn_forward, tanh_derivative

if TYPE_CHECKING:
    import torch

__all__ = [
    "INITIALISATIONS",
    "LAYERS",
    "DirectAgainstFull",
    "Run",
    "agreement_sentences",
    "cell_state_jacobian",
    "direct_against_full",
    "gradient_by_lag",
    "hidden_state_jacobian",
    "layer_with",
    "per_step_factor",
    "remember_first_run",
    "weights_of",
]

# Name on the page, in the order of the legends: what the LSTM chapter compares, and everything that can be built.
INITIALISATIONS = ("RNN, default", "LSTM, default", "LSTM, forget bias 1", "LSTM, chrono")
LAYERS = ("RNN, default", "RNN, orthogonal", *INITIALISATIONS[1:], "GRU, default", "GRU, chrono")


def layer_with(
    initialisation: str, input_size: int, hidden_size: int, longest: int, generator: "torch.Generator"
) -> Any:
    """A batch-first PyTorch layer with one of the initialisations that the course compares.

    Args:
        initialisation: one of `LAYERS`. 'orthogonal' draws W_h of a plain RNN as a random orthogonal matrix.
        input_size: width of the inputs.
        hidden_size: width of the states.
        longest: longest lag to remember, in time steps, for the chrono initialisation.
        generator: source of all random numbers.

    Raises:
        ValueError: for another name.
    """
    from torch import nn

    from refcells.torch_cells import chrono_init, set_forget_bias
    from refcells.training import redraw

    if initialisation not in LAYERS:
        raise ValueError(f"initialisation is {initialisation!r}; expected one of {LAYERS}")
    cell, start = initialisation.split(", ")
    kind = {"RNN": nn.RNN, "LSTM": nn.LSTM, "GRU": nn.GRU}[cell]
    layer = kind(input_size, hidden_size, batch_first=True)
    redraw(layer, generator)
    if start == "forget bias 1":
        set_forget_bias(layer, 1.0)
    elif start == "chrono":
        chrono_init(layer, longest=longest, generator=generator)
    elif start == "orthogonal":
        nn.init.orthogonal_(layer.weight_hh_l0, generator=generator)
    return layer


def weights_of(layer: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`(W_x, W_h, b)` of a one-layer PyTorch RNN or LSTM, in float64; b is the sum of its two biases."""
    W_x, W_h, b_x, b_h = (p.detach().double().numpy() for p in layer.parameters())
    return W_x, W_h, b_x + b_h


def cell_state_jacobian(run: LSTMRun, b: np.ndarray, lag: int, of: str = "c") -> np.ndarray:
    r"""Total derivative of the last state of a run with respect to the cell state `lag` steps earlier.

    $c_{T-k}$ acts on what follows by itself and through $h_{T-k} = o \odot \tanh(c_{T-k})$; both are counted,
    with o held, since o does not depend on $c_{T-k}$. All H rows come from one backward pass: the last k
    steps are run as a batch of H copies, and copy j is given the gradient of unit j alone.

    Args:
        run: a run over one sequence (batch of 1).
        b: the biases it was run with.
        lag: number of time steps k, from 1 to T.
        of: 'c' for the cell state $c_T$, 'h' for the hidden state $h_T$.

    Returns:
        Matrix (H, H), `J[i, j]` = d state_T[i] / d c_{T-k}[j].

    Raises:
        ValueError: for another `of`, a batch that is not 1, or a lag outside 1..T.
    """
    steps, batch, hidden = run.tanh_c.shape
    if of not in ("c", "h"):
        raise ValueError(f"of is {of!r}; expected 'c' or 'h'")
    if batch != 1 or not 1 <= lag <= steps:
        raise ValueError(f"batch {batch} and lag {lag} came; expected batch 1 and a lag of 1 to {steps}")
    start = steps - lag
    copies = lstm_forward(
        np.repeat(run.x[:, start:], hidden, axis=0),
        run.W_x,
        run.W_h,
        b,
        h0=np.repeat(run.h[start], hidden, axis=0),
        c0=np.repeat(run.c[start], hidden, axis=0),
    )
    one_each = np.eye(hidden)
    gradients = lstm_backward(copies, **{f"d_{of}_n": one_each})
    if start == 0:
        # h_0 and c_0 are given: there is no output gate before the first step, and c_0 acts by itself.
        return gradients.c0
    o = run.gate("o")[0, start - 1]
    return gradients.c0 + gradients.h0 * (o * tanh_derivative(run.tanh_c[start - 1, 0]))


def hidden_state_jacobian(layer: Any, x: np.ndarray, lag: int) -> np.ndarray:
    """Total derivative of the last hidden state with respect to the hidden state `lag` steps earlier.

    All H rows come from one backward pass, as in `cell_state_jacobian`.

    Args:
        layer: a one-layer `nn.RNN` (tanh) or `nn.GRU`.
        x: one sequence (1, T, D), float64; the walk starts from a zero state.
        lag: number of time steps k, from 1 to T.

    Returns:
        Matrix (H, H), `J[i, j]` = d h_T[i] / d h_{T-k}[j].

    Raises:
        ValueError: for more than one sequence, or a lag outside 1..T.
    """
    batch, steps, _ = x.shape
    if batch != 1 or not 1 <= lag <= steps:
        raise ValueError(f"batch {batch} and lag {lag} came; expected batch 1 and a lag of 1 to {steps}")
    hidden = layer.hidden_size
    forward: Any = gru_reset_after_forward if layer.mode == "GRU" else rnn_forward
    backward: Any = gru_reset_after_backward if layer.mode == "GRU" else rnn_backward
    state = {name: value.detach().double() for name, value in layer.state_dict().items()}
    weights: Any = from_torch("gru" if layer.mode == "GRU" else "rnn", state, layer=0)
    weights = weights[:4] if layer.mode == "GRU" else weights.merged()
    h = forward(x, *weights).h[steps - lag]
    copies = np.repeat(x[:, steps - lag :], hidden, axis=0)
    run = forward(copies, *weights, np.repeat(h, hidden, axis=0))
    return backward(run, d_h_n=np.eye(hidden)).h0


@dataclass(frozen=True)
class DirectAgainstFull:
    """The direct path beside the full Jacobian, by lag.

    Attributes:
        lags: number of time steps k.
        direct: Frobenius norm of the product of the k forget gates, as a diagonal matrix, over sqrt(H).
        full: Frobenius norm of d c_T / d c_{T-k}, over sqrt(H).
        off: norm of their difference, relative to the norm of the full Jacobian.
    """

    lags: np.ndarray
    direct: np.ndarray
    full: np.ndarray
    off: np.ndarray


def direct_against_full(
    generator: "torch.Generator",
    *,
    scale: float = 1.0,
    initialisation: str = "LSTM, default",
    hidden: int = 32,
    inputs: int = 8,
    lags: tuple[int, ...] = (1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100),
) -> DirectAgainstFull:
    """Measure what the direct path leaves out, on one random LSTM and one sequence of standard normal inputs.

    Args:
        generator: source of weights and inputs.
        scale: factor on the recurrent weights after their initialisation.
        initialisation: one of the LSTM's in `INITIALISATIONS`.
        hidden: width of the states.
        inputs: width of the inputs.
        lags: numbers of time steps.
    """
    import torch

    layer = layer_with(initialisation, inputs, hidden, max(lags), generator)
    W_x, W_h, b = weights_of(layer)
    # Ten steps more than the largest lag, so that the walk has left its zero state behind.
    x = torch.randn(1, max(lags) + 10, inputs, generator=generator, dtype=torch.float64).numpy()
    run = lstm_forward(x, W_x, scale * W_h, b)
    forget = run.gate("f")[0]
    direct, full, off = [], [], []
    for lag in lags:
        J = cell_state_jacobian(run, b, lag)
        path = np.diag(np.prod(forget[-lag:], axis=0))
        direct.append(np.linalg.norm(path) / np.sqrt(hidden))
        full.append(np.linalg.norm(J) / np.sqrt(hidden))
        off.append(np.linalg.norm(J - path) / np.linalg.norm(J))
    return DirectAgainstFull(np.array(lags), np.array(direct), np.array(full), np.array(off))


def gradient_by_lag(
    initialisation: str,
    generator: "torch.Generator",
    *,
    hidden: int = 32,
    inputs: int = 8,
    lags: tuple[int, ...] = (1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100),
) -> np.ndarray:
    """Norm of d h_T / d state_{T-k} over sqrt(H), by lag k; the state is c for the LSTM, h for RNN and GRU.

    The GRU is PyTorch's, with the reset gate after the product.

    Args:
        initialisation: one of `LAYERS`.
        generator: source of weights and of standard normal inputs.
        hidden: width of the states.
        inputs: width of the inputs.
        lags: numbers of time steps, ascending.

    Returns:
        One number a lag.
    """
    import torch

    layer = layer_with(initialisation, inputs, hidden, max(lags), generator)
    x = torch.randn(1, max(lags) + 10, inputs, generator=generator, dtype=torch.float64).numpy()
    if initialisation.startswith("LSTM"):
        W_x, W_h, b = weights_of(layer)
        run = lstm_forward(x, W_x, W_h, b)
        jacobians = [cell_state_jacobian(run, b, lag, of="h") for lag in lags]
    else:
        jacobians = [hidden_state_jacobian(layer, x, lag) for lag in lags]
    return np.array([np.linalg.norm(J) / np.sqrt(hidden) for J in jacobians])


def per_step_factor(lags: np.ndarray, norms: np.ndarray, first: int = 10) -> float:
    """The factor a step of a decaying norm: exp of the slope of its logarithm from lag `first` on."""
    lags, norms = np.asarray(lags), np.asarray(norms)
    late = lags >= first
    return float(np.exp(np.polyfit(lags[late], np.log(norms[late]), 1)[0]))


@dataclass(frozen=True)
class Run:
    """One training run on remember-first.

    Attributes:
        initialisation: one of `INITIALISATIONS`.
        lr: Adam's learning rate.
        seed: seed of the generator.
        accuracy: held-out accuracy after the last update.
        reached: updates after which 99.5 percent were reached; None if they were not.
    """

    initialisation: str
    lr: float
    seed: int
    accuracy: float
    reached: int | None


def remember_first_run(
    initialisation: str,
    *,
    lr: float,
    seed: int,
    steps: int = 20,
    updates: int = 300,
    hidden: int = 32,
    batch: int = 64,
    symbols: int = 8,
    held_out: int = 512,
) -> Run:
    """Train one layer on remember-first with Adam and clipping at 1; measure it on sequences it has not seen.

    Args:
        initialisation: one of `INITIALISATIONS`; chrono is told `steps` as the longest lag.
        lr: Adam's learning rate.
        seed: seed of weights, training and held-out sequences.
        steps: sequence length, in time steps.
        updates: largest number of updates; a run stops early at 99.5 percent.
        hidden: width of the states.
        batch: sequences in an update.
        symbols: number of symbols; chance is 1 / symbols.
        held_out: sequences in the held-out batch.
    """
    import torch

    from refcells.tasks import remember_first
    from refcells.training import LastStepClassifier, fit, redraw

    generator = torch.Generator().manual_seed(seed)
    layer = layer_with(initialisation, symbols, hidden, steps, generator)
    model = LastStepClassifier(layer, hidden, symbols)
    redraw(model.linear, generator)
    history = fit(
        model,
        lambda: remember_first(batch, steps, symbols, generator=generator),
        remember_first(held_out, steps, symbols, generator=generator),
        lr=lr,
        updates=updates,
        target=0.995,
    )
    return Run(initialisation, lr, seed, history.metric[-1], history.reached)


SINGULAR, PLURAL = ("key", "lamp", "book", "door"), ("keys", "lamps", "books", "doors")
PREPOSITIONS = ("on", "by", "under", "near")
VOCABULARY = ("the", *PREPOSITIONS, *SINGULAR, *PLURAL)


def agreement_sentences(
    batch: int, phrases: int, *, generator: "torch.Generator"
) -> tuple["torch.Tensor", "torch.Tensor", list[list[str]]]:
    """Sentences such as 'the keys by the door under the lamp', to be continued by 'was' or 'were'.

    The verb agrees with the first noun; each later noun, drawn on its own, may have the other number.

    Args:
        batch: number of sentences.
        phrases: number of prepositional phrases after the first noun.
        generator: source of the random words.

    Returns:
        `(x, y, words)`: one-hot words (batch, 2 + 3 * phrases, vocabulary), y (batch,) with 0 for 'was' and 1
        for 'were', and the words themselves.

    Source:
        The number-agreement task of Linzen, Dupoux and Goldberg (2016), on a grammar small enough to print.
    """
    import torch

    def pick(options: tuple[str, ...]) -> str:
        return options[int(torch.randint(len(options), (1,), generator=generator))]

    sentences: list[list[str]] = []
    for _ in range(batch):
        words = ["the", pick(SINGULAR + PLURAL)]
        for _ in range(phrases):
            words += [pick(PREPOSITIONS), "the", pick(SINGULAR + PLURAL)]
        sentences.append(words)
    indices = torch.tensor([[VOCABULARY.index(word) for word in words] for words in sentences])
    y = torch.tensor([int(words[1] in PLURAL) for words in sentences])
    return torch.nn.functional.one_hot(indices, len(VOCABULARY)).float(), y, sentences
