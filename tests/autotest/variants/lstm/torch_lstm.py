# Correct solutions of the PyTorch notebook, written as different people write. A `# %% cell: way` line begins each.

# %% cell: functional.linear twice, chunk, and reset_parameters
class FusedLSTMCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.weight_ih = nn.Parameter(torch.empty(4 * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(4 * hidden_size, hidden_size))
        self.bias_ih = nn.Parameter(torch.empty(4 * hidden_size))
        self.bias_hh = nn.Parameter(torch.empty(4 * hidden_size))
        self.reset_parameters()

    def reset_parameters(self):
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(self.hidden_size**-0.5), self.hidden_size**-0.5)

    def forward(self, x, state):
        h, c = state
        a = nn.functional.linear(x, self.weight_ih, self.bias_ih)
        a = a + nn.functional.linear(h, self.weight_hh, self.bias_hh)
        i, f, g, o = torch.chunk(a, 4, -1)
        c = f.sigmoid().mul(c).add(i.sigmoid().mul(g.tanh()))
        return o.sigmoid() * c.tanh(), c


# %% cell: one product for each gate, by rows of the weights
class FusedLSTMCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        bound = hidden_size**-0.5

        def draw(*shape):
            return nn.Parameter(torch.zeros(*shape).uniform_(-bound, bound))

        self.weight_ih, self.weight_hh = draw(4 * hidden_size, input_size), draw(4 * hidden_size, hidden_size)
        self.bias_ih, self.bias_hh = draw(4 * hidden_size), draw(4 * hidden_size)

    def forward(self, x, state):
        h, c = state
        rows = [slice(k * h.shape[-1], (k + 1) * h.shape[-1]) for k in range(4)]
        i, f, g, o = (
            torch.matmul(x, self.weight_ih[k].T)
            + torch.matmul(h, self.weight_hh[k].T)
            + self.bias_ih[k]
            + self.bias_hh[k]
            for k in rows
        )
        kept = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(kept), kept


# %% cell: one product of the concatenated weights, and slices
class FusedLSTMCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        k = 1 / hidden_size**0.5
        rows = 4 * hidden_size
        for name, shape in {
            "weight_ih": (rows, input_size),
            "weight_hh": (rows, hidden_size),
            "bias_ih": (rows,),
            "bias_hh": (rows,),
        }.items():
            self.register_parameter(name, nn.Parameter((2 * torch.rand(shape) - 1) * k))

    def forward(self, x, state):
        n = state[0].size(1)
        weights = torch.cat([self.weight_ih, self.weight_hh], dim=1)
        a = torch.addmm(self.bias_ih + self.bias_hh, torch.cat([x, state[0]], dim=1), weights.t())
        gates = torch.sigmoid(a)
        new = gates[:, n : 2 * n] * state[1] + gates[:, :n] * torch.tanh(a[:, 2 * n : 3 * n])
        return [gates[:, 3 * n :] * torch.tanh(new), new]


# %% cell: einsum over a view with an axis of gates, tanh identities
class FusedLSTMCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        like = nn.LSTMCell(input_size, hidden_size)
        self.weight_ih, self.weight_hh = like.weight_ih, like.weight_hh
        self.bias_ih, self.bias_hh = like.bias_ih, like.bias_hh

    def forward(self, x, state):
        h, c = state
        W_x, W_h = self.weight_ih.view(4, -1, x.shape[1]), self.weight_hh.view(4, -1, h.shape[1])
        a = torch.einsum("bd,khd->kbh", x, W_x) + torch.einsum("bj,khj->kbh", h, W_h)
        a = a + (self.bias_ih + self.bias_hh).view(4, 1, -1)
        i, f, o = (1 + torch.tanh(a[[0, 1, 3]] / 2)) / 2
        c = torch.addcmul(f * c, i, torch.tanh(a[2]))
        return o * torch.tanh(c), c


# %% unroll: an empty tensor filled in place
def unroll(cell, x, state):
    batch, steps, _ = x.shape
    h, c = state
    output = x.new_empty(batch, steps, h.shape[1])
    for t in range(steps):
        h, c = cell(x[:, t, :], (h, c))
        output[:, t, :] = h
    return output, (h, c)


class StackedLSTM(nn.Module):
    def __init__(self, input_size, hidden_size, layers):
        super().__init__()
        widths = [input_size] + [hidden_size] * (layers - 1)
        self.cells = nn.ModuleList(nn.LSTMCell(width, hidden_size) for width in widths)

    def forward(self, x):
        output = x
        for cell in self.cells:
            start = torch.zeros(x.size(0), cell.hidden_size, dtype=x.dtype)
            output = unroll(cell, output, (start, start.clone()))[0]
        return output


# %% unroll: unbind, cat along a new axis
def unroll(cell, x, state):
    hs = []
    for x_t in x.unbind(dim=1):
        state = cell(x_t, state)
        hs.append(state[0].unsqueeze(1))
    return torch.cat(hs, dim=1), state


class StackedLSTM(nn.Module):
    def __init__(self, input_size, hidden_size, layers):
        super().__init__()
        first = nn.LSTMCell(input_size, hidden_size)
        self.cells = nn.ModuleList(
            [first, *(nn.LSTMCell(hidden_size, hidden_size) for _ in range(1, layers))]
        )

    def forward(self, x):
        # Time outside, layers inside.
        states = [None] * len(self.cells)
        shown = []
        for x_t in x.unbind(1):
            for k, cell in enumerate(self.cells):
                states[k] = cell(x_t, states[k])
                x_t = states[k][0]
            shown.append(x_t)
        return torch.stack(shown, 1)


# %% unroll: time first, transposed at the end
def unroll(cell, x, state):
    states = [tuple(state)]
    for x_t in x.transpose(0, 1):
        states.append(cell(x_t, states[-1]))
    return [torch.stack([h for h, _ in states[1:]]).transpose(0, 1), list(states[-1])]


class StackedLSTM(nn.Module):
    def __init__(self, input_size, hidden_size, layers):
        super().__init__()
        self.shape = hidden_size
        self.cells = nn.Sequential(
            *[nn.LSTMCell(hidden_size if k > 0 else input_size, hidden_size) for k in range(layers)]
        )

    def forward(self, x):
        def up(below, rest):
            if not rest:
                return below
            states = [below.new_zeros(below.shape[0], self.shape) for _ in "hc"]
            return up(unroll(rest[0], below, states)[0], rest[1:])

        return up(x, list(self.cells))


# %% bias: half the value in each bias
def gate_block(bias, gate):
    return bias.view(4, -1)[["i", "f", "g", "o"].index(gate)]


@torch.no_grad()
def set_forget_bias(bias_ih, bias_hh, value):
    for bias in (bias_ih, bias_hh):
        gate_block(bias, "f").copy_(torch.full_like(gate_block(bias, "f"), value / 2))


# %% bias: chunks, and the difference added to what is there
def gate_block(bias, gate):
    i, f, g, o = bias.chunk(4)
    return {"i": i, "f": f, "g": g, "o": o}[gate]


def set_forget_bias(bias_ih, bias_hh, value):
    n = bias_ih.numel() // 4
    with torch.no_grad():
        bias_ih[n : 2 * n] += value - bias_ih[n : 2 * n] - bias_hh[n : 2 * n]


# %% bias: narrow, and writing through data
def gate_block(bias, gate):
    size = len(bias) // 4
    return bias.narrow(0, size * "ifgo".find(gate), size)


def set_forget_bias(bias_ih, bias_hh, value):
    gate_block(bias_ih.data, "f")[:] = value
    gate_block(bias_hh.data, "f").zero_()


# %% train: log_softmax and NLL
def train_step(model, optimizer, x, y, clip):
    optimizer.zero_grad()
    loss = nn.functional.nll_loss(torch.log_softmax(model(x), dim=-1), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm=clip)
    optimizer.step()
    return float(loss)


# %% train: clipped by hand
def train_step(model, optimizer, x, y, clip):
    model.zero_grad(set_to_none=True)
    scores = model(x)
    loss = (scores.logsumexp(-1) - scores.gather(-1, y[:, None]).squeeze(-1)).mean()
    loss.backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    norm = sum(g.pow(2).sum() for g in gradients).sqrt()
    if norm > clip:
        for g in gradients:
            g *= clip / norm
    optimizer.step()
    return loss.detach()


# %% train: autograd.grad, and the gradients cleared after the step
def train_step(model, optimizer, x, y, clip):
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    loss = nn.CrossEntropyLoss()(model(x), y)
    for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
        parameter.grad = gradient
    nn.utils.clip_grad_norm_(parameters, clip)
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


# %% remember: forget bias 4, fewer updates, a smaller batch
def train_to_remember(steps, generator):
    model = LastStepClassifier(nn.LSTM(8, 32, batch_first=True), 32, 8)
    redraw(model, generator)
    with torch.no_grad():
        set_forget_bias(model.layer.bias_ih_l0, model.layer.bias_hh_l0, 4.0)
    adam = torch.optim.Adam(model.parameters(), 0.01)
    done = 0
    while done < 180:
        train_step(model, adam, *remember_first(48, steps, 8, generator=generator), 1.0)
        done += 1
    return model


# %% remember: stops when a batch is learnt
def train_to_remember(steps, generator):
    lstm = nn.LSTM(input_size=8, hidden_size=32, batch_first=True)
    net = LastStepClassifier(lstm, hidden_size=32, classes=8)
    redraw(net, generator=generator)
    set_forget_bias(*(p for name, p in lstm.named_parameters() if "bias" in name), value=3.5)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for update in range(200):
        x, y = remember_first(64, steps, 8, generator=generator)
        loss = train_step(net, optimizer, x, y, clip=1)
        if loss < 0.01 and update > 50:
            break
    return net


# %% unroll: the states of each step kept as pairs
def unroll(cell, x, state):
    pairs = [tuple(state)]
    for t in range(x.size(1)):
        pairs.append(cell(x.select(1, t), pairs[-1]))
    hidden = [pair[0].unsqueeze(1) for pair in pairs[1:]]
    return torch.cat(hidden, dim=1), pairs[-1]


class StackedLSTM(nn.Module):
    def __init__(self, input_size, hidden_size, layers):
        super().__init__()
        self.cells = nn.ModuleDict()
        width = input_size
        for k in range(layers):
            self.cells[str(k)] = nn.LSTMCell(width, hidden_size)
            width = hidden_size

    def forward(self, x):
        for cell in self.cells.values():
            zeros = torch.zeros_like(x[:, 0, :1]).expand(-1, cell.hidden_size)
            x = unroll(cell, x, (zeros, zeros))[0]
        return x


# %% bias: index_fill by the rows of the block
def gate_block(bias, gate):
    start = {"i": 0, "f": 1, "g": 2, "o": 3}[gate] * (len(bias) // 4)
    return bias.narrow(0, start, len(bias) // 4)


@torch.no_grad()
def set_forget_bias(bias_ih, bias_hh, value):
    rows = torch.arange(len(bias_ih) // 4) + len(bias_ih) // 4
    bias_hh.index_fill_(0, rows, value)
    bias_ih.index_fill_(0, rows, 0.0)


# %% train: the loss from log-probabilities by gather
def train_step(model, optimizer, x, y, clip):
    optimizer.zero_grad(set_to_none=False)
    chosen = model(x).log_softmax(dim=-1).gather(1, y[:, None])
    loss = -chosen.mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm=clip, norm_type=2.0)
    optimizer.step()
    return float(loss)
