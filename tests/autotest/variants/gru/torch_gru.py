# Correct solutions of the PyTorch notebook, written as different people write. A `# %% cell: way` line begins each.

# %% cell: functional.linear, chunks, and reset_parameters
class ResetAfterGRUCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.weight_ih = nn.Parameter(torch.empty(3 * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(3 * hidden_size, hidden_size))
        self.bias_ih = nn.Parameter(torch.empty(3 * hidden_size))
        self.bias_hh = nn.Parameter(torch.empty(3 * hidden_size))
        self.reset_parameters()

    def reset_parameters(self):
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(self.hidden_size**-0.5), self.hidden_size**-0.5)

    def forward(self, x, h_prev):
        from_x = nn.functional.linear(x, self.weight_ih, self.bias_ih)
        from_h = nn.functional.linear(h_prev, self.weight_hh, self.bias_hh)
        k = 2 * self.hidden_size
        r, z = torch.sigmoid(from_x[:, :k] + from_h[:, :k]).chunk(2, dim=1)
        n = (from_x[:, k:] + r * from_h[:, k:]).tanh()
        return n + z * (h_prev - n)


# %% cell: a weighted mean of old and new, blocks by split
class ResetAfterGRUCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        bound = hidden_size**-0.5

        def draw(*shape):
            return nn.Parameter(torch.zeros(*shape).uniform_(-bound, bound))

        self.weight_ih, self.weight_hh = draw(3 * hidden_size, input_size), draw(3 * hidden_size, hidden_size)
        self.bias_ih, self.bias_hh = draw(3 * hidden_size), draw(3 * hidden_size)

    def forward(self, x, h_prev):
        size = h_prev.shape[-1]
        x_r, x_z, x_n = torch.split(torch.matmul(x, self.weight_ih.T) + self.bias_ih, size, dim=-1)
        h_r, h_z, h_n = torch.split(torch.matmul(h_prev, self.weight_hh.T) + self.bias_hh, size, dim=-1)
        keep = torch.sigmoid(x_z + h_z)
        return keep * h_prev + (1 - keep) * torch.tanh(x_n + torch.sigmoid(x_r + h_r) * h_n)


# %% cell: registered parameters, slices, lerp
class ResetAfterGRUCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        k = 1 / hidden_size**0.5
        rows = 3 * hidden_size
        for name, shape in {
            "weight_ih": (rows, input_size),
            "weight_hh": (rows, hidden_size),
            "bias_ih": (rows,),
            "bias_hh": (rows,),
        }.items():
            self.register_parameter(name, nn.Parameter((2 * torch.rand(shape) - 1) * k))

    def forward(self, x, h_prev):
        n = h_prev.size(1)
        a = torch.addmm(self.bias_ih, x, self.weight_ih.t())
        u = torch.addmm(self.bias_hh, h_prev, self.weight_hh.t())
        reset = torch.sigmoid(a[:, :n] + u[:, :n])
        keep = torch.sigmoid(a[:, n : 2 * n] + u[:, n : 2 * n])
        new = torch.tanh(torch.addcmul(a[:, 2 * n :], reset, u[:, 2 * n :]))
        return torch.lerp(new, h_prev, keep)


# %% cell: an axis of blocks, einsum, tanh identities
class ResetAfterGRUCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        like = nn.GRUCell(input_size, hidden_size)
        self.weight_ih, self.weight_hh = like.weight_ih, like.weight_hh
        self.bias_ih, self.bias_hh = like.bias_ih, like.bias_hh

    def forward(self, x, h_prev):
        W, U = self.weight_ih.view(3, -1, x.shape[1]), self.weight_hh.view(3, -1, h_prev.shape[1])
        a = torch.einsum("bd,khd->kbh", x, W) + self.bias_ih.view(3, 1, -1)
        u = torch.einsum("bj,khj->kbh", h_prev, U) + self.bias_hh.view(3, 1, -1)
        r, z = (1 + torch.tanh((a[:2] + u[:2]) / 2)) / 2
        return (1 - z) * torch.tanh(a[2] + r * u[2]) + z * h_prev


# %% cell: a block at a time
class ResetAfterGRUCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        torch_own = nn.GRUCell(input_size, hidden_size)
        for name, parameter in list(torch_own.named_parameters()):
            setattr(self, name, nn.Parameter(parameter.detach().clone()))

    def forward(self, x, h_prev):
        def block(k):
            rows = slice(k * h_prev.shape[1], (k + 1) * h_prev.shape[1])
            return (
                x @ self.weight_ih[rows].T + self.bias_ih[rows],
                h_prev @ self.weight_hh[rows].T + self.bias_hh[rows],
            )

        r, z = (torch.sigmoid(sum(block(k))) for k in (0, 1))
        new, past = block(2)
        new = torch.tanh(new + r * past)
        return new - z * new + z * h_prev


# %% convert: clones changed in place
def from_torch(state):
    W_x, W_h = state["weight_ih"].clone(), state["weight_hh"].clone()
    n = W_h.shape[1]
    b = state["bias_ih"] + state["bias_hh"]
    b[2 * n :] = state["bias_ih"][2 * n :]
    for stacked in (W_x, W_h, b):
        stacked[n : 2 * n] *= -1
    return W_x, W_h, b, state["bias_hh"][2 * n :].clone()


def to_torch(W_x, W_h, b, b_hn):
    n = len(b_hn)
    W_x, W_h, b = W_x.clone(), W_h.clone(), b.clone()
    for stacked in (W_x, W_h, b):
        stacked[n : 2 * n].neg_()
    bias_hh = torch.zeros_like(b)
    bias_hh[2 * n :] = b_hn
    return dict(weight_ih=W_x, weight_hh=W_h, bias_ih=b, bias_hh=bias_hh)


# %% convert: a column of signs, half of each gate's bias in either
def from_torch(state):
    n = state["weight_hh"].shape[1]
    sign = torch.tensor([1.0, -1.0, 1.0], dtype=state["bias_ih"].dtype).repeat_interleave(n)
    outside, inside = state["bias_ih"] * sign, state["bias_hh"] * sign
    gates = torch.arange(3 * n) < 2 * n
    return [
        sign[:, None] * state["weight_ih"],
        sign[:, None] * state["weight_hh"],
        outside + torch.where(gates, inside, torch.zeros_like(inside)),
        inside[2 * n :],
    ]


def to_torch(W_x, W_h, b, b_hn):
    n = W_h.size(1)
    sign = torch.cat([torch.ones(n), -torch.ones(n), torch.ones(n)]).to(b.dtype)
    turned = sign * b
    half = turned[: 2 * n] / 2
    state = {name: sign.unsqueeze(1) * W for name, W in (("weight_ih", W_x), ("weight_hh", W_h))}
    state["bias_ih"] = torch.cat((half, turned[2 * n :]))
    state["bias_hh"] = torch.cat((half, b_hn))
    return state


# %% convert: views with an axis of blocks; the gates' biases on the other side
from collections import OrderedDict


def from_torch(state):
    def turned(stacked):
        r, z, n = stacked.view(3, -1, *stacked.shape[1:]).unbind()
        return torch.stack([r, z.neg(), n]).flatten(0, 1)

    both = turned(state["bias_ih"]), turned(state["bias_hh"])
    rows = len(both[0]) // 3
    b = torch.cat([(both[0] + both[1])[: 2 * rows], both[0][2 * rows :]])
    return turned(state["weight_ih"]), turned(state["weight_hh"]), b, both[1][-rows:]


def to_torch(W_x, W_h, b, b_hn):
    cell = nn.GRUCell(W_x.shape[1], W_h.shape[1]).to(b.dtype)
    rows = len(b_hn)
    with torch.no_grad():
        for parameter, value in ((cell.weight_ih, W_x), (cell.weight_hh, W_h)):
            parameter.copy_(value)
            parameter[rows : 2 * rows].neg_()
        cell.bias_ih.zero_()
        cell.bias_ih[2 * rows :] = b[2 * rows :]
        cell.bias_hh[:rows] = b[:rows]
        cell.bias_hh[rows : 2 * rows] = -b[rows : 2 * rows]
        cell.bias_hh[2 * rows :] = b_hn
    return OrderedDict(cell.state_dict())


# %% bias: half the value in each bias
@torch.no_grad()
def set_keep_bias(bias_ih, bias_hh, blocks, value):
    for bias in (bias_ih, bias_hh):
        bias.view(blocks, -1)[1] = value / 2


# %% bias: the difference added to what is there
def set_keep_bias(bias_ih, bias_hh, blocks, value):
    n = bias_ih.numel() // blocks
    with torch.no_grad():
        bias_hh[n : 2 * n] += value - bias_ih[n : 2 * n] - bias_hh[n : 2 * n]


# %% bias: chunks through data, filled in place
def set_keep_bias(bias_ih, bias_hh, blocks, value):
    bias_ih.data.chunk(blocks)[1].fill_(value)
    bias_hh.data.chunk(blocks)[1].zero_()


# %% bias: narrow and copy
def set_keep_bias(bias_ih, bias_hh, blocks, value):
    size = len(bias_ih) // blocks
    with torch.no_grad():
        bias_ih.narrow(0, size, size).copy_(torch.full((size,), float(value)))
        bias_hh.narrow(0, size, size).mul_(0)


# %% until: a while loop, the measurement in a function of its own
def train_until(model, steps, most, generator):
    test = remember_first(256, steps, 8, generator=generator)

    @torch.no_grad()
    def measured():
        return accuracy(model(test[0]), test[1])

    before = time.perf_counter()
    adam = torch.optim.Adam(model.parameters(), 1e-2)
    done, reached = 0, 0.0
    while done < most and reached < 0.95:
        x, y = remember_first(64, steps, generator=generator)
        adam.zero_grad()
        nn.CrossEntropyLoss()(model(x), y).backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm=1)
        adam.step()
        done += 1
        if done in (most, *range(25, most, 25)):
            reached = measured()
    return {"seconds": time.perf_counter() - before, "updates": done, "accuracy": reached}


# %% until: chunks of 25 updates, accuracy by hand, the wall clock
def train_until(model, steps, most, generator):
    begin = time.time()
    x_test, y_test = remember_first(256, steps, symbols=8, generator=generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    made, share = 0, 0.0
    for start in range(0, most, 25):
        for _ in range(min(25, most - start)):
            x, y = remember_first(64, steps, symbols=8, generator=generator)
            loss = nn.functional.nll_loss(model(x).log_softmax(dim=1), y)
            model.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            made += 1
        with torch.no_grad():
            share = (model(x_test).argmax(dim=1) == y_test).double().mean().item()
        if share >= 0.95:
            break
    return dict(accuracy=share, updates=made, seconds=max(time.time() - begin, 1e-6))


# %% until: clipped by hand, the process's own time
def train_until(model, steps, most, generator):
    x_held, y_held = remember_first(256, steps, generator=generator)
    parameters = list(model.parameters())
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    start, score = time.process_time(), 0.0
    for k in range(most):
        x, y = remember_first(64, steps, generator=generator)
        scores = model(x)
        loss = (scores.logsumexp(1) - scores.gather(1, y[:, None])[:, 0]).mean()
        for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            parameter.grad = gradient
        norm = sum(p.grad.square().sum() for p in parameters).sqrt()
        for p in parameters:
            p.grad /= max(1.0, float(norm))
        optimizer.step()
        if (k + 1) % 25 == 0 or k + 1 == most:
            score = accuracy(model(x_held).detach(), y_held)
            if score >= 0.95:
                break
    return {"accuracy": score, "updates": k + 1, "seconds": time.process_time() - start}


# %% compare: a helper for one layer, the GRU first
def compare(steps, bias, generator):
    def one(layer, blocks):
        model = LastStepClassifier(layer, 32, 8)
        redraw(model, generator)
        set_keep_bias(layer.bias_ih_l0, layer.bias_hh_l0, blocks, bias)
        return train_until(model, steps, 300, generator)

    return {"gru": one(nn.GRU(8, 32, batch_first=True), 3), "lstm": one(nn.LSTM(8, 32, batch_first=True), 4)}


# %% compare: both models built first, then trained
def compare(steps, bias, generator):
    models = {
        name: LastStepClassifier(getattr(nn, name.upper())(8, 32, batch_first=True), 32, 8)
        for name in ("lstm", "gru")
    }
    for name, model in models.items():
        redraw(model, generator)
        own = dict(model.layer.named_parameters())
        set_keep_bias(own["bias_ih_l0"], own["bias_hh_l0"], {"lstm": 4, "gru": 3}[name], bias)
    return {name: train_until(model, steps, 300, generator) for name, model in models.items()}


# %% compare: blocks read off the shape, fewer updates allowed
def compare(steps, bias, generator):
    lstm, gru = nn.LSTM(8, 32, batch_first=True), nn.GRU(8, 32, batch_first=True)
    reports = []
    for layer in (lstm, gru):
        classifier = LastStepClassifier(layer, hidden_size=32, classes=8)
        redraw(classifier, generator=generator)
        blocks = layer.weight_hh_l0.shape[0] // layer.hidden_size
        with torch.no_grad():
            set_keep_bias(layer.bias_ih_l0, layer.bias_hh_l0, blocks, bias)
        reports.append(train_until(classifier, steps, most=250, generator=generator))
    return dict(zip(["lstm", "gru"], reports, strict=True))
