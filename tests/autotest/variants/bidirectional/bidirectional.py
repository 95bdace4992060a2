# Correct solutions of the NumPy notebook, written as different people write. A `# %% cell: way` line begins each.

# %% reverse: take_along_axis with an index array
def reverse(x, lengths):
    time = np.arange(x.shape[1])[None, :]
    ends = np.asarray(lengths)[:, None]
    source = np.where(time < ends, ends - 1 - time, time)
    return np.take_along_axis(x, source[:, :, None], axis=1)


# %% reverse: a loop over rows and steps
def reverse(x, lengths):
    result = np.empty_like(x)
    batch, steps, _ = x.shape
    for i in range(batch):
        for t in range(steps):
            if t < lengths[i]:
                result[i, t] = x[i, lengths[i] - 1 - t]
            else:
                result[i, t] = x[i, t]
    return result


# %% reverse: each sequence in two pieces
def reverse(x, lengths):
    rows = []
    for sequence, n in zip(x, lengths, strict=True):
        rows.append(np.vstack([np.flip(sequence[:n], axis=0), sequence[n:]]))
    return np.array(rows)


# %% reverse: fancy indexing with both axes
def reverse(x, lengths):
    y = np.array(x)
    for k in range(len(y)):
        n = int(lengths[k])
        y[k, np.arange(n)] = x[k, np.arange(n - 1, -1, -1)]
    return y


# %% walk: one sequence at a time, as long as it is
def rnn_walk(x, lengths, W_x, W_h, b):
    batch, steps, _ = x.shape
    hidden = len(b)
    output = np.zeros((batch, steps, hidden))
    last = np.zeros((batch, hidden))
    for i in range(batch):
        for t in range(lengths[i]):
            last[i] = np.tanh(W_x @ x[i, t] + W_h @ last[i] + b)
            output[i, t] = last[i]
    return output, last


# %% walk: a blend with a mask of 0 and 1
def rnn_walk(x, lengths, W_x, W_h, b):
    mask = (np.arange(x.shape[1]) < np.asarray(lengths).reshape(-1, 1)).astype(float)
    state = np.zeros((x.shape[0], W_h.shape[1]))
    states = []
    for t in range(x.shape[1]):
        m = mask[:, t : t + 1]
        moved = np.tanh(np.dot(x[:, t], W_x.T) + np.dot(state, W_h.T) + b)
        state = m * moved + (1 - m) * state
        states.append(m * state)
    return np.stack(states, axis=1), state


# %% walk: only the rows that are still alive
def rnn_walk(x, lengths, W_x, W_h, b):
    fed = x @ W_x.T + b
    h = np.zeros((len(x), W_h.shape[0]))
    output = np.zeros(fed.shape)
    for t in range(x.shape[1]):
        rows = np.flatnonzero(lengths > t)
        h[rows] = np.tanh(fed[rows, t] + h[rows] @ W_h.T)
        output[rows, t] = h[rows]
    return output, h


# %% walk: without care for the padding, then the last states picked and the outputs cleared
def rnn_walk(x, lengths, W_x, W_h, b):
    h, outputs = 0.0 * (x[:, 0] @ W_x.T), []
    for step in np.moveaxis(x, 1, 0):
        h = np.tanh(np.concatenate([step, h], axis=1) @ np.concatenate([W_x, W_h], axis=1).T + b)
        outputs.append(h)
    output = np.transpose(np.array(outputs), (1, 0, 2))
    h_n = output[np.arange(len(x)), np.array(lengths) - 1]
    output = output * (np.arange(x.shape[1])[None, :, None] < np.array(lengths)[:, None, None])
    return output, h_n


# %% forward: the summary read off the outputs
def bidirectional_forward(x, lengths, forward, backward):
    one, _ = rnn_walk(x, lengths, *forward)
    two = reverse(rnn_walk(reverse(x, lengths), lengths, *backward)[0], lengths)
    ends = one[np.arange(len(x)), lengths - 1]
    return np.concatenate((one, two), axis=-1), np.concatenate((ends, two[:, 0]), axis=-1)


# %% forward: halves of one array filled in place
def bidirectional_forward(x, lengths, forward, backward):
    H = forward[1].shape[0]
    output = np.zeros((x.shape[0], x.shape[1], 2 * H))
    summary = np.zeros((x.shape[0], 2 * H))
    output[..., :H], summary[:, :H] = rnn_walk(x, lengths, forward[0], forward[1], forward[2])
    turned, summary[:, H:] = rnn_walk(reverse(x, lengths), lengths, backward[0], backward[1], backward[2])
    output[..., H:] = reverse(turned, lengths)
    return [output, summary]


# %% forward: a list of pairs, and hstack
def bidirectional_forward(x, lengths, forward, backward):
    walks = []
    for weights, back in ((forward, False), (backward, True)):
        given = reverse(x, lengths) if back else x
        outputs, last = rnn_walk(given, lengths, *weights)
        walks.append((reverse(outputs, lengths) if back else outputs, last))
    (a, last_a), (b, last_b) = walks
    return np.dstack([a, b]), np.hstack([last_a, last_b])


# %% merge: a table of functions
def merge(forward, backward, mode):
    ways = {
        "concat": lambda a, b: np.concatenate((a, b), axis=a.ndim - 1),
        "sum": np.add,
        "mean": lambda a, b: 0.5 * a + 0.5 * b,
        "product": np.multiply,
    }
    return ways[mode](forward, backward)


# %% merge: stacked along a new axis and reduced
def merge(forward, backward, mode):
    both = np.stack([forward, backward])
    if mode == "sum":
        return both.sum(axis=0)
    elif mode == "mean":
        return np.mean(both, axis=0)
    elif mode == "product":
        return np.prod(both, axis=0)
    elif mode == "concat":
        return np.moveaxis(both, 0, -2).reshape(*forward.shape[:-1], -1)
    raise ValueError(mode)


# %% merge: match, and an array filled by halves
def merge(forward, backward, mode):
    match mode:
        case "concat":
            width = forward.shape[-1]
            merged = np.empty((*forward.shape[:-1], 2 * width))
            merged[..., :width] = forward
            merged[..., width:] = backward
            return merged
        case "sum" | "mean":
            total = forward + backward
            return total if mode == "sum" else total * 0.5
        case "product":
            return forward * backward


# %% last: a loop over the batch
def last_state(output, lengths):
    half = output.shape[-1] // 2
    rows = []
    for sequence, n in zip(output, lengths, strict=True):
        rows.append(np.concatenate([sequence[n - 1][:half], sequence[0][half:]]))
    return np.array(rows)


# %% last: split, take_along_axis
def last_state(output, lengths):
    there, back = np.split(output, 2, axis=2)
    at = (np.asarray(lengths) - 1)[:, None, None]
    ends = np.take_along_axis(there, at, axis=1)[:, 0]
    return np.hstack([ends, back[:, 0]])


# %% last: a sum over a mask of one step
def last_state(output, lengths):
    batch, steps, width = output.shape
    is_last = np.arange(steps)[None, :] == np.asarray(lengths)[:, None] - 1
    result = np.zeros((batch, width))
    result[:, : width // 2] = np.einsum("bt,bth->bh", is_last, output[:, :, : width // 2])
    result[:, width // 2 :] = output[:, 0, width // 2 :]
    return result
