# Correct solutions of the PyTorch notebook, written as different people write. A `# %% cell: way` line begins each.

# %% clip: one long vector, cut up again
def clip_by_global_norm(gradients, most):
    flat = torch.cat([g.reshape(-1) for g in gradients])
    norm = flat.norm().item()
    if norm > most:
        flat = flat * (most / norm)
    parts = flat.split([g.numel() for g in gradients])
    return [part.view_as(g) for part, g in zip(parts, gradients, strict=True)], norm


# %% clip: the norm of the norms, clamped
def clip_by_global_norm(gradients, most):
    norm = torch.stack([torch.linalg.vector_norm(g) for g in gradients]).norm()
    factor = torch.clamp(most / (norm + 1e-12), max=1.0)
    return tuple(factor * g for g in gradients), norm


# %% clip: PyTorch's own function on stand-ins
def clip_by_global_norm(gradients, most):
    parameters = [nn.Parameter(torch.zeros_like(g)) for g in gradients]
    for parameter, g in zip(parameters, gradients, strict=True):
        parameter.grad = g.clone()
    norm = nn.utils.clip_grad_norm_(parameters, most)
    return [parameter.grad for parameter in parameters], float(norm)


# %% clip: plain loops and an early return
def clip_by_global_norm(gradients, most):
    total = 0.0
    for g in gradients:
        total += g.pow(2).sum().item()
    norm = total**0.5
    if norm <= most:
        return [g.clone() for g in gradients], norm
    return [g / norm * most for g in gradients], norm


# %% chunks: split along time, the state detached on the way in
def forward_in_chunks(layer, x, chunk):
    state = torch.zeros(1, x.shape[0], layer.hidden_size, dtype=x.dtype)
    found = []
    for part in x.split(chunk, dim=1):
        output, state = layer(part, state.detach())
        found.append(output)
    return torch.cat(found, 1)


# %% chunks: a tensor filled in place, a while loop, a clone of the data
def forward_in_chunks(layer, x, chunk):
    batch, steps, _ = x.shape
    result = x.new_zeros(batch, steps, layer.hidden_size)
    state, start = None, 0
    while start < steps:
        stop = min(start + chunk, steps)
        result[:, start:stop], state = layer(x[:, start:stop], state)
        state = state.data.clone()
        start = stop
    return result


# %% chunks: recursive, the state read off the outputs
def forward_in_chunks(layer, x, chunk):
    def rest(start, state):
        if start >= x.size(1):
            return []
        output = layer(x[:, start : start + chunk], state)[0]
        with torch.no_grad():
            state = output[:, -1].unsqueeze(0).clone()
        return [output, *rest(start + chunk, state)]

    return torch.cat(rest(0, None), dim=1)


# %% chunks: step by step through the layer, detached where a chunk begins
def forward_in_chunks(layer, x, chunk):
    outputs, h = [], torch.zeros(1, len(x), layer.hidden_size).to(x)
    for t in range(x.shape[1]):
        if t % chunk == 0:
            h = h.detach()
        output, h = layer(x[:, t : t + 1], h)
        outputs.append(output)
    return torch.cat(outputs, dim=1)


# %% train: split and zip, the state detached before the chunk
def train_in_chunks(layer, readout, optimizer, x, y, chunk, clip):
    losses = []
    h = torch.zeros(1, len(x), layer.hidden_size, dtype=x.dtype)
    for part, wanted in zip(x.split(chunk, 1), y.split(chunk, 1), strict=True):
        h = h.detach()
        output, h = layer(part, h)
        loss = (readout(output) - wanted).square().mean()
        layer.zero_grad()
        readout.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(list(layer.parameters()) + list(readout.parameters()), clip)
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


# %% train: a ModuleList's parameters, gradients cleared after the step, losses as tensors
def train_in_chunks(layer, readout, optimizer, x, y, chunk, clip):
    both = nn.ModuleList([layer, readout])
    criterion, state, losses, start = nn.MSELoss(), None, [], 0
    while start < x.size(1):
        window = slice(start, start + chunk)
        output, state = layer(x[:, window], state)
        loss = criterion(readout(output), y[:, window])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(both.parameters(), max_norm=clip)
        optimizer.step()
        optimizer.zero_grad()
        state.detach_()
        losses += [loss.detach()]
        start += chunk
    return losses


# %% train: clipped by hand, through the optimiser's groups
def train_in_chunks(layer, readout, optimizer, x, y, chunk, clip):
    parameters = [p for group in optimizer.param_groups for p in group["params"]]

    def update(part, wanted, state):
        output, new = layer(part, state)
        loss = nn.functional.mse_loss(readout(output), wanted)
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        clipped, _ = clip_by_global_norm([p.grad for p in parameters], clip)
        for p, g in zip(parameters, clipped, strict=True):
            p.grad = g
        optimizer.step()
        return loss.item(), new.detach()

    losses, state = [], None
    for start in range(0, x.shape[1], chunk):
        stop = start + chunk
        loss, state = update(x[:, start:stop], y[:, start:stop], state)
        losses.append(loss)
    return losses


# %% lost: torch.autograd.grad, the chunk's end, and counts a chunk
def last_step_gradients(layer, x, chunk):
    inputs = torch.tensor(x.tolist(), dtype=x.dtype, requires_grad=True)
    loss = torch.sum(forward_in_chunks(layer, inputs, chunk)[:, -1, :])
    return torch.autograd.grad(loss, inputs)[0]


def gradient_reaches(source, target, chunk):
    start = target - target % chunk
    return start <= source <= target


def pairs_lost(steps, chunk):
    total = steps * (steps + 1) // 2
    whole, rest = divmod(steps, chunk)
    kept = whole * chunk * (chunk + 1) // 2 + rest * (rest + 1) // 2
    return total - kept


# %% lost: the last chunk alone, started from a state without history
def last_step_gradients(layer, x, chunk):
    start = (x.shape[1] - 1) // chunk * chunk
    gradient = torch.zeros_like(x)
    state = None
    if start > 0:
        with torch.no_grad():
            _, state = layer(x[:, :start])
    last = x[:, start:].clone().requires_grad_(True)
    output, _ = layer(last, state)
    output[:, -1].sum().backward()
    gradient[:, start:] = last.grad
    return gradient


def gradient_reaches(source, target, chunk):
    if source > target:
        return False
    cuts = range(chunk, target + 1, chunk)
    return not any(source < cut for cut in cuts)


def pairs_lost(steps, chunk):
    lost = 0
    for target in range(steps):
        for source in range(target + 1):
            if not gradient_reaches(source, target, chunk):
                lost += 1
    return lost


# %% lost: one unit weight on the last step, and a sum of chunk starts
def last_step_gradients(layer, x, chunk):
    leaf = nn.Parameter(x.clone())
    output = forward_in_chunks(layer, leaf, chunk)
    weight = torch.zeros_like(output)
    weight[:, -1] = 1.0
    output.backward(weight)
    return leaf.grad.clone()


def gradient_reaches(source, target, chunk):
    return bool(0 <= target - source <= target % chunk)


def pairs_lost(steps, chunk):
    return sum(target // chunk * chunk for target in range(steps))
