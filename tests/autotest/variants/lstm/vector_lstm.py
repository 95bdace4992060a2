# Correct solutions of the NumPy notebook, written as different people write. A `# %% cell: way` line begins each.

# %% stack: vstack and hstack by the number of axes, and a product
def stack_gates(i, f, g, o):
    blocks = (i, f, g, o)
    return np.hstack(blocks) if i.ndim == 1 else np.vstack(blocks)


def count_parameters(input_size, hidden_size):
    rows = 4 * hidden_size
    return rows * input_size + rows * hidden_size + rows


# %% stack: write into an empty array; count the arrays themselves
def stack_gates(i, f, g, o):
    rows = len(i)
    out = np.empty((4 * rows, *i.shape[1:]))
    for k, block in enumerate([i, f, g, o]):
        out[k * rows : (k + 1) * rows] = block
    return out


def count_parameters(input_size, hidden_size):
    gates = np.zeros((4, hidden_size, input_size + hidden_size + 1))
    return int(gates.size)


# %% stack: stack, then reshape; a NumPy integer
def stack_gates(i, f, g, o):
    return np.stack((i, f, g, o)).reshape(-1, *i.shape[1:])


def count_parameters(input_size, hidden_size):
    return np.sum([4 * hidden_size * n for n in (input_size, hidden_size, 1)])


# %% step: einsum, a gate at a time
def sigmoid(a):
    return np.exp(-np.logaddexp(0, -a))


def lstm_step(x, h_prev, c_prev, W_x, W_h, b):
    n = h_prev.shape[1]

    def gate(k, function):
        rows = slice(k * n, (k + 1) * n)
        a = np.einsum("bd,hd->bh", x, W_x[rows]) + np.einsum("bj,hj->bh", h_prev, W_h[rows])
        return function(a + b[rows])

    c = gate(1, sigmoid) * c_prev + gate(0, sigmoid) * gate(2, np.tanh)
    return gate(3, sigmoid) * np.tanh(c), c


# %% step: inputs and states concatenated
def sigmoid(a):
    e = np.exp(-np.abs(a))
    return np.where(a >= 0, 1, e) / (1 + e)


def lstm_step(x, h_prev, c_prev, W_x, W_h, b):
    together = np.concatenate((h_prev, x), axis=1) @ np.concatenate((W_h, W_x), axis=1).T
    together += b
    hidden = c_prev.shape[-1]
    i = sigmoid(together[:, :hidden])
    f = sigmoid(together[:, hidden : 2 * hidden])
    g = np.tanh(together[:, 2 * hidden : 3 * hidden])
    o = sigmoid(together[:, 3 * hidden :])
    new = np.add(np.multiply(f, c_prev), np.multiply(i, g))
    return [np.multiply(o, np.tanh(new)), new]


# %% step: a loop over the batch
def sigmoid(a):
    out = np.empty_like(a)
    up = a >= 0
    out[up] = 1 / (1 + np.exp(-a[up]))
    e = np.exp(a[~up])
    out[~up] = e / (1 + e)
    return out


def lstm_step(x, h_prev, c_prev, W_x, W_h, b):
    h, c = np.zeros_like(h_prev), np.zeros_like(c_prev)
    for row in range(x.shape[0]):
        i, f, g, o = (W_x.dot(x[row]) + W_h.dot(h_prev[row]) + b).reshape(4, -1)
        c[row] = sigmoid(f) * c_prev[row] + sigmoid(i) * np.tanh(g)
        h[row] = sigmoid(o) * np.tanh(c[row])
    return h, c


# %% step: three loops, one number at a time
import math


def sigmoid(a):
    return np.vectorize(lambda number: (1 + math.tanh(number / 2)) / 2)(a)


def lstm_step(x, h_prev, c_prev, W_x, W_h, b):
    batch, hidden = c_prev.shape
    h, c = np.zeros((batch, hidden)), np.zeros((batch, hidden))
    for n in range(batch):
        for j in range(hidden):
            a = []
            for k in (j, j + hidden, j + 2 * hidden, j + 3 * hidden):
                total = b[k]
                for d in range(x.shape[1]):
                    total = total + W_x[k, d] * x[n, d]
                for d in range(hidden):
                    total = total + W_h[k, d] * h_prev[n, d]
                a.append(total)
            i, f, o = (float(sigmoid(np.array(a[m]))) for m in (0, 1, 3))
            c[n, j] = f * c_prev[n, j] + i * math.tanh(a[2])
            h[n, j] = o * math.tanh(c[n, j])
    return h, c


# %% step: in float32
def sigmoid(a):
    return np.float32(0.5) + np.float32(0.5) * np.tanh(a * np.float32(0.5))


def lstm_step(x, h_prev, c_prev, W_x, W_h, b):
    x, h_prev, c_prev, W_x, W_h, b = [v.astype("float32") for v in (x, h_prev, c_prev, W_x, W_h, b)]
    i, f, g, o = np.hsplit(x @ W_x.T + h_prev @ W_h.T + b, 4)
    c = sigmoid(f) * c_prev + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


# %% step: in place, on copies
def sigmoid(a):
    s = np.array(a)
    np.multiply(s, 0.5, out=s)
    np.tanh(s, out=s)
    s += 1
    s /= 2
    return s


def lstm_step(x, h_prev, c_prev, W_x, W_h, b):
    a = np.dot(x, W_x.T)
    a += np.dot(h_prev, W_h.T)
    a += b[None, :]
    blocks = np.array_split(a, 4, axis=-1)
    c = c_prev.copy()
    c *= sigmoid(blocks[1])
    c += sigmoid(blocks[0]) * np.tanh(blocks[2])
    h = np.tanh(c)
    h *= sigmoid(blocks[3])
    return h, c


# %% step: torch inside
import torch


def sigmoid(a):
    return torch.sigmoid(torch.as_tensor(a)).numpy()


def lstm_step(x, h_prev, c_prev, W_x, W_h, b):
    x, h_prev, c_prev, W_x, W_h, b = map(torch.as_tensor, (x, h_prev, c_prev, W_x, W_h, b))
    a = torch.nn.functional.linear(x, W_x, b) + torch.nn.functional.linear(h_prev, W_h)
    i, f, g, o = a.chunk(4, dim=1)
    c = f.sigmoid() * c_prev + i.sigmoid() * g.tanh()
    return (o.sigmoid() * c.tanh()).numpy(), c.numpy()


# %% step: column vectors, and one sigmoid over three gates
def sigmoid(a):
    a = np.clip(a, -500, 500)
    return 1 / (1 + np.exp(-a))


def lstm_step(x, h_prev, c_prev, W_x, W_h, b):
    a = (W_x @ x.T + W_h @ h_prev.T + b[:, np.newaxis]).reshape(4, -1, len(x))
    i, f, o = sigmoid(a[[0, 1, 3]])
    c = f * c_prev.T + i * np.tanh(a[2])
    return (o * np.tanh(c)).T, c.T


# %% forward: an array filled step by step
def lstm_forward(x, W_x, W_h, b, h0, c0):
    batch, steps, _ = x.shape
    output = np.zeros((batch, steps, h0.shape[1]))
    h, c = np.copy(h0), np.copy(c0)
    for t in range(steps):
        h, c = lstm_step(x[:, t, :], h, c, W_x, W_h, b)
        output[:, t, :] = h
    return output, output[:, -1], c


# %% forward: time first inside, transposed at the end
def lstm_forward(x, W_x, W_h, b, h0, c0):
    states = [(h0, c0)]
    for x_t in np.swapaxes(x, 0, 1):
        states.append(lstm_step(x_t, *states[-1], W_x, W_h, b))
    hs = np.array([h for h, _ in states[1:]])
    return [np.transpose(hs, (1, 0, 2)), *states[-1]]


# %% forward: one sequence of the batch at a time
def lstm_forward(x, W_x, W_h, b, h0, c0):
    rows = []
    for n in range(len(x)):
        h, c = h0[n : n + 1], c0[n : n + 1]
        shown = []
        for t in range(x.shape[1]):
            h, c = lstm_step(x[n : n + 1, t], h, c, W_x, W_h, b)
            shown.append(h)
        rows.append((np.concatenate(shown), h, c))
    output, h_n, c_n = zip(*rows, strict=True)
    return np.stack(output), np.concatenate(h_n), np.concatenate(c_n)


# %% step-backward: a gate at a time, gradients by einsum
def lstm_step_backward(d_h, d_c, x, h_prev, c_prev, W_x, W_h, b):
    n = h_prev.shape[1]
    a = np.einsum("bd,kd->bk", x, W_x) + np.einsum("bj,kj->bk", h_prev, W_h) + b
    i, f, o = sigmoid(a[:, :n]), sigmoid(a[:, n : 2 * n]), sigmoid(a[:, 3 * n :])
    g = np.tanh(a[:, 2 * n : 3 * n])
    c = i * g + f * c_prev
    total = d_c + d_h * o / np.cosh(c) ** 2
    d_a = np.zeros_like(a)
    d_a[:, :n] = total * g * (i - i**2)
    d_a[:, n : 2 * n] = total * c_prev * (f - f**2)
    d_a[:, 2 * n : 3 * n] = total * i / np.cosh(a[:, 2 * n : 3 * n]) ** 2
    d_a[:, 3 * n :] = d_h * np.tanh(c) * (o - o**2)
    return (
        np.einsum("bk,kd->bd", d_a, W_x),
        np.einsum("bk,kj->bj", d_a, W_h),
        total * f,
        np.einsum("bk,bd->kd", d_a, x),
        np.einsum("bk,bj->kj", d_a, h_prev),
        np.einsum("bk->k", d_a),
    )


# %% step-backward: torch's autograd
import torch


def lstm_step_backward(d_h, d_c, x, h_prev, c_prev, W_x, W_h, b):
    leaves = [torch.tensor(v, requires_grad=True) for v in (x, h_prev, c_prev, W_x, W_h, b)]
    x, h_prev, c_prev, W_x, W_h, b = leaves
    i, f, g, o = (x @ W_x.T + h_prev @ W_h.T + b).chunk(4, 1)
    c = f.sigmoid() * c_prev + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    grads = torch.autograd.grad([h, c], leaves, [torch.tensor(d_h), torch.tensor(d_c)])
    return tuple(grad.numpy() for grad in grads)


# %% step-backward: central differences of the step
def lstm_step_backward(d_h, d_c, x, h_prev, c_prev, W_x, W_h, b):
    arguments = [x, h_prev, c_prev, W_x, W_h, b]

    def loss():
        h, c = lstm_step(*arguments)
        return np.sum(d_h * h) + np.sum(d_c * c)

    gradients = []
    for k, given in enumerate(arguments):
        arguments[k] = varied = given.copy()
        gradient = np.zeros(given.shape)
        for place in np.ndindex(*given.shape):
            varied[place] = given[place] + 1e-5
            up = loss()
            varied[place] = given[place] - 1e-5
            gradient[place] = (up - loss()) / 2e-5
            varied[place] = given[place]
        gradients.append(gradient)
        arguments[k] = given
    return tuple(gradients)


# %% step-backward: a loop over the batch, outer products
def lstm_step_backward(d_h, d_c, x, h_prev, c_prev, W_x, W_h, b):
    d_x, d_h_prev, d_c_prev = np.empty_like(x), np.empty_like(h_prev), np.empty_like(c_prev)
    d_W_x, d_W_h, d_b = 0 * W_x, 0 * W_h, 0 * b
    for n in range(len(x)):
        a_i, a_f, a_g, a_o = (W_x @ x[n] + W_h @ h_prev[n] + b).reshape(4, -1)
        i, f, g, o = sigmoid(a_i), sigmoid(a_f), np.tanh(a_g), sigmoid(a_o)
        shown = np.tanh(f * c_prev[n] + i * g)
        delta = d_h[n] * o * (1 - shown) * (1 + shown) + d_c[n]
        slopes = np.concatenate(
            [
                g * sigmoid(a_i) * sigmoid(-a_i),
                c_prev[n] * sigmoid(a_f) * sigmoid(-a_f),
                i * (1 - g) * (1 + g),
            ]
        )
        d_a = np.append(np.tile(delta, 3) * slopes, d_h[n] * shown * o * (1 - o))
        d_x[n], d_h_prev[n], d_c_prev[n] = W_x.T @ d_a, W_h.T @ d_a, f * delta
        d_W_x += np.outer(d_a, x[n])
        d_W_h += np.outer(d_a, h_prev[n])
        d_b += d_a
    return [d_x, d_h_prev, d_c_prev, d_W_x, d_W_h, d_b]


# %% backward: gradients of the weights collected and summed at the end
def lstm_backward(d_output, d_c_n, x, W_x, W_h, b, h0, c0):
    hs, cs = [h0], [c0]
    for x_t in x.transpose(1, 0, 2):
        h, c = lstm_step(x_t, hs[-1], cs[-1], W_x, W_h, b)
        hs.append(h)
        cs.append(c)
    d_h, d_c = np.zeros(h0.shape), d_c_n.copy()
    d_xs, parts = [], []
    for t in range(x.shape[1] - 1, -1, -1):
        d_x, d_h, d_c, *weights = lstm_step_backward(
            d_h + d_output[:, t, :], d_c, x[:, t, :], hs[t], cs[t], W_x, W_h, b
        )
        d_xs.insert(0, d_x)
        parts.append(weights)
    d_W_x, d_W_h, d_b = (sum(part) for part in zip(*parts, strict=True))
    return np.stack(d_xs, 1), d_W_x, d_W_h, d_b, d_h, d_c


# %% backward: by recursion from the front
def lstm_backward(d_output, d_c_n, x, W_x, W_h, b, h0, c0):
    if x.shape[1] == 0:
        return np.zeros_like(x), 0 * W_x, 0 * W_h, 0 * b, np.zeros_like(h0), d_c_n
    first = x[:, 0]
    h, c = lstm_step(first, h0, c0, W_x, W_h, b)
    d_x, d_W_x, d_W_h, d_b, d_h, d_c = lstm_backward(d_output[:, 1:], d_c_n, x[:, 1:], W_x, W_h, b, h, c)
    own = lstm_step_backward(d_h + d_output[:, 0], d_c, first, h0, c0, W_x, W_h, b)
    d_x = np.concatenate([own[0][:, None], d_x], axis=1)
    return d_x, d_W_x + own[3], d_W_h + own[4], d_b + own[5], own[1], own[2]


# %% backward: torch's autograd over the whole walk
import torch


def lstm_backward(d_output, d_c_n, x, W_x, W_h, b, h0, c0):
    leaves = [torch.tensor(v, requires_grad=True) for v in (x, W_x, W_h, b, h0, c0)]
    x, W_x, W_h, b, h, c = leaves
    loss = 0
    for t in range(x.shape[1]):
        i, f, g, o = (x[:, t] @ W_x.T + h @ W_h.T + b).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        loss = loss + (h * torch.tensor(d_output[:, t])).sum()
    (loss + (c * torch.tensor(d_c_n)).sum()).backward()
    return tuple(leaf.grad.numpy() for leaf in leaves)


# %% forward: all states in one growing array
def lstm_forward(x, W_x, W_h, b, h0, c0):
    walked, c = h0[:, None], c0
    while walked.shape[1] <= x.shape[1]:
        h, c = lstm_step(x[:, walked.shape[1] - 1], walked[:, -1], c, W_x, W_h, b)
        walked = np.concatenate([walked, h[:, np.newaxis, :]], axis=1)
    return walked[:, 1:], walked[:, -1], c


# %% step-backward: the gates in an array with an axis of their own
def lstm_step_backward(d_h, d_c, x, h_prev, c_prev, W_x, W_h, b):
    batch, hidden = h_prev.shape
    gates = (x @ W_x.T + h_prev @ W_h.T + b).reshape(batch, 4, hidden)
    slopes = np.empty_like(gates)
    for k in range(4):
        gates[:, k] = np.tanh(gates[:, k]) if k == 2 else sigmoid(gates[:, k])
        slopes[:, k] = 1 - gates[:, k] ** 2 if k == 2 else gates[:, k] * (1 - gates[:, k])
    shown = np.tanh(gates[:, 1] * c_prev + gates[:, 0] * gates[:, 2])
    on_c = d_c + d_h * gates[:, 3] / np.cosh(np.arctanh(shown)) ** 2
    met = np.stack([on_c * gates[:, 2], on_c * c_prev, on_c * gates[:, 0], d_h * shown], axis=1)
    on_a = (met * slopes).reshape(batch, 4 * hidden)
    on_W_x = np.tensordot(on_a, x, axes=(0, 0))
    on_W_h = np.tensordot(on_a, h_prev, axes=(0, 0))
    return on_a.dot(W_x), on_a.dot(W_h), on_c * gates[:, 1], on_W_x, on_W_h, np.ones(batch) @ on_a
