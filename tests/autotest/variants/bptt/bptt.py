# Correct solutions of the NumPy notebook, written as different people write. A `# %% cell: way` line begins each.

# %% step-backward: sequence by sequence, with outer products
def rnn_step_backward(d_h, x, h_prev, W_x, W_h, b):
    d_x, d_h_prev = np.zeros_like(x), np.zeros_like(h_prev)
    d_W_x, d_W_h, d_b = np.zeros_like(W_x), np.zeros_like(W_h), np.zeros_like(b)
    for k in range(len(x)):
        h = np.tanh(W_x @ x[k] + W_h @ h_prev[k] + b)
        d_a = d_h[k] * (1 - h * h)
        d_x[k], d_h_prev[k] = W_x.T @ d_a, W_h.T @ d_a
        d_W_x += np.outer(d_a, x[k])
        d_W_h += np.outer(d_a, h_prev[k])
        d_b += d_a
    return d_x, d_h_prev, d_W_x, d_W_h, d_b


# %% step-backward: einsum, and the derivative as 1 / cosh^2
def rnn_step_backward(d_h, x, h_prev, W_x, W_h, b):
    a = np.einsum("bd,hd->bh", x, W_x) + np.einsum("bj,hj->bh", h_prev, W_h) + b
    d_a = d_h / np.cosh(a) ** 2
    return [
        np.einsum("bh,hd->bd", d_a, W_x),
        np.einsum("bh,hj->bj", d_a, W_h),
        np.einsum("bh,bd->hd", d_a, x),
        np.einsum("bh,bj->hj", d_a, h_prev),
        np.einsum("bh->h", d_a),
    ]


# %% step-backward: one stacked weight for input, state and bias
def rnn_step_backward(d_h, x, h_prev, W_x, W_h, b):
    both = np.hstack([x, h_prev, np.ones((len(x), 1))])
    W = np.hstack([W_x, W_h, b[:, None]])
    h = np.tanh(both @ W.T)
    d_a = d_h - d_h * h * h
    d_W, d_both = d_a.T @ both, d_a @ W
    n = x.shape[1]
    return d_both[:, :n], d_both[:, n:-1], d_W[:, :n], d_W[:, n:-1], d_W[:, -1]


# %% step-backward: factored, in float32
def rnn_step_backward(d_h, x, h_prev, W_x, W_h, b):
    d_h, x, h_prev, W_x, W_h, b = (np.float32(array) for array in (d_h, x, h_prev, W_x, W_h, b))
    h = rnn_step(x, h_prev, W_x, W_h, b)
    d_a = (1 - h) * (1 + h) * d_h
    return d_a.dot(W_x), d_a.dot(W_h), d_a.T.dot(x), d_a.T.dot(h_prev), np.sum(d_a, 0)


# %% backward: weights' gradients as one product over all steps
def rnn_backward(d_output, x, W_x, W_h, b, h0):
    steps = x.shape[1]
    h = np.empty((steps + 1, *h0.shape))
    h[0] = h0
    for t in range(steps):
        h[t + 1] = rnn_step(x[:, t], h[t], W_x, W_h, b)
    d_a = np.empty((steps, *h0.shape))
    carried = np.zeros_like(h0)
    for t in range(steps - 1, -1, -1):
        d_a[t] = (carried + d_output[:, t]) * (1 - h[t + 1] ** 2)
        carried = d_a[t] @ W_h
    d_W_x = np.einsum("tbh,btd->hd", d_a, x)
    d_W_h = np.einsum("tbh,tbj->hj", d_a, h[:-1])
    return (d_a @ W_x).transpose(1, 0, 2), d_W_x, d_W_h, d_a.sum(axis=(0, 1)), carried


# %% backward: lists, summed at the end
def rnn_backward(d_output, x, W_x, W_h, b, h0):
    inputs = list(x.swapaxes(0, 1))
    before, h = [], h0
    for x_t in inputs:
        before.append(h)
        h = rnn_step(x_t, h, W_x, W_h, b)
    d_h, parts = 0.0, []
    for t in range(len(inputs))[::-1]:
        d_x_t, d_h, *weights = rnn_step_backward(d_output[:, t] + d_h, inputs[t], before[t], W_x, W_h, b)
        parts.insert(0, (d_x_t, *weights))
    d_x, d_W_x, d_W_h, d_b = zip(*parts, strict=True)
    return np.stack(d_x, axis=1), sum(d_W_x), sum(d_W_h), sum(d_b), d_h


# %% backward: recursive, a step of the walk a call
def rnn_backward(d_output, x, W_x, W_h, b, h0):
    if x.shape[1] == 0:
        return x.copy(), 0 * W_x, 0 * W_h, 0 * b, 0 * h0
    h1 = rnn_step(x[:, 0], h0, W_x, W_h, b)
    d_later, d_W_x, d_W_h, d_b, d_h1 = rnn_backward(d_output[:, 1:], x[:, 1:], W_x, W_h, b, h1)
    first = rnn_step_backward(d_h1 + d_output[:, 0], x[:, 0], h0, W_x, W_h, b)
    d_x = np.concatenate([first[0][:, None], d_later], axis=1)
    return d_x, d_W_x + first[2], d_W_h + first[3], d_b + first[4], first[1]


# %% check: in place on the array, put back afterwards
def numeric_gradient(f, x, eps):
    gradient = np.empty(x.shape)
    for index, value in np.ndenumerate(x):
        x[index] = value + eps
        up = f(x)
        x[index] = value - eps
        down = f(x)
        x[index] = value
        gradient[index] = 0.5 * (up - down) / eps
    return gradient


def relative_error(analytic, numeric):
    distance = np.sqrt(np.sum((analytic - numeric) ** 2))
    sizes = np.sqrt(np.sum(analytic**2)) + np.sqrt(np.sum(numeric**2))
    return 0.0 if not sizes else distance / sizes


# %% check: unit vectors, a comprehension, NumPy's where
def numeric_gradient(f, x, eps):
    basis = np.eye(x.size).reshape(x.size, *x.shape)
    slopes = [f(x + eps * e) / (2 * eps) - f(x - eps * e) / (2 * eps) for e in basis]
    return np.array(slopes).reshape(x.shape)


def relative_error(analytic, numeric):
    p, q = np.ravel(analytic), np.ravel(numeric)
    sizes = float(np.sqrt(p @ p) + np.sqrt(q @ q))
    return float(np.linalg.norm(q - p)) / sizes if sizes > 0 else 0


# %% check: flat views of copies, and a tiny number in the denominator
def numeric_gradient(f, x, eps):
    gradient = np.zeros(x.size)
    for k in range(x.size):
        moved = x.copy()
        moved.flat[k] += eps
        up = f(moved)
        moved.flat[k] -= 2 * eps
        gradient[k] = (up - f(moved)) / (2 * eps)
    return gradient.reshape(*x.shape)


def relative_error(analytic, numeric):
    numerator = np.linalg.norm(np.subtract(analytic, numeric))
    return numerator / max(np.linalg.norm(analytic) + np.linalg.norm(numeric), 1e-300)


# %% jacobian: diag, singular values, product kept as a matrix
def rnn_step_jacobian(x, h_prev, W_x, W_h, b):
    a = W_x @ x + W_h @ h_prev + b
    return np.diag(1 - np.tanh(a) ** 2) @ W_h


def jacobian_norms(x, W_x, W_h, b, h0):
    h, factors = h0, []
    for x_t in x:
        factors.insert(0, rnn_step_jacobian(x_t, h, W_x, W_h, b))
        h = rnn_step(x_t, h, W_x, W_h, b)
    product, norms = factors[0], []
    for k in range(len(factors)):
        if k:
            product = product @ factors[k]
        norms.append(np.linalg.svd(product, compute_uv=False)[0])
    return norms


# %% jacobian: rows by unit vectors through the backward pass, eigenvalues of J^T J
def rnn_step_jacobian(x, h_prev, W_x, W_h, b):
    h = rnn_step(x, h_prev, W_x, W_h, b)
    rows = []
    for i in range(len(h)):
        d_a = np.zeros_like(h)
        d_a[i] = 1 - h[i] ** 2
        rows.append(d_a @ W_h)
    return np.stack(rows)


def jacobian_norms(x, W_x, W_h, b, h0):
    states = [h0]
    for t in range(len(x)):
        states.append(rnn_step(x[t], states[t], W_x, W_h, b))
    transposed, norms = np.identity(len(h0)), np.zeros(len(x))
    for lag in range(1, len(x) + 1):
        t = len(x) - lag
        transposed = rnn_step_jacobian(x[t], states[t], W_x, W_h, b).T @ transposed
        norms[lag - 1] = np.sqrt(np.linalg.eigvalsh(transposed @ transposed.T).max())
    return norms


# %% jacobian: the product from the front for each lag anew
def rnn_step_jacobian(x, h_prev, W_x, W_h, b):
    h = np.tanh(np.dot(W_x, x) + np.dot(W_h, h_prev) + b)
    return np.multiply(W_h.T, 1 - h * h).T


def jacobian_norms(x, W_x, W_h, b, h0):
    T, jacobians, h = len(x), [], h0
    for t in range(T):
        jacobians.append(rnn_step_jacobian(x[t], h, W_x, W_h, b))
        h = rnn_step(x[t], h, W_x, W_h, b)
    result = []
    for k in range(1, T + 1):
        product = jacobians[T - k]
        for jacobian in jacobians[T - k + 1 :]:
            product = jacobian @ product
        result.append(np.linalg.norm(product, ord=2))
    return np.asarray(result)
