# Correct solutions of the PyTorch notebook, written as different people write. A `# %% cell: way` line begins each.

# %% cell: functional.linear twice, and reset_parameters
class TanhRNNCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.weight_ih = nn.Parameter(torch.empty(hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(hidden_size, hidden_size))
        self.bias_ih = nn.Parameter(torch.empty(hidden_size))
        self.bias_hh = nn.Parameter(torch.empty(hidden_size))
        self.reset_parameters()

    def reset_parameters(self):
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(self.hidden_size**-0.5), self.hidden_size**-0.5)

    def forward(self, x, h):
        a = nn.functional.linear(x, self.weight_ih, self.bias_ih)
        return (a + nn.functional.linear(h, self.weight_hh, self.bias_hh)).tanh()


# %% cell: matmul, and tanh from exponentials
class TanhRNNCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        bound = hidden_size**-0.5

        def draw(*shape):
            return nn.Parameter(torch.zeros(*shape).uniform_(-bound, bound))

        self.weight_ih, self.weight_hh = draw(hidden_size, input_size), draw(hidden_size, hidden_size)
        self.bias_ih, self.bias_hh = draw(hidden_size), draw(hidden_size)

    def forward(self, x, h):
        a = (
            torch.matmul(x, self.weight_ih.T)
            + torch.matmul(h, self.weight_hh.T)
            + self.bias_ih
            + self.bias_hh
        )
        e = torch.exp(-2 * a.abs())
        return torch.sign(a) * (1 - e) / (1 + e)


# %% cell: concatenated weights, addmm
class TanhRNNCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        k = 1 / hidden_size**0.5
        for name, shape in {
            "weight_ih": (hidden_size, input_size),
            "weight_hh": (hidden_size, hidden_size),
            "bias_ih": (hidden_size,),
            "bias_hh": (hidden_size,),
        }.items():
            self.register_parameter(name, nn.Parameter((2 * torch.rand(shape) - 1) * k))

    def forward(self, x, h):
        weights = torch.cat([self.weight_ih, self.weight_hh], dim=1)
        both = torch.cat([x, h], dim=1)
        return torch.tanh(torch.addmm(self.bias_ih + self.bias_hh, both, weights.t()))


# %% cell: parameters taken from a built-in cell, einsum, tanh from the sigmoid
class TanhRNNCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        like = nn.RNNCell(input_size, hidden_size)
        self.weight_ih, self.weight_hh = like.weight_ih, like.weight_hh
        self.bias_ih, self.bias_hh = like.bias_ih, like.bias_hh

    def forward(self, x, h):
        a = torch.einsum("bd,hd->bh", x, self.weight_ih) + torch.einsum("bj,hj->bh", h, self.weight_hh)
        return 2 * torch.sigmoid(2 * (a + self.bias_ih + self.bias_hh)) - 1


# %% unroll: an empty tensor filled in place; the layer's parameters copied one by one
def unroll(cell, x, h0):
    batch, steps, _ = x.shape
    output = x.new_empty(batch, steps, h0.shape[1])
    h = h0
    for t in range(steps):
        h = cell(x[:, t, :], h)
        output[:, t, :] = h
    return output, h


def as_layer(cell):
    layer = nn.RNN(cell.input_size, cell.hidden_size, 1, batch_first=True)
    with torch.no_grad():
        layer.weight_ih_l0.copy_(cell.weight_ih)
        layer.weight_hh_l0.copy_(cell.weight_hh)
        layer.bias_ih_l0.copy_(cell.bias_ih)
        layer.bias_hh_l0.copy_(cell.bias_hh)
    return layer


# %% unroll: unbind and cat; parameters in order, shared with the cell
def unroll(cell, x, h0):
    states = [h0]
    for x_t in x.unbind(dim=1):
        states.append(cell(x_t, states[-1]))
    return torch.cat([h.unsqueeze(1) for h in states[1:]], dim=1), states[-1]


def as_layer(cell):
    layer = nn.RNN(input_size=cell.input_size, hidden_size=cell.hidden_size, batch_first=True)
    for name, parameter in cell.named_parameters():
        setattr(layer, name + "_l0", nn.Parameter(parameter.detach().clone()))
    return layer


# %% unroll: time first, transposed at the end; sizes read from the weights, one bias for two
def unroll(cell, x, h0):
    outputs, h = [], h0
    for x_t in x.transpose(0, 1):
        h = cell(x_t, h)
        outputs += [h]
    return [torch.stack(outputs).transpose(0, 1), h]


def as_layer(cell):
    hidden, inputs = cell.weight_ih.shape
    layer = nn.RNN(inputs, hidden, batch_first=True).double()
    layer.weight_ih_l0.data = cell.weight_ih.data.clone()
    layer.weight_hh_l0.data = cell.weight_hh.data.clone()
    layer.bias_ih_l0.data = (cell.bias_ih + cell.bias_hh).data
    layer.bias_hh_l0.data = torch.zeros_like(cell.bias_hh.data)
    return layer


# %% loss: both flattened
def sequence_loss(scores, targets):
    return nn.functional.cross_entropy(scores.reshape(-1, scores.size(-1)), targets.reshape(-1))


# %% loss: log-softmax, gathered, averaged over the targets
def sequence_loss(scores, targets):
    counted = targets >= 0
    logs = scores.log_softmax(dim=-1)
    picked = logs.gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return -(picked * counted).sum() / counted.sum()


# %% loss: a module, steps that count picked first
def sequence_loss(scores, targets):
    keep = targets != -100
    return nn.CrossEntropyLoss()(scores[keep], targets[keep])


# %% loss: step by step, added up
def sequence_loss(scores, targets):
    total = 0.0
    for t in range(scores.shape[1]):
        total = total + nn.functional.cross_entropy(scores[:, t], targets[:, t], reduction="sum")
    return total / (targets != -100).sum()


# %% remember: a while loop, gradients set to zero at the end, clipped
def train_to_remember(steps, generator):
    model = LastStepClassifier(nn.RNN(8, 32, batch_first=True), 32, 8)
    redraw(model, generator)
    adam, done = torch.optim.Adam(model.parameters(), 1e-2), 0
    while done < 120:
        x, y = remember_first(64, steps, generator=generator)
        nn.CrossEntropyLoss()(model(x), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        adam.zero_grad()
        done += 1
    model.eval()
    return model


# %% remember: AdamW, a model of one's own, written with functions
def train_to_remember(steps, generator):
    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.RNN(8, 40, batch_first=True)
            self.out = nn.Linear(40, 8)

        def forward(self, x):
            _, h_n = self.rnn(x)
            return self.out(h_n[-1])

    model = Reader()
    redraw(model, generator)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.008)

    def update():
        x, y = remember_first(48, steps, 8, generator=generator)
        optimizer.zero_grad(set_to_none=True)
        nn.functional.nll_loss(model(x).log_softmax(1), y).backward()
        optimizer.step()

    for _ in range(150):
        update()
    return model
