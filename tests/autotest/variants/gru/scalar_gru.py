# Correct solutions of the one-unit notebook, written as different people write. A `# %% cell: way` line begins each.

# %% gates: by the identity with tanh, and a loop over two gates
import math


def sigmoid(a):
    return 0.5 * (1 + math.tanh(a / 2))


def gru_gates(x, h_prev, w_x, w_h, b):
    gates = []
    for k in range(2):
        gates.append(sigmoid(w_x[k] * x + w_h[k] * h_prev + b[k]))
    return tuple(gates)


# %% gates: an exception at the far end; zip over all three blocks, the last dropped
import math


def sigmoid(a):
    try:
        return 1 / (1 + math.exp(-a))
    except OverflowError:
        return 0.0


def gru_gates(x, h_prev, w_x, w_h, b):
    r, z, _ = [sigmoid(c + u * x + v * h_prev) for u, v, c in zip(w_x, w_h, b, strict=True)]
    return [r, z]


# %% gates: NumPy for both
import numpy as np


def sigmoid(a):
    return float(np.exp(-np.logaddexp(0.0, -a)))


def gru_gates(x, h_prev, w_x, w_h, b):
    a = np.array(w_x) * x + np.array(w_h) * h_prev + np.array(b)
    return sigmoid(a[0]), np.array(sigmoid(a[1]))


# %% gates: a dictionary of pre-activations, a clipped exponent
import math


def sigmoid(a):
    return 1 / (1 + math.exp(min(-a, 700.0)))


def gru_gates(x, h_prev, w_x, w_h, b):
    sums = {gate: w_x[k] * x + w_h[k] * h_prev + b[k] for k, gate in enumerate("rz")}
    return sigmoid(sums["r"]), sigmoid(sums["z"])


# %% candidate: unpacked blocks, and what is seen by name
def gru_candidate(x, h_prev, r, w_x, w_h, b):
    (_, _, u), (_, _, v), (_, _, c) = w_x, w_h, b
    seen = r * h_prev
    return math.tanh(u * x + v * seen + c)


# %% candidate: the product first and the reset after it, which is the same for one unit
def gru_candidate(x, h_prev, r, w_x, w_h, b):
    from_past = w_h[-1] * h_prev
    return math.tanh(math.fsum([w_x[-1] * x, r * from_past, b[-1]]))


# %% candidate: tanh through the sigmoid, NumPy
import numpy as np


def gru_candidate(x, h_prev, r, w_x, w_h, b):
    a = np.dot([w_x[2], w_h[2], b[2]], [x, r * h_prev, 1.0])
    return 2 * sigmoid(2 * a) - 1


# %% candidate: the weight reset instead of the state
def gru_candidate(x, h_prev, r, w_x, w_h, b):
    effective = w_h[2] * r
    e = math.exp(-2 * (w_x[2] * x + effective * h_prev + b[2]))
    return (1 - e) / (1 + e)


# %% blend: a step from the old state towards the candidate
def gru_update(z, n, h_prev):
    return h_prev + z * (n - h_prev)


def convert_update_gate(w_x, w_h, b):
    return tuple([values[0], -values[1], values[2]] for values in (w_x, w_h, b))


# %% blend: keep and write named; copies changed in place
def gru_update(z, n, h_prev):
    write, keep = z, 1.0 - z
    return write * n + keep * h_prev


def convert_update_gate(w_x, w_h, b):
    new = [list(w_x), list(w_h), list(b)]
    for values in new:
        values[1] *= -1
    return new


# %% blend: a dot product in float32; NumPy signs
import numpy as np


def gru_update(z, n, h_prev):
    return np.dot(np.float32([z, 1 - z]), np.float32([n, h_prev]))


def convert_update_gate(w_x, w_h, b):
    w_x, w_h, b = np.array([w_x, w_h, b]) * np.array([1, -1, 1])
    return w_x, w_h, b


# %% blend: from the candidate back to the old state; unpacked blocks
def gru_update(z, n, h_prev):
    return n - (1 - z) * (n - h_prev)


def convert_update_gate(w_x, w_h, b):
    def turned(block):
        r, z, n = block
        return (r, -z, n)

    return turned(w_x), turned(w_h), turned(b)


# %% forward: states in one list that begins with h0
def gru_step(x, h_prev, w_x, w_h, b):
    r, z = gru_gates(x, h_prev, w_x, w_h, b)
    return gru_update(z, gru_candidate(x, h_prev, r, w_x, w_h, b), h_prev)


def gru_forward(xs, w_x, w_h, b, h0=0.0):
    states = [h0]
    for t in range(len(xs)):
        states.append(gru_step(xs[t], states[t], w_x, w_h, b))
    return states[1:]


# %% forward: accumulate carries the state
from itertools import accumulate


def gru_step(x, h_prev, w_x, w_h, b):
    gates = gru_gates(x, h_prev, w_x, w_h, b)
    n = gru_candidate(x=x, h_prev=h_prev, r=gates[0], w_x=w_x, w_h=w_h, b=b)
    return gru_update(z=gates[1], n=n, h_prev=h_prev)


def gru_forward(xs, w_x, w_h, b, h0=0.0):
    return list(accumulate(xs, lambda h, x: gru_step(x, h, w_x, w_h, b), initial=h0))[1:]


# %% forward: everything inside the step, recursion over the sequence, a tuple
def gru_step(x, h_prev, w_x, w_h, b):
    a_r, a_z = (p * x + q * h_prev + c for p, q, c in list(zip(w_x, w_h, b, strict=True))[:2])
    n = math.tanh(w_x[2] * x + w_h[2] * (sigmoid(a_r) * h_prev) + b[2])
    return sigmoid(-a_z) * h_prev + sigmoid(a_z) * n


def gru_forward(xs, w_x, w_h, b, h0=0.0):
    if not xs:
        return ()
    h = gru_step(xs[0], h0, w_x, w_h, b)
    return (h, *gru_forward(xs[1:], w_x, w_h, b, h))


# %% forward: an array filled in place
import numpy as np


def gru_step(x, h_prev, w_x, w_h, b):
    r, z = gru_gates(x, h_prev, w_x, w_h, b)
    n = gru_candidate(x, r * h_prev, 1.0, w_x, w_h, b)
    return gru_update(z, n, h_prev)


def gru_forward(xs, w_x, w_h, b, h0=0.0):
    hs = np.empty(len(xs))
    for t, x in enumerate(xs):
        hs[t] = gru_step(x, hs[t - 1] if t else h0, w_x, w_h, b)
    return hs


# %% shares: from the last step back
def gru_shares(zs):
    left, shares = 1.0, []
    for z in reversed(zs):
        shares.insert(0, left * z)
        left *= 1 - z
    return [left, *shares]


# %% shares: a product for each
def gru_shares(zs):
    return [z * math.prod(1 - later for later in zs[t:]) for t, z in enumerate([1.0, *zs])]


# %% shares: cumulative products in NumPy
import numpy as np


def gru_shares(zs):
    kept = np.cumprod(np.append(1 - np.array(zs), 1.0)[::-1])[::-1]
    return np.append(1.0, zs) * kept


# %% shares: let the walk itself tell, by unit candidates
def gru_shares(zs):
    def last_state(h, ns):
        for z, n in zip(zs, ns, strict=True):
            h = h + z * (n - h)
        return h

    steps = len(zs)
    ones = [[float(t == k) for t in range(steps)] for k in range(steps)]
    return [last_state(1.0, [0.0] * steps)] + [last_state(0.0, n) for n in ones]
