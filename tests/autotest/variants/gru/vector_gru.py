# Correct solutions of the NumPy notebook, written as different people write. A `# %% cell: way` line begins each.

# %% step: slices, and one product for the two gates
def sigmoid(a):
    return np.exp(-np.logaddexp(0, -a))


def gru_step(x, h_prev, W_x, W_h, b):
    k = 2 * h_prev.shape[1]
    gates = sigmoid(x @ W_x[:k].T + h_prev @ W_h[:k].T + b[:k])
    r, z = gates[:, : k // 2], gates[:, k // 2 :]
    n = np.tanh(x @ W_x[k:].T + (r * h_prev) @ W_h[k:].T + b[k:])
    return h_prev + z * (n - h_prev)


# %% step: the input's share of all blocks at once, einsum for the state's
def sigmoid(a):
    e = np.exp(-np.abs(a))
    return np.where(a >= 0, 1, e) / (1 + e)


def gru_step(x, h_prev, W_x, W_h, b):
    H = h_prev.shape[1]
    a = (x @ W_x.T + b).reshape(len(x), 3, H)
    U = W_h.reshape(3, H, H)
    r = sigmoid(a[:, 0] + np.einsum("bj,hj->bh", h_prev, U[0]))
    z = sigmoid(a[:, 1] + np.einsum("bj,hj->bh", h_prev, U[1]))
    n = np.tanh(a[:, 2] + np.einsum("bj,hj->bh", r * h_prev, U[2]))
    return z * n + (1 - z) * h_prev


# %% step: inputs and states concatenated, twice
def sigmoid(a):
    return 1 / (1 + np.exp(np.clip(-a, -700, 700)))


def gru_step(x, h_prev, W_x, W_h, b):
    W = np.hstack([W_x, W_h])
    n_units = len(b) // 3
    together = np.hstack([x, h_prev])
    r = sigmoid(np.dot(together, W[:n_units].T) + b[:n_units])
    z = sigmoid(np.dot(together, W[n_units : 2 * n_units].T) + b[n_units : 2 * n_units])
    together = np.hstack([x, np.multiply(r, h_prev)])
    n = np.tanh(np.dot(together, W[2 * n_units :].T) + b[2 * n_units :])
    return np.add((1 - z) * h_prev, z * n)


# %% step: a loop over the batch
def sigmoid(a):
    out = np.empty_like(a)
    up = a >= 0
    out[up] = 1 / (1 + np.exp(-a[up]))
    e = np.exp(a[~up])
    out[~up] = e / (1 + e)
    return out


def gru_step(x, h_prev, W_x, W_h, b):
    h = np.zeros_like(h_prev)
    for row in range(len(x)):
        r_x, z_x, n_x = np.split(W_x.dot(x[row]) + b, 3)
        U_r, U_z, U_n = np.split(W_h, 3)
        r, z = sigmoid(r_x + U_r.dot(h_prev[row])), sigmoid(z_x + U_z.dot(h_prev[row]))
        h[row] = (1 - z) * h_prev[row] + z * np.tanh(n_x + U_n.dot(r * h_prev[row]))
    return h


# %% step: in float32, columns instead of rows
def sigmoid(a):
    return (1 + np.tanh(a / 2)) / 2


def gru_step(x, h_prev, W_x, W_h, b):
    x, h, W_x, W_h, b = (np.float32(v) for v in (x.T, h_prev.T, W_x, W_h, b[:, None]))
    W_r, W_z, W_n = np.vsplit(W_x, 3)
    U_r, U_z, U_n = np.vsplit(W_h, 3)
    b_r, b_z, b_n = np.vsplit(b, 3)
    r, z = sigmoid(W_r @ x + U_r @ h + b_r), sigmoid(W_z @ x + U_z @ h + b_z)
    return (h - z * h + z * np.tanh(W_n @ x + U_n @ (r * h) + b_n)).T


# %% forward: an empty array filled in place
def gru_forward(x, W_x, W_h, b, h0):
    batch, steps, _ = x.shape
    output = np.empty((batch, steps, h0.shape[1]))
    h = h0.copy()
    for t in range(steps):
        h = gru_step(x[:, t, :], h, W_x, W_h, b)
        output[:, t, :] = h
    return output, output[:, -1]


# %% forward: time first, transposed at the end
def gru_forward(x, W_x, W_h, b, h0):
    states = [h0]
    for x_t in x.transpose(1, 0, 2):
        states.append(gru_step(x_t, states[-1], W_x, W_h, b))
    return [np.array(states[1:]).transpose(1, 0, 2), states[-1]]


# %% forward: one sequence of the batch after the other
def gru_forward(x, W_x, W_h, b, h0):
    rows = []
    for sequence, h in zip(x, h0, strict=True):
        h, row = h[None], []
        for x_t in sequence:
            h = gru_step(x_t[None], h, W_x, W_h, b)
            row.append(h[0])
        rows.append(row)
    output = np.array(rows)
    return output, output[:, -1].copy()


# %% forward: swapaxes, concatenate along a new axis, accumulate
from itertools import accumulate


def gru_forward(x, W_x, W_h, b, h0):
    hs = list(accumulate(np.swapaxes(x, 0, 1), lambda h, x_t: gru_step(x_t, h, W_x, W_h, b), initial=h0))
    return np.concatenate([h[:, None] for h in hs[1:]], axis=1), hs[-1]


# %% step-backward: gradients written into zeros, a path at a time
def gru_step_backward(d_h, x, h_prev, W_x, W_h, b):
    H = h_prev.shape[1]
    R, Z, N = slice(0, H), slice(H, 2 * H), slice(2 * H, 3 * H)
    r = sigmoid(x @ W_x[R].T + h_prev @ W_h[R].T + b[R])
    z = sigmoid(x @ W_x[Z].T + h_prev @ W_h[Z].T + b[Z])
    seen = r * h_prev
    n = np.tanh(x @ W_x[N].T + seen @ W_h[N].T + b[N])

    d_a = np.zeros((len(x), 3 * H))
    d_h_prev = d_h * (1 - z)
    d_a[:, Z] = (d_h * n - d_h * h_prev) * z * (1 - z)
    d_h_prev += d_a[:, Z] @ W_h[Z]
    d_a[:, N] = d_h * z * (1 - n * n)
    d_seen = d_a[:, N] @ W_h[N]
    d_h_prev += d_seen * r
    d_a[:, R] = d_seen * h_prev * r * (1 - r)
    d_h_prev += d_a[:, R] @ W_h[R]

    d_W_h = np.zeros_like(W_h)
    d_W_h[:] = d_a.T @ h_prev
    d_W_h[N] = d_a[:, N].T @ seen
    return d_a @ W_x, d_h_prev, d_a.T @ x, d_W_h, d_a.sum(0)


# %% step-backward: outer products summed over the batch with einsum
def gru_step_backward(d_h, x, h_prev, W_x, W_h, b):
    a = x @ W_x.T + b
    U = np.stack(np.split(W_h, 3))
    a_r, a_z, a_n = np.split(a, 3, axis=-1)
    r = sigmoid(a_r + np.einsum("bj,ij->bi", h_prev, U[0]))
    keep = sigmoid(-a_z - np.einsum("bj,ij->bi", h_prev, U[1]))
    n = np.tanh(a_n + np.einsum("bj,ij->bi", r * h_prev, U[2]))
    d_n = (1 - keep) * d_h * (1 - n) * (1 + n)
    d_z = keep * (1 - keep) * d_h * (n - h_prev)
    d_s = np.einsum("bi,ij->bj", d_n, U[2])
    d_r = r * (1 - r) * d_s * h_prev
    d_a = np.stack([d_r, d_z, d_n], axis=1)
    fed = np.stack([h_prev, h_prev, r * h_prev], axis=1)
    return (
        np.einsum("bki,kid->bd", d_a, np.stack(np.split(W_x, 3))),
        keep * d_h + r * d_s + np.einsum("bki,kij->bj", d_a[:, :2], U[:2]),
        np.einsum("bki,bd->kid", d_a, x).reshape(W_x.shape),
        np.einsum("bki,bkj->kij", d_a, fed).reshape(W_h.shape),
        d_a.sum(axis=0).ravel(),
    )


# %% step-backward: one sequence at a time
def gru_step_backward(d_h, x, h_prev, W_x, W_h, b):
    d_x, d_h_prev = np.empty_like(x), np.empty_like(h_prev)
    d_W_x, d_W_h, d_b = np.zeros_like(W_x), np.zeros_like(W_h), np.zeros_like(b)
    W_r, W_z, W_n = np.split(W_h, 3)
    for k, (d, x_k, h) in enumerate(zip(d_h, x, h_prev, strict=True)):
        a_r, a_z, a_n = np.split(W_x @ x_k + b, 3)
        r, z = sigmoid(a_r + W_r @ h), sigmoid(a_z + W_z @ h)
        n = np.tanh(a_n + W_n @ (r * h))
        by_n = d * z * (1 - n**2)
        back = W_n.T @ by_n
        by_r, by_z = back * h * r * (1 - r), d * (n - h) * z * (1 - z)
        by = np.hstack([by_r, by_z, by_n])
        d_x[k] = W_x.T @ by
        d_h_prev[k] = d * (1 - z) + r * back + W_r.T @ by_r + W_z.T @ by_z
        d_W_x += np.outer(by, x_k)
        d_W_h += np.vstack([np.outer(by_r, h), np.outer(by_z, h), np.outer(by_n, r * h)])
        d_b += by
    return d_x, d_h_prev, d_W_x, d_W_h, d_b


# %% step-backward: let torch do it
import torch


def gru_step_backward(d_h, x, h_prev, W_x, W_h, b):
    tensors = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (x, h_prev, W_x, W_h, b)]
    x, h, W_x, W_h, b = tensors
    a_r, a_z, a_n = (x @ W_x.T + b).chunk(3, dim=1)
    U_r, U_z, U_n = W_h.chunk(3)
    r, z = torch.sigmoid(a_r + h @ U_r.T), torch.sigmoid(a_z + h @ U_z.T)
    new = torch.lerp(h, torch.tanh(a_n + (r * h) @ U_n.T), z)
    return [g.numpy() for g in torch.autograd.grad(new, tensors, torch.tensor(d_h))]


# %% jacobian: row by row through the backward step
def gru_step_jacobian(x, h_prev, W_x, W_h, b):
    rows = [gru_step_backward(e[None], x[None], h_prev[None], W_x, W_h, b)[1][0] for e in np.eye(len(h_prev))]
    return np.array(rows)


# %% jacobian: one backward step for a batch of unit gradients
def gru_step_jacobian(x, h_prev, W_x, W_h, b):
    units = len(h_prev)
    return gru_step_backward(np.eye(units), np.tile(x, (units, 1)), np.tile(h_prev, (units, 1)), W_x, W_h, b)[
        1
    ]


# %% jacobian: central differences of the step
def gru_step_jacobian(x, h_prev, W_x, W_h, b):
    J = np.empty((len(h_prev), len(h_prev)))
    for j in range(len(h_prev)):
        e = np.zeros(len(h_prev))
        e[j] = 1e-5
        up = gru_step(x[None], (h_prev + e)[None], W_x, W_h, b)
        down = gru_step(x[None], (h_prev - e)[None], W_x, W_h, b)
        J[:, j] = (up - down)[0] / 2e-5
    return J


# %% jacobian: broadcasting over rows, no diag
def gru_step_jacobian(x, h_prev, W_x, W_h, b):
    H = len(h_prev)
    a = W_x @ x + b
    r = sigmoid(a[:H] + W_h[:H] @ h_prev)
    z = sigmoid(a[H : 2 * H] + W_h[H : 2 * H] @ h_prev)
    n = np.tanh(a[2 * H :] + W_h[2 * H :] @ (r * h_prev))
    seen = np.eye(H) * r + (h_prev * r * (1 - r))[:, None] * W_h[:H]
    J = (z * (1 - n**2))[:, None] * (W_h[2 * H :] @ seen)
    J += ((n - h_prev) * z * (1 - z))[:, None] * W_h[H : 2 * H]
    J[np.arange(H), np.arange(H)] += 1 - z
    return J
