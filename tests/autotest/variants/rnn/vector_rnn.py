# Correct solutions of the NumPy notebook, written as different people write. A `# %% cell: way` line begins each.

# %% step: einsum, term by term
def rnn_step(x, h_prev, W_x, W_h, b):
    a = np.einsum("bd,hd->bh", x, W_x)
    a += np.einsum("bj,hj->bh", h_prev, W_h)
    return np.tanh(a + b[None, :])


# %% step: the concatenated form
def rnn_step(x, h_prev, W_x, W_h, b):
    both = np.concatenate([h_prev, x], axis=1)
    W = np.concatenate([W_h, W_x], axis=1)
    return np.tanh(both @ W.T + b)


# %% step: row by row, tanh by exponentials
def rnn_step(x, h_prev, W_x, W_h, b):
    new = np.empty_like(h_prev)
    for row in range(len(x)):
        a = W_x @ x[row] + W_h @ h_prev[row] + b
        new[row] = 1 - 2 / (np.exp(2 * a) + 1)
    return new


# %% step: in float32, with a bias as the weight of a 1
def rnn_step(x, h_prev, W_x, W_h, b):
    ones = np.ones((x.shape[0], 1))
    stacked = np.vstack([W_x.T, W_h.T, b[None]]).astype(np.float32)
    return np.tanh(np.hstack([x, h_prev, ones]).astype(np.float32).dot(stacked))


# %% forward: an empty array filled step by step
def rnn_forward(x, W_x, W_h, b, h0):
    batch, steps, _ = x.shape
    output = np.empty((batch, steps, len(b)))
    h = h0.copy()
    for t in range(steps):
        h = rnn_step(x[:, t, :], h, W_x, W_h, b)
        output[:, t, :] = h
    return output, output[:, -1]


# %% forward: time first, transposed at the end
def rnn_forward(x, W_x, W_h, b, h0):
    states = [h0]
    for x_t in np.swapaxes(x, 0, 1):
        states += [rnn_step(x_t, states[-1], W_x, W_h, b)]
    return np.array(states[1:]).transpose(1, 0, 2), states[-1]


# %% forward: the input's share for all steps at once
def rnn_forward(x, W_x, W_h, b, h0):
    share = x @ W_x.T + b
    h, found = h0, []
    for t in range(share.shape[1]):
        h = np.tanh(share[:, t] + h @ W_h.T)
        found.append(h[:, None])
    return [np.concatenate(found, axis=1), h]


# %% padded: a mask of zeros and ones in the blend
def rnn_forward_padded(x, lengths, W_x, W_h, b, h0):
    mask = (np.arange(x.shape[1]) < lengths[:, None]).astype(float)
    h, outputs = h0, []
    for t in range(x.shape[1]):
        m = mask[:, t : t + 1]
        h = m * rnn_step(x[:, t], h, W_x, W_h, b) + (1 - m) * h
        outputs.append(m * h)
    return np.stack(outputs, axis=1), h


# %% padded: sequence by sequence, each only as far as it goes
def rnn_forward_padded(x, lengths, W_x, W_h, b, h0):
    output = np.zeros((x.shape[0], x.shape[1], len(b)))
    last = np.zeros_like(h0)
    for k, length in enumerate(lengths):
        h = h0[k : k + 1]
        for t in range(int(length)):
            h = rnn_step(x[k : k + 1, t], h, W_x, W_h, b)
            output[k, t] = h[0]
        last[k] = h[0]
    return output, last


# %% padded: only the rows that are still alive are stepped
def rnn_forward_padded(x, lengths, W_x, W_h, b, h0):
    h = h0.copy()
    output = np.zeros(x.shape[:2] + h0.shape[1:])
    for t in range(x.shape[1]):
        rows = np.flatnonzero(lengths > t)
        if rows.size:
            h[rows] = rnn_step(x[rows, t], h[rows], W_x, W_h, b)
            output[rows, t] = h[rows]
    return output, h


# %% padded: unmasked walk, last states picked, output masked at the end
def rnn_forward_padded(x, lengths, W_x, W_h, b, h0):
    h, states = h0, []
    for t in range(x.shape[1]):
        h = rnn_step(x[:, t], h, W_x, W_h, b)
        states.append(h)
    states = np.stack(states, axis=1)
    last = states[np.arange(len(x)), lengths - 1]
    states[np.arange(x.shape[1]) >= lengths[:, None]] = 0
    return states, last


# %% output: log-sum-exp, one matrix product for all steps, take_along_axis
def softmax(scores):
    top = np.max(scores, axis=-1)[..., None]
    return np.exp(scores - top - np.log(np.sum(np.exp(scores - top), axis=-1))[..., None])


def read_every_step(output, W_y, b_y):
    batch, steps, hidden = output.shape
    scores = output.reshape(batch * steps, hidden) @ W_y.T + b_y
    return softmax(scores).reshape(batch, steps, -1)


def read_last_step(output, lengths, W_y, b_y):
    index = (lengths - 1)[:, None, None]
    h = np.take_along_axis(output, index, axis=1)[:, 0]
    return softmax(h.dot(W_y.T) + b_y)


# %% output: step by step in lists
def softmax(scores):
    scores = scores - scores.max(-1, keepdims=True)
    weights = np.exp(scores)
    return np.divide(weights, weights.sum(-1, keepdims=True))


def read_every_step(output, W_y, b_y):
    return np.stack([softmax(output[:, t] @ W_y.T + b_y) for t in range(output.shape[1])], axis=1)


def read_last_step(output, lengths, W_y, b_y):
    every = read_every_step(output, W_y, b_y)
    return [every[k, n - 1] for k, n in enumerate(lengths)]


# %% output: einsum, and a sum over a mask of the last steps
def softmax(scores):
    e = np.exp(scores - np.amax(scores, axis=scores.ndim - 1, keepdims=True))
    return (e.T / e.sum(axis=-1).T).T


def read_every_step(output, W_y, b_y):
    return softmax(np.einsum("bth,kh->btk", output, W_y) + b_y[None, None])


def read_last_step(output, lengths, W_y, b_y):
    is_last = np.arange(1, output.shape[1] + 1) == lengths[:, None]
    h = (output * is_last[:, :, None]).sum(axis=1)
    return softmax(h @ W_y.transpose() + b_y)


# %% count: written out
def count_parameters(input_size, hidden_size, classes):
    W_x, W_h, b = hidden_size * input_size, hidden_size**2, hidden_size
    W_y, b_y = classes * hidden_size, classes
    return W_x + W_h + b + W_y + b_y


# %% count: the sizes of arrays
def count_parameters(input_size, hidden_size, classes):
    shapes = [
        (hidden_size, input_size),
        (hidden_size, hidden_size),
        (hidden_size,),
        (classes, hidden_size),
        (classes,),
    ]
    return sum(np.zeros(shape).size for shape in shapes)
