# Correct solutions of the PyTorch notebook, written as different people write. A `# %% cell: way` line begins each.

# %% pack: filled by hand; sorted, packed, and put back
def pad(sequences):
    longest = max(s.shape[0] for s in sequences)
    x = torch.zeros(len(sequences), longest, sequences[0].shape[1], dtype=sequences[0].dtype)
    for k, s in enumerate(sequences):
        x[k, : s.shape[0]] = s
    return x, torch.tensor([s.shape[0] for s in sequences])


def run_packed(layer, x, lengths):
    order = torch.argsort(lengths, descending=True)
    back = torch.argsort(order)
    packed = pack_padded_sequence(x[order], lengths[order], batch_first=True)
    out, h_n = layer(packed)
    out = pad_packed_sequence(out, batch_first=True, total_length=x.size(1))[0]
    return out[back], h_n[:, back]


# %% pack: each sequence alone through the layer
def pad(sequences):
    lengths = [s.size(0) for s in sequences]
    rows = [nn.functional.pad(s, (0, 0, 0, max(lengths) - len(s))) for s in sequences]
    return torch.stack(rows), torch.LongTensor(lengths)


def run_packed(layer, x, lengths):
    outputs, states = [], []
    for row, length in enumerate(lengths.tolist()):
        out, h = layer(x[row : row + 1, :length])
        outputs.append(nn.functional.pad(out, (0, 0, 0, x.shape[1] - length)))
        states.append(h)
    return torch.cat(outputs), torch.cat(states, dim=1)


# %% pack: zeros concatenated; padded to the longest, then behind it
def pad(sequences):
    lengths = torch.tensor(list(map(len, sequences)))
    width = sequences[0].shape[-1]
    rows = []
    for s in sequences:
        missing = int(lengths.max()) - len(s)
        rows.append(torch.cat([s, s.new_zeros(missing, width)], dim=0).unsqueeze(0))
    return torch.cat(rows, dim=0), lengths


def run_packed(layer, x, lengths):
    packed = pack_padded_sequence(x, lengths.tolist(), batch_first=True, enforce_sorted=False)
    packed_output, last = layer(packed)
    output, _ = pad_packed_sequence(packed_output, batch_first=True)
    missing = x.shape[1] - output.shape[1]
    if missing:
        output = torch.cat([output, output.new_zeros(output.shape[0], missing, output.shape[2])], dim=1)
    return [output, last]


# %% pack: time first inside, transposed at both ends
def pad(sequences):
    padded = nn.utils.rnn.pad_sequence(sequences).transpose(0, 1)
    return padded, torch.as_tensor([len(s) for s in sequences], dtype=torch.int64)


def run_packed(layer, x, lengths):
    packed = pack_padded_sequence(x.transpose(0, 1), lengths, enforce_sorted=False)
    out, state = layer(packed)
    unpacked, _ = pad_packed_sequence(out, total_length=x.shape[1])
    return unpacked.transpose(0, 1), state


# %% states: expand; slices by name of the layer
def start_state(start, batch):
    return start[:, None, :].expand(-1, batch, -1)


def summary(output, h_n):
    layers = h_n.view(-1, 2, *h_n.shape[1:])
    forward, backward = layers[-1]
    return torch.cat((forward, backward), dim=-1)


# %% states: stack of copies; transpose, then flatten
def start_state(start, batch):
    return torch.stack([start for _ in range(batch)], dim=1)


def summary(output, h_n):
    return h_n[-2:].transpose(0, 1).flatten(1)


# %% states: einsum with ones; hstack of an unbind
def start_state(start, batch):
    return torch.einsum("lh,b->lbh", start, start.new_ones(batch))


def summary(output, h_n):
    states = h_n.unbind(0)
    return torch.hstack([states[len(states) - 2], states[len(states) - 1]])


# %% mask: reduction none, divided by the number of real steps
def step_mask(lengths, steps):
    time = torch.arange(steps).unsqueeze(0)
    return time.lt(lengths.unsqueeze(1))


def masked_loss(scores, y, mask):
    target = torch.where(mask, y, torch.zeros_like(y))
    each = nn.functional.cross_entropy(scores.transpose(1, 2), target, reduction="none")
    return (each * mask).sum() / mask.sum()


def masked_accuracy(scores, y, mask):
    hits = (scores.argmax(-1) == y) & mask
    return (hits.sum() / mask.sum()).item()


# %% mask: the targets of padded steps set to ignore_index
def step_mask(lengths, steps):
    return ~(torch.arange(steps)[None] >= lengths[:, None])


def masked_loss(scores, y, mask):
    target = y.masked_fill(~mask, -100)
    return nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), target.reshape(-1))


def masked_accuracy(scores, y, mask):
    chosen = scores.max(dim=-1).indices[mask]
    return float((chosen == y[mask]).float().mean())


# %% mask: log_softmax and nll_loss, sums over flat tensors
def step_mask(lengths, steps):
    mask = torch.zeros(len(lengths), steps, dtype=torch.bool)
    for row, length in enumerate(lengths):
        mask[row, :length] = True
    return mask


def masked_loss(scores, y, mask):
    log_p = torch.log_softmax(scores, dim=-1)
    return nn.functional.nll_loss(log_p[mask], y[mask])


def masked_accuracy(scores, y, mask):
    right = total = 0
    for b in range(len(y)):
        for t in range(y.shape[1]):
            if mask[b, t]:
                total += 1
                right += int(scores[b, t].argmax() == y[b, t])
    return right / total


# %% mask: gather by hand
def step_mask(lengths, steps):
    return torch.stack([torch.arange(steps) < n for n in lengths])


def masked_loss(scores, y, mask):
    s, target = scores[mask], y[mask]
    right = s.gather(1, target[:, None]).squeeze(1)
    return (torch.logsumexp(s, dim=1) - right).mean()


def masked_accuracy(scores, y, mask):
    return (scores.topk(1, dim=2).indices.squeeze(2) == y).masked_select(mask).float().mean()


# %% tagger: the linear layer applied to each step
class Tagger(nn.Module):
    def __init__(self, input_size, hidden_size, classes):
        super().__init__()
        self.linear = nn.Linear(hidden_size * 2, classes)
        self.layer = nn.GRU(
            input_size=input_size, hidden_size=hidden_size, bidirectional=True, batch_first=True
        )

    def forward(self, x, lengths):
        output = run_packed(self.layer, x, lengths)[0]
        return torch.stack([self.linear(output[:, t]) for t in range(output.shape[1])], dim=1)


# %% tagger: packed here, the scores computed on the packed data
class Tagger(nn.Module):
    def __init__(self, input_size, hidden_size, classes):
        super().__init__()
        self.layer = nn.GRU(input_size, hidden_size, num_layers=1, batch_first=True, bidirectional=True)
        self.linear = nn.Linear(2 * hidden_size, classes)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states = self.layer(packed)[0]
        scores = states._replace(data=self.linear(states.data))
        return pad_packed_sequence(scores, batch_first=True, total_length=x.shape[1])[0]


# %% tagger: an initial state of zeros given, and the halves multiplied apart
class Tagger(nn.Module):
    def __init__(self, input_size, hidden_size, classes):
        super().__init__()
        self.hidden_size = hidden_size
        self.layer = nn.GRU(input_size, hidden_size, batch_first=True, bidirectional=True)
        self.linear = nn.Linear(2 * hidden_size, classes)

    def forward(self, x, lengths):
        n = self.hidden_size
        h_0 = x.new_zeros(2, x.shape[0], n)
        output, _ = run_packed(lambda packed: self.layer(packed, h_0), x, lengths)
        W = self.linear.weight
        return output[..., :n] @ W[:, :n].T + output[..., n:] @ W[:, n:].T + self.linear.bias


# %% train: more updates at a smaller rate, the targets' -100 used as they are
def train_tagger(steps, generator):
    net = Tagger(2, 16, 4)
    redraw(net, generator=generator)
    adam = torch.optim.Adam(net.parameters(), 0.015)
    for _ in range(150):
        x, y, lengths = tagging(48, steps, 2, generator=generator, shortest=4)
        adam.zero_grad()
        nn.functional.cross_entropy(net(x, lengths).flatten(0, 1), y.flatten()).backward()
        adam.step()
    return net


# %% train: stops when a batch is learnt
def train_tagger(steps, generator):
    model = Tagger(input_size=2, hidden_size=16, classes=4)
    redraw(model, generator)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2, weight_decay=0.0)
    for update in range(150):
        x, y, lengths = tagging(64, steps, generator=generator, shortest=4)
        mask = step_mask(lengths, x.shape[1])
        loss = masked_loss(model(x, lengths), y, mask)
        model.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)
        optimizer.step()
        if update > 60 and loss.item() < 0.02:
            break
    return model
