# Correct solutions of the one-unit notebook, written as different people write. A `# %% cell: way` line begins each.

# %% sigmoid: by the identity with tanh
import math


def sigmoid(a):
    return 0.5 * (1 + math.tanh(a / 2))


# %% sigmoid: one formula with the absolute value, and a reflection
import math


def sigmoid(a):
    small = math.exp(-abs(a)) / (1 + math.exp(-abs(a)))
    return small if a < 0 else 1 - small


# %% sigmoid: the textbook formula on a clipped number
import math


def sigmoid(a):
    return 1 / (1 + math.exp(-max(-700.0, min(700.0, a))))


# %% sigmoid: the textbook formula, and its limits when it overflows
import math


def sigmoid(a):
    try:
        return 1 / (1 + math.e**-a)
    except OverflowError:
        return 0.0 if a < 0 else 1.0


# %% sigmoid: SciPy-like, with NumPy's logaddexp
import numpy as np


def sigmoid(a):
    return np.exp(-np.logaddexp(0.0, -a))


# %% gates: four lines, one for each gate
def lstm_gates(x, h_prev, w_x, w_h, b):
    i = sigmoid(w_x[0] * x + w_h[0] * h_prev + b[0])
    f = sigmoid(w_x[1] * x + w_h[1] * h_prev + b[1])
    g = math.tanh(w_x[2] * x + w_h[2] * h_prev + b[2])
    o = sigmoid(w_x[3] * x + w_h[3] * h_prev + b[3])
    return i, f, g, o


# %% gates: zip, and a list of functions
def lstm_gates(x, h_prev, w_x, w_h, b):
    functions = [sigmoid, sigmoid, math.tanh, sigmoid]
    return [act(u * x + v * h_prev + c) for act, u, v, c in zip(functions, w_x, w_h, b, strict=True)]


# %% gates: NumPy arrays, and tanh through the sigmoid
import numpy as np


def lstm_gates(x, h_prev, w_x, w_h, b):
    a = np.asarray(w_x) * x
    a = a + np.asarray(w_h) * h_prev + np.asarray(b)
    return sigmoid(a[0]), sigmoid(a[1]), 2 * sigmoid(2 * a[2]) - 1, sigmoid(a[3])


# %% gates: a helper, a dictionary, and sums by dot products
def lstm_gates(x, h_prev, w_x, w_h, b):
    def pre_activation(gate):
        k = "ifgo".find(gate)
        return sum(p * q for p, q in [(w_x[k], x), (w_h[k], h_prev), (b[k], 1)])

    gates = {gate: pre_activation(gate) for gate in "ogfi"}
    return (
        sigmoid(gates["i"]),
        sigmoid(gates["f"]),
        (math.exp(gates["g"]) - math.exp(-gates["g"])) / (math.exp(gates["g"]) + math.exp(-gates["g"])),
        sigmoid(gates["o"]),
    )


# %% update: one expression with an assignment inside
def lstm_update(i, f, g, o, c_prev):
    return (o * math.tanh(c := c_prev * f + g * i), c)


# %% update: in float32
import numpy as np


def lstm_update(i, f, g, o, c_prev):
    i, f, g, o, c = (np.float32(number) for number in (i, f, g, o, c_prev))
    c *= f
    c += i * g
    return [o * np.tanh(c), c]


# %% update: tanh by exponentials, sums by fsum
def lstm_update(i, f, g, o, c_prev):
    new = math.fsum([f * c_prev, i * g])
    e = math.exp(-2 * abs(new))
    shown = o * math.copysign((1 - e) / (1 + e), new)
    return shown, new


# %% forward: lists that begin with the initial state
def lstm_step(x, h_prev, c_prev, w_x, w_h, b):
    return lstm_update(*lstm_gates(x, h_prev, w_x, w_h, b), c_prev)


def lstm_forward(xs, w_x, w_h, b, h0=0.0, c0=0.0):
    hs, cs = [h0], [c0]
    for t in range(len(xs)):
        h, c = lstm_step(xs[t], hs[-1], cs[-1], w_x, w_h, b)
        hs += [h]
        cs += [c]
    return hs[1:], cs[1:]


# %% forward: recursion, and arrays as results
import numpy as np


def lstm_step(x, h_prev, c_prev, w_x, w_h, b):
    i, f, g, o = lstm_gates(x, h_prev, w_x, w_h, b)
    h, c = lstm_update(c_prev=c_prev, o=o, g=g, f=f, i=i)
    return [h, c]


def lstm_forward(xs, w_x, w_h, b, h0=0.0, c0=0.0):
    def walk(rest, h, c):
        if len(rest) == 0:
            return []
        h, c = lstm_step(rest[0], h, c, w_x, w_h, b)
        return [(h, c), *walk(rest[1:], h, c)]

    both = np.array(walk(xs, h0, c0))
    return both[:, 0], both[:, 1]


# %% forward: accumulate carries the pair of states
from itertools import accumulate


def lstm_step(x, h_prev, c_prev, w_x, w_h, b):
    gates = lstm_gates(x, h_prev, w_x, w_h, b)
    return tuple(lstm_update(gates[0], gates[1], gates[2], gates[3], c_prev))


def lstm_forward(xs, w_x, w_h, b, h0=0.0, c0=0.0):
    pairs = accumulate(xs, lambda state, x: lstm_step(x, *state, w_x, w_h, b), initial=(h0, c0))
    next(pairs)
    hs, cs = zip(*pairs, strict=True)
    return list(hs), list(cs)


# %% half: by the logarithm
def steps_to_half(a_f):
    return math.ceil(math.log(0.5) / math.log(sigmoid(a_f)) - 1e-12)


# %% half: keep what is left
def steps_to_half(a_f):
    left, steps = sigmoid(a_f), 1
    while left > 1 / 2:
        left = left * sigmoid(a_f)
        steps = steps + 1
    return steps


# %% half: the first of a range, as a whole float
def steps_to_half(a_f):
    f = sigmoid(a_f)
    return float(next(n for n in range(1, 10**6) if not f**n > 0.5))


# %% sigmoid: a ratio of two exponentials, neither above 1
import math


def sigmoid(a):
    open_part = math.exp(min(a, 0.0))
    return open_part / (open_part + math.exp(-max(a, 0.0)))


# %% gates: the sums first, the functions in a second pass
import math


def lstm_gates(x, h_prev, w_x, w_h, b):
    sums = list(b)
    for k, (from_input, from_state) in enumerate(zip(w_x, w_h, strict=True)):
        sums[k] += from_input * x
        sums[k] += from_state * h_prev
    candidate = math.tanh(sums.pop(2))
    i, f, o = map(sigmoid, sums)
    return i, f, candidate, o


# %% update: a sum over pairs, and tanh by one exponential
import math


def lstm_update(i, f, g, o, c_prev):
    c = sum(share * content for share, content in [(f, c_prev), (i, g)])
    return o * (1 - 2 / (math.exp(2 * c) + 1)), c


# %% half: recursion on what is left
def steps_to_half(a_f):
    def count(left, n):
        return n if 2 * left <= 1 else count(left * sigmoid(a_f), n + 1)

    return count(1.0, 0)
