"""Questions about gradients that are measured: central differences, and how a gradient's size changes with the lag."""

from collections.abc import Callable

import numpy as np

from refcells.autotest.array_probes import of_a_loss
from refcells.autotest.arrays import Array, D, H, T, away_from_zero
from refcells.autotest.compare import Output
from refcells.autotest.mistakes import mistake, within
from refcells.autotest.vector_rnn import JACOBIAN_MISTAKES, _weights, rnn_step, rnn_step_jacobian
from refcells.autotest.verdict import Case, Question


def numeric_gradient(f: Callable[[Array], float], x: Array, eps: float) -> Array:
    """Gradient of a function with one number as its value, by central differences."""
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[index] += eps
        down[index] -= eps
        gradient[index] = (f(up) - f(down)) / (2 * eps)
    return gradient


def relative_error(analytic: Array, numeric: Array) -> float:
    """Distance of two gradients, relative to the sum of their norms: 0 if they are equal, 1 if they are opposite."""
    size = np.linalg.norm(analytic) + np.linalg.norm(numeric)
    if size == 0.0:
        return 0.0
    return float(np.linalg.norm(analytic - numeric) / size)


def jacobian_norms(x: Array, W_x: Array, W_h: Array, b: Array, h0: Array) -> Array:
    """Spectral norms of d h_T / d h_{T-k} for the lags k = 1..T of one sequence (time, input)."""
    states = [h0]
    for t in range(len(x)):
        states.append(rnn_step(x[t], states[-1], W_x, W_h, b))
    product = np.eye(len(h0))
    norms = []
    for t in reversed(range(len(x))):
        product = product @ rnn_step_jacobian(x[t], states[t], W_x, W_h, b)
        norms.append(np.linalg.norm(product, 2))
    return np.array(norms)


# --- cases ----------------------------------------------------------------------------------------------------------


def _difference_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    vector, matrix, small = away_from_zero(rng, 5), away_from_zero(rng, 2, 3), away_from_zero(rng, 2, 2)
    # Steps so large that the kinds of differences differ.
    return [
        Case("a vector and a step of 0.1", (vector, away_from_zero(rng, 5), 0.1)),
        Case("a matrix and a step of 0.2", (matrix, away_from_zero(rng, 2, 3), 0.2)),
        Case("a step of 0.00001", (small, away_from_zero(rng, 2, 2), 1e-5)),
    ]


def _error_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    one, other = away_from_zero(rng, 3, 4), away_from_zero(rng, 3, 4)
    return [
        Case("equal gradients", (one, one.copy())),
        Case("different gradients", (one, other)),
        Case("opposite gradients", (one, -one)),
        Case("tiny gradients, one twice the other", (2e-7 * one, 1e-7 * one)),
        Case("vectors", (other[0], one[0])),
        Case("two gradients of zero", (0 * one, 0 * one)),
    ]


def _lag_cases(seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    W_x, W_h, b = _weights(rng)
    x, h0 = rng.normal(size=(T, D)), away_from_zero(rng, H, high=0.9)
    return [
        Case("a single step", (x[:1], W_x, W_h, b, h0)),
        Case("silence and no bias", (0 * x, W_x, W_h, 0 * b, 0 * h0)),
        Case("an initial state of zero", (x, W_x, W_h, b, 0 * h0)),
        Case("everything at once", (x, W_x, W_h, b, h0)),
    ]


# --- mistakes -------------------------------------------------------------------------------------------------------

_QUOTIENT = "gradient[index] = (f(up) - f(down)) / (2 * eps)"
_COPIES = "up, down = x.copy(), x.copy()"

DIFFERENCE_MISTAKES = (
    mistake(
        "forward difference",
        "that is the forward difference, (f(x + eps) - f(x)) / eps; the central one looks to both sides.",
        "the exercise",
        numeric_gradient,
        (_QUOTIENT, "gradient[index] = (f(up) - f(x)) / eps"),
    ),
    mistake(
        "backward difference",
        "that is the backward difference, (f(x) - f(x - eps)) / eps; the central one looks to both sides.",
        "the exercise",
        numeric_gradient,
        (_QUOTIENT, "gradient[index] = (f(x) - f(down)) / eps"),
    ),
    mistake(
        "divided by eps",
        "the difference is divided by eps: the two points lie 2 * eps apart.",
        "the exercise",
        numeric_gradient,
        (_QUOTIENT, _QUOTIENT.replace("(2 * eps)", "eps")),
    ),
    mistake(
        "not divided",
        "the difference is not divided by the distance of the two points, 2 * eps.",
        "the exercise",
        numeric_gradient,
        (_QUOTIENT, "gradient[index] = f(up) - f(down)"),
    ),
    mistake(
        "sign reversed",
        "the sign is reversed: f(x + eps) comes first.",
        "the exercise",
        numeric_gradient,
        (_QUOTIENT, _QUOTIENT.replace("f(up) - f(down)", "f(down) - f(up)")),
    ),
    mistake(
        "all entries at once",
        "all entries are moved at once: a gradient takes one entry at a time.",
        "the exercise",
        numeric_gradient,
        (_COPIES, "up, down = x + eps, x - eps"),
        ("        up[index] += eps\n        down[index] -= eps\n", ""),
    ),
    mistake(
        "one array for both sides",
        "both sides are one and the same array: moved up and down again, it gives a gradient of 0. Copy x.",
        "the exercise",
        numeric_gradient,
        (_COPIES, "up = down = x.copy()"),
    ),
    mistake(
        "entries not put back",
        "the entries that were moved before are not put back: start each entry from x itself.",
        "the exercise",
        numeric_gradient,
        (
            "    for index in np.ndindex(x.shape):\n        up, down = x.copy(), x.copy()\n",
            "    up, down = x.copy(), x.copy()\n    for index in np.ndindex(x.shape):\n",
        ),
    ),
    mistake(
        "x left changed",
        "x itself is changed and left so; the caller still needs it.",
        "the exercise",
        numeric_gradient,
        (_COPIES, "up, down = x, x.copy()"),
    ),
)

_SIZE = "size = np.linalg.norm(analytic) + np.linalg.norm(numeric)"
_ERROR = "return float(np.linalg.norm(analytic - numeric) / size)"

ERROR_MISTAKES = (
    mistake(
        "absolute error",
        "that is the absolute distance: small gradients would always pass. Divide by the sum of the two norms.",
        "the exercise",
        relative_error,
        (_ERROR, "return float(np.linalg.norm(analytic - numeric))"),
    ),
    mistake(
        "norm of the sum",
        "the distance is divided by the norm of the sum, which is 0 for opposite gradients; asked is the sum of the "
        "norms.",
        "the exercise",
        relative_error,
        ("    if size == 0.0:\n        return 0.0\n", ""),
        (_SIZE, "size = np.linalg.norm(analytic + numeric) + 1e-300"),
    ),
    mistake(
        "relative to one gradient",
        "the distance is divided by the norm of one gradient; asked is the sum of both norms.",
        "the exercise",
        relative_error,
        (_SIZE, "size = np.linalg.norm(analytic)"),
    ),
    mistake(
        "relative to the other gradient",
        "the distance is divided by the norm of one gradient; asked is the sum of both norms.",
        "the exercise",
        relative_error,
        (_SIZE, "size = np.linalg.norm(numeric)"),
    ),
    mistake(
        "difference of the norms",
        "the norms are compared and not the gradients: two of equal length can point anywhere.",
        "the exercise",
        relative_error,
        (_ERROR, "return float(abs(np.linalg.norm(analytic) - np.linalg.norm(numeric)) / size)"),
    ),
    mistake(
        "zero by zero",
        "0 is divided by 0 for two gradients of zero; they are equal, so the error is 0.",
        "the exercise",
        relative_error,
        ("    if size == 0.0:\n        return 0.0\n", ""),
    ),
)

_PRODUCT = "product = product @ rnn_step_jacobian(x[t], states[t], W_x, W_h, b)"
_NORM = "norms.append(np.linalg.norm(product, 2))"

LAG_MISTAKES = (
    mistake(
        "order of the factors",
        "the Jacobians are multiplied in the reverse order, or each one is transposed: the last step's is the leftmost "
        "factor.",
        "layouts differ between libraries",
        jacobian_norms,
        (_PRODUCT, "product = rnn_step_jacobian(x[t], states[t], W_x, W_h, b) @ product"),
    ),
    mistake(
        "product of the norms",
        "the norms are multiplied; that is an upper bound. Take the norm of the product.",
        "the exercise",
        jacobian_norms,
        (_PRODUCT, "jacobian = rnn_step_jacobian(x[t], states[t], W_x, W_h, b)"),
        (_NORM, "norms.append((norms[-1] if norms else 1.0) * np.linalg.norm(jacobian, 2))"),
    ),
    mistake(
        "Frobenius norm",
        "that is the Frobenius norm, NumPy's default for a matrix; the spectral norm is the largest singular value.",
        "the exercise",
        jacobian_norms,
        (_NORM, "norms.append(np.linalg.norm(product))"),
    ),
    mistake(
        "spectral radius",
        "that is the spectral radius, the largest eigenvalue's size; the spectral norm is the largest singular value.",
        "a common confusion",
        jacobian_norms,
        (_NORM, "norms.append(np.abs(np.linalg.eigvals(product)).max())"),
    ),
    mistake(
        "one step's Jacobian alone",
        "each number is the norm of one step's Jacobian; the gradient at lag k went through k of them.",
        "the exercise",
        jacobian_norms,
        (_PRODUCT, _PRODUCT.replace("product @ ", "")),
    ),
    mistake(
        "state after the step",
        "each Jacobian is given the state after its step; it needs the one before it.",
        "the exercise",
        jacobian_norms,
        (_PRODUCT, _PRODUCT.replace("states[t]", "states[t + 1]")),
    ),
    mistake(
        "from the first step on",
        "the product starts at the first step; lag 1 is the last step's Jacobian.",
        "the exercise",
        jacobian_norms,
        ("reversed(range(len(x)))", "list(range(len(x)))"),
    ),
    mistake(
        "lags in reverse",
        "the norms stand in reverse order: the first is that of lag 1.",
        "the exercise",
        jacobian_norms,
        ("return np.array(norms)", "return np.array(norms[::-1])"),
    ),
    mistake(
        "initial state ignored",
        "h0 is ignored: the states are those of a walk from zeros.",
        "handson-mlp PR#4",
        jacobian_norms,
        ("states = [h0]", "states = [0 * h0]"),
    ),
    mistake(
        "lag 0 counted",
        "the list begins with lag 0, the identity; it begins with lag 1.",
        "the exercise",
        jacobian_norms,
        ("norms = []", "norms = [1.0]"),
    ),
    *within(jacobian_norms, "rnn_step_jacobian", JACOBIAN_MISTAKES, skip=("transposed",)),
)

# --- questions ------------------------------------------------------------------------------------------------------

QUESTIONS = {
    question.name: question
    for question in (
        Question(
            "vector.numeric_gradient",
            numeric_gradient,
            (Output("gradient"),),
            _difference_cases,
            DIFFERENCE_MISTAKES,
            probe=of_a_loss,
        ),
        Question(
            "vector.relative_error",
            relative_error,
            (Output("relative error"),),
            _error_cases,
            ERROR_MISTAKES,
            quiet=True,
        ),
        Question(
            "vector.jacobian_norms",
            jacobian_norms,
            (Output("norms", ("lag",)),),
            _lag_cases,
            LAG_MISTAKES,
        ),
    )
}
