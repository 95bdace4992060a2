# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown] nbgrader={"grade": false, "grade_id": "intro", "locked": true, "schema_version": 3, "solution": false, "task": false}
# # The GRU in PyTorch, and a fair race with the LSTM
#
# PyTorch's GRU is not the one that you wrote in NumPy: its reset gate comes after the matrix product, and its $z$ is the share that is kept. You will write that cell so that the weights of `nn.GRUCell` load into it, convert weights between the two conventions, and then let a GRU and an LSTM learn the same task from the same start.
#
# You need PyTorch and the chapter *The GRU*. Plan for 120 minutes. There are 22 points: 18 are given by the test cells, 4 for an answer in your own words.
#
# Each function is followed by a test cell that stays silent or tells you what is not right yet. To see where you stand, save the notebook and run `python -m refcells.check torch_gru.ipynb` in a terminal.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time

import torch
from torch import nn

from refcells.tasks import remember_first
from refcells.training import LastStepClassifier, accuracy, redraw

torch.set_num_threads(1)  # the models are small, and one thread repeats to the last bit

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-cell", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 1: PyTorch's cell (6 points, 25 minutes)
#
# The input's share and the state's share are two fused products, and each is split into three blocks:
#
# $$x W_{ih}^\top + b_{ih} = [a_{xr}, a_{xz}, a_{xn}], \qquad h_{t-1} W_{hh}^\top + b_{hh} = [a_{hr}, a_{hz}, a_{hn}]$$
# $$r = \sigma(a_{xr} + a_{hr}), \quad z = \sigma(a_{xz} + a_{hz}), \quad n = \tanh(a_{xn} + r \odot a_{hn}), \quad h_t = (1 - z) \odot n + z \odot h_{t-1}$$
#
# | parameter | `weight_ih` | `weight_hh` | `bias_ih` | `bias_hh` |
# | --- | --- | --- | --- | --- |
# | shape | (3H, D) | (3H, H) | (3H,) | (3H,) |
#
# Two things differ from `vector_gru`. The reset gate multiplies $a_{hn}$, the finished product with its bias inside, so all three blocks come out of one product and nothing waits for $r$. And $z$ is the share of the old state that is *kept*. Draw all parameters uniformly from $\pm 1/\sqrt H$, as PyTorch does. With these names and shapes, `load_state_dict` takes the weights of an `nn.GRUCell` as they are. You may take its first parameters, but the step has to be your own: when it is graded, an answer that derives from `nn.GRUCell`, or computes with it, with `nn.GRU` or with the functions behind them, gets no points.


# %% nbgrader={"grade": false, "grade_id": "cell", "locked": false, "schema_version": 3, "solution": true, "task": false}
class ResetAfterGRUCell(nn.Module):
    """A GRU cell with the parameters of nn.GRUCell, the reset gate after the matrix product, z the share kept.

    Args:
        input_size: D.
        hidden_size: H.

    Example:
        >>> cell = ResetAfterGRUCell(3, 4)
        >>> tuple(cell(torch.zeros(2, 3), torch.zeros(2, 4)).shape)
        (2, 4)
    """

    def __init__(self, input_size, hidden_size):
        super().__init__()
        ### BEGIN SOLUTION
        bound = hidden_size**-0.5

        def drawn(*shape):
            return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound))

        self.weight_ih = drawn(3 * hidden_size, input_size)
        self.weight_hh = drawn(3 * hidden_size, hidden_size)
        self.bias_ih = drawn(3 * hidden_size)
        self.bias_hh = drawn(3 * hidden_size)
        ### END SOLUTION

    def forward(self, x, h_prev):
        """One step: x (B, D) and h_prev (B, H) to the next h (B, H)."""
        ### BEGIN SOLUTION
        a_xr, a_xz, a_xn = (x @ self.weight_ih.T + self.bias_ih).chunk(3, dim=1)
        a_hr, a_hz, a_hn = (h_prev @ self.weight_hh.T + self.bias_hh).chunk(3, dim=1)
        r = torch.sigmoid(a_xr + a_hr)
        z = torch.sigmoid(a_xz + a_hz)
        n = torch.tanh(a_xn + r * a_hn)
        return (1 - z) * n + z * h_prev
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-parameters", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Checks the names and shapes of the parameters, and the range they are drawn from.
### AUTOTEST judge("torch.ResetAfterGRUCell_parameters", ResetAfterGRUCell)

# %% nbgrader={"grade": true, "grade_id": "test-cell", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Checks one step with nn.GRUCell's state dict: only x, only h, one bias, saturated gates, everything.
### AUTOTEST judge("torch.ResetAfterGRUCell", ResetAfterGRUCell)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.ResetAfterGRUCell", ResetAfterGRUCell, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test-gradients", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Checks that gradients reach the input, the state and every parameter.
### AUTOTEST judge("torch.ResetAfterGRUCell_gradients", ResetAfterGRUCell)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.ResetAfterGRUCell_gradients", ResetAfterGRUCell, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-convert", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 2: weights there and back (4 points, 25 minutes)
#
# In this course $z$ is the share that is written, $h_t = (1 - z) \odot h_{t-1} + z \odot n$. A cell with the reset after the product then reads
#
# $$r, z = \sigma(x W_x^\top + h_{t-1} W_h^\top + b)_{r, z}, \qquad n = \tanh\bigl(x W_{xn}^\top + b_n + r \odot (h_{t-1} W_{hn}^\top + b_{hn})\bigr).$$
#
# Here the biases are as few as they can be. For $r$ and $z$ only the sum of PyTorch's two biases matters, so `b` (3H,) holds the sum. The candidate needs two: $b_n$, the last block of `b`, stands outside the reset, and $b_{hn}$ (H,) inside it. No single number does the work of both, since $r$ changes from step to step.
#
# Convert in both directions. The placement of the reset stays as it is; what turns round is $z$, and $1 - \sigma(a) = \sigma(-a)$. Of PyTorch's pairs of biases only the sum is fixed where `to_torch` has a choice. Work on copies: a state dict shares its memory with the cell that it came from.


# %% nbgrader={"grade": false, "grade_id": "convert", "locked": false, "schema_version": 3, "solution": true, "task": false}
def from_torch(state):
    """Weights in this course's convention from the state dict of an nn.GRUCell.

    Args:
        state: tensors weight_ih (3H, D), weight_hh (3H, H), bias_ih (3H,), bias_hh (3H,), blocks r, z, n.

    Returns:
        (W_x, W_h, b, b_hn): tensors (3H, D), (3H, H), (3H,) and (H,).

    Example:
        >>> W_x, W_h, b, b_hn = from_torch(nn.GRUCell(3, 4).state_dict())
        >>> tuple(W_x.shape), tuple(W_h.shape), tuple(b.shape), tuple(b_hn.shape)
        ((12, 3), (12, 4), (12,), (4,))
    """
    ### BEGIN SOLUTION
    W_xr, W_xz, W_xn = state["weight_ih"].chunk(3)
    W_hr, W_hz, W_hn = state["weight_hh"].chunk(3)
    b_xr, b_xz, b_xn = state["bias_ih"].chunk(3)
    b_hr, b_hz, b_hn = state["bias_hh"].chunk(3)
    W_x = torch.cat([W_xr, -W_xz, W_xn])
    W_h = torch.cat([W_hr, -W_hz, W_hn])
    b = torch.cat([b_xr + b_hr, -b_xz - b_hz, b_xn])
    return W_x, W_h, b, b_hn.clone()
    ### END SOLUTION


def to_torch(W_x, W_h, b, b_hn):
    """A state dict with which an nn.GRUCell computes the same function.

    Args:
        W_x, W_h, b, b_hn: tensors in this course's convention, as from_torch returns them.

    Returns:
        A dict with weight_ih, weight_hh, bias_ih and bias_hh.

    Example:
        >>> cell, other = nn.GRUCell(3, 4), nn.GRUCell(3, 4)
        >>> _ = other.load_state_dict(to_torch(*from_torch(cell.state_dict())))
        >>> x, h = torch.ones(2, 3), torch.ones(2, 4)
        >>> torch.allclose(cell(x, h), other(x, h), atol=1e-6)
        True
    """
    ### BEGIN SOLUTION
    W_xr, W_xz, W_xn = W_x.chunk(3)
    W_hr, W_hz, W_hn = W_h.chunk(3)
    b_r, b_z, b_n = b.chunk(3)
    none = torch.zeros_like(b_hn)
    return {
        "weight_ih": torch.cat([W_xr, -W_xz, W_xn]),
        "weight_hh": torch.cat([W_hr, -W_hz, W_hn]),
        "bias_ih": torch.cat([b_r, -b_z, b_n]),
        "bias_hh": torch.cat([none, none, b_hn]),
    }
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-from", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks the four tensors, without biases and with them, and that the state dict is left as it was.
### AUTOTEST judge("torch.from_torch", from_torch)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.from_torch", from_torch, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test-to", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks what an nn.GRUCell computes with the state dict: without biases, from a zero state, saturated, everything.
### AUTOTEST judge("torch.to_torch", to_torch)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.to_torch", to_torch, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-bias", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 3: the same start for both (2 points, 10 minutes)
#
# An LSTM keeps by its forget gate, PyTorch's GRU by its update gate. In both stacks of blocks, i, f, g, o and r, z, n, that is the second block, and in both a positive bias means *keep*. (With this course's $z$ it would be a negative one.) PyTorch adds `bias_ih` and `bias_hh`, and for gates only the sum matters: make the sum equal to `value`. Write in place, under `torch.no_grad()`.


# %% nbgrader={"grade": false, "grade_id": "bias", "locked": false, "schema_version": 3, "solution": true, "task": false}
def set_keep_bias(bias_ih, bias_hh, blocks, value):
    """Make the bias of the gate that keeps, the sum of two, equal to value. In place; the other blocks keep theirs.

    Args:
        bias_ih, bias_hh: the two stacked bias parameters of one layer, (blocks * H,).
        blocks: 4 for an LSTM, 3 for a GRU; the gate that keeps is the second block.
        value: the bias that the gate shall have.

    Example:
        >>> layer = nn.GRU(3, 2)
        >>> set_keep_bias(layer.bias_ih_l0, layer.bias_hh_l0, 3, 1.0)
        >>> (layer.bias_ih_l0 + layer.bias_hh_l0)[2:4].tolist()
        [1.0, 1.0]
    """
    ### BEGIN SOLUTION
    hidden = len(bias_ih) // blocks
    with torch.no_grad():
        bias_ih[hidden : 2 * hidden] = value
        bias_hh[hidden : 2 * hidden] = 0.0
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-bias", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks the sum of the two biases for a GRU and for an LSTM, and that the other blocks are as before.
### AUTOTEST judge("torch.set_keep_bias", set_keep_bias)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.set_keep_bias", set_keep_bias, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-until", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 4: train until it is learnt (3 points, 25 minutes)
#
# `remember_first(batch, steps, 8, generator=...)` shows one of 8 symbols at the first step and nothing after it; the target is that symbol. To compare two layers you need more than an accuracy: how many updates did it take, and how many seconds?
#
# Draw a held-out batch of 256 sequences. Then train with Adam at a learning rate of 0.01 on fresh batches of 64, with cross-entropy and the gradient clipped to a global norm of 1 before the update. After every 25 updates, and after the last one, measure the accuracy on the held-out batch under `torch.no_grad()`. Stop at the first measurement of 0.95 or more, or when `most` updates are made. Take the time with `time.perf_counter()`, and every random number from `generator`, so that a run can be repeated.
#
# The test trains up to three small models, from different seeds, and the best one counts. It compares your report with what it sees: it counts the updates and asks the model about fresh sequences. This exercise needs none of the others.


# %% nbgrader={"grade": false, "grade_id": "until", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_until(model, steps, most, generator):
    """Train a classifier on remember_first until it has learnt it.

    Args:
        model: maps sequences (B, steps, 8) to scores (B, 8); it is trained in place.
        steps: sequence length.
        most: largest number of updates.
        generator: the torch.Generator that every random number comes from.

    Returns:
        A dict of plain numbers: "accuracy" on the held-out batch at the last measurement, between 0 and 1; "updates",
        the number that were made; "seconds", what the training took.

    Example:
        >>> model = LastStepClassifier(nn.GRU(8, 32, batch_first=True), 32, 8)
        >>> result = train_until(model, 3, 10, torch.Generator().manual_seed(0))
        >>> sorted(result), result["updates"]
        (['accuracy', 'seconds', 'updates'], 10)
    """
    ### BEGIN SOLUTION
    held_x, held_y = remember_first(256, steps, 8, generator=generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    started = time.perf_counter()
    score = 0.0
    for update in range(1, most + 1):
        x, y = remember_first(64, steps, 8, generator=generator)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if update % 25 == 0 or update == most:
            with torch.no_grad():
                score = accuracy(model(held_x), held_y)
            if score >= 0.95:
                break
    return {"accuracy": score, "updates": update, "seconds": time.perf_counter() - started}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-until", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks the report of a training that is cut short and of one that learns: accuracy, updates and seconds.
### AUTOTEST judge("torch.train_until", train_until)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.train_until", train_until, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-compare", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 5: GRU and LSTM, compared (3 points, 20 minutes)
#
# For each of the two, build `LastStepClassifier(layer, 32, 8)` around an `nn.LSTM` or `nn.GRU` with 8 inputs, 32 hidden units and `batch_first=True`. Draw its parameters with `redraw(model, generator)`, *then* set the keep bias, and train for at most 300 updates. Return both reports.
#
# The test asks for an accuracy of 0.95 of both at 10 steps with a bias of 3; the best of up to three comparisons counts. When it is silent, compare at 20 steps with biases of 0, 1 and 3 and a few seeds each, and write the numbers down: the last question asks about them. A comparison takes a few seconds. This exercise calls your `set_keep_bias` and `train_until`.


# %% nbgrader={"grade": false, "grade_id": "compare", "locked": false, "schema_version": 3, "solution": true, "task": false}
def compare(steps, bias, generator):
    """Train an LSTM and a GRU on remember_first from the same start.

    Args:
        steps: sequence length.
        bias: the bias that the LSTM's forget gate and the GRU's update gate start with.
        generator: the torch.Generator that every random number comes from.

    Returns:
        A dict with the keys "lstm" and "gru"; each value is what train_until returns.

    Example:
        >>> results = compare(3, 1.0, torch.Generator().manual_seed(0))
        >>> sorted(results), results["gru"]["accuracy"] > 0.9
        (['gru', 'lstm'], True)
    """
    ### BEGIN SOLUTION
    results = {}
    for name, layer, blocks in [
        ("lstm", nn.LSTM(8, 32, batch_first=True), 4),
        ("gru", nn.GRU(8, 32, batch_first=True), 3),
    ]:
        model = LastStepClassifier(layer, 32, 8)
        redraw(model, generator)
        set_keep_bias(layer.bias_ih_l0, layer.bias_hh_l0, blocks, bias)
        results[name] = train_until(model, steps, 300, generator)
    return results
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-compare", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks both reports at 10 steps and a bias of 3, the biases at the start, and the accuracy of both layers.
### AUTOTEST judge("torch.compare", compare)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.compare", compare, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## In your own words (4 points, 15 minutes)
#
# A person reads what you write here and gives the points. Three to six sentences are enough.

# %% [markdown] nbgrader={"grade": false, "grade_id": "question-race", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **Question (4 points).** What did you measure at 20 steps with biases of 0, 1 and 3: accuracy, updates and seconds of both? A friend reads your table and says: *so the GRU is better than the LSTM*. What is right about that, what does the start of each cell have to do with it, and what would you have to measure to say more?
#
# ### BEGIN MARK SCHEME
# 1 point: the observation, with numbers of more than one seed: at bias 0 the GRU learns it in about 75 to 200 updates and the LSTM stays near chance; at 1 the LSTM learns it with some seeds; at 3 both learn it, the LSTM in no more updates than the GRU, and in less time an update on this machine.
#
# 1 point: the comparison at equal bias 0 compares starts and not only cells: at bias 0 both keep about half a step at first, and 20 steps leave about 0.5^20. Any sound observation on the start, such as that the order of the two depends on the bias.
#
# 1 point: what is not shown: one task (pure keeping), one length, one learning rate and size, few seeds; each cell at its best rate would be a fairer comparison.
#
# 1 point: fewer parameters do not mean less time: seconds depend on the implementation (kernel, machine, size) as well as on the number of updates.
# ### END MARK SCHEME

# %% [markdown] nbgrader={"grade": true, "grade_id": "words-race", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# With bias 0 the GRU reached 100 percent after 75 to 200 updates with all five seeds, and the LSTM stayed near chance for all 300. With bias 1 the GRU needed 75 to 150, and the LSTM learnt it with two seeds of five. With bias 3 both learnt it every time, the GRU in 50 to 75 updates and the LSTM in 25 to 100. So the friend is right about the default start and not about the cells: which one looks better depends on how open its gate is when training begins. My table has one task that asks for nothing but keeping, one length, one size and one learning rate; I would have to give each cell its best rate and try other tasks. The GRU has a quarter fewer parameters, but here an update of it took about twice as long, which says something about the library on my machine and not about the cell.
# ### END SOLUTION
