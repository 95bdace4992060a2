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
# # The LSTM in PyTorch, and what its first weights decide
#
# PyTorch computes the gradients, so a cell is a dozen lines. You will write it with PyTorch's parameter names, so that the weights of `nn.LSTMCell` load into it and the results can be compared number by number. Then you will train on a task that asks for nothing but memory, and see that the first value of one bias decides whether it is learnt.
#
# You need PyTorch and the chapter *The LSTM*. Plan for 100 minutes. There are 24 points: 20 are given by the test cells, 4 for an answer in your own words.
#
# Each function is followed by a test cell that stays silent or tells you what is not right yet. To see where you stand, save the notebook and run `python -m refcells.check torch_lstm.ipynb` in a terminal.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch
from torch import nn

from refcells.tasks import remember_first
from refcells.training import LastStepClassifier, accuracy, redraw

torch.set_num_threads(1)  # the models are small, and one thread repeats to the last bit

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-cell", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 1: a fused cell (6 points, 25 minutes)
#
# All four gates come out of one matrix product, which is then split:
#
# $$a = x W_{ih}^\top + b_{ih} + h W_{hh}^\top + b_{hh} = [a_i, a_f, a_g, a_o].$$
#
# | parameter | `weight_ih` | `weight_hh` | `bias_ih` | `bias_hh` |
# | --- | --- | --- | --- | --- |
# | shape | (4H, D) | (4H, H) | (4H,) | (4H,) |
#
# PyTorch has two bias vectors because cuDNN has; only their sum matters to an LSTM. Draw all parameters uniformly from $\pm 1/\sqrt H$, as PyTorch does. With these names and shapes, `load_state_dict` takes the weights of an `nn.LSTMCell` as they are. You may take its first parameters, but the step has to be your own: when it is graded, an answer that derives from `nn.LSTMCell`, or computes with it, with `nn.LSTM` or with the functions behind them, gets no points.


# %% nbgrader={"grade": false, "grade_id": "cell", "locked": false, "schema_version": 3, "solution": true, "task": false}
class FusedLSTMCell(nn.Module):
    """An LSTM cell with the parameters of nn.LSTMCell and its gates in one matrix product.

    Args:
        input_size: D.
        hidden_size: H.

    Example:
        >>> cell = FusedLSTMCell(3, 4)
        >>> h, c = cell(torch.zeros(2, 3), (torch.zeros(2, 4), torch.zeros(2, 4)))
        >>> tuple(h.shape), tuple(c.shape)
        ((2, 4), (2, 4))
    """

    def __init__(self, input_size, hidden_size):
        super().__init__()
        ### BEGIN SOLUTION
        bound = hidden_size**-0.5

        def drawn(*shape):
            return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound))

        self.weight_ih = drawn(4 * hidden_size, input_size)
        self.weight_hh = drawn(4 * hidden_size, hidden_size)
        self.bias_ih = drawn(4 * hidden_size)
        self.bias_hh = drawn(4 * hidden_size)
        ### END SOLUTION

    def forward(self, x, state):
        """One step: x (B, D) and state (h, c), each (B, H), to the next (h, c)."""
        ### BEGIN SOLUTION
        h_prev, c_prev = state
        a = x @ self.weight_ih.T + self.bias_ih + h_prev @ self.weight_hh.T + self.bias_hh
        a_i, a_f, a_g, a_o = a.chunk(4, dim=1)
        c = torch.sigmoid(a_f) * c_prev + torch.sigmoid(a_i) * torch.tanh(a_g)
        h = torch.sigmoid(a_o) * torch.tanh(c)
        return h, c
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-parameters", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Checks the names and shapes of the parameters, and the range they are drawn from.
### AUTOTEST judge("torch.FusedLSTMCell_parameters", FusedLSTMCell)

# %% nbgrader={"grade": true, "grade_id": "test-cell", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Checks one step with weights from nn.LSTMCell's state dict: only x, only h, one bias, saturated gates, everything.
### AUTOTEST judge("torch.FusedLSTMCell", FusedLSTMCell)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.FusedLSTMCell", FusedLSTMCell, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test-gradients", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Checks that gradients reach the input, both states and every parameter.
### AUTOTEST judge("torch.FusedLSTMCell_gradients", FusedLSTMCell)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.FusedLSTMCell_gradients", FusedLSTMCell, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-unroll", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 2: from a cell to layers (5 points, 20 minutes)
#
# `nn.LSTMCell` takes one step, `nn.LSTM` walks. Write the walk for any cell with the cell's interface, for sequences of shape (B, T, D). Then put several walks on top of each other: the first layer reads the inputs, each further one the hidden states of the layer below, and every layer starts from states of zero.
#
# The stack keeps its cells in `self.cells`. A module knows only those parameters that it can find, and it looks at its attributes, not inside Python's own lists. Count the parameters of what you have built: with one layer they are those of one `nn.LSTMCell`. The tests use `nn.LSTMCell`s, so this exercise needs none of the others.


# %% nbgrader={"grade": false, "grade_id": "unroll", "locked": false, "schema_version": 3, "solution": true, "task": false}
def unroll(cell, x, state):
    """Walk an LSTM cell over a batch of sequences.

    Args:
        cell: a module that maps x_t (B, D) and (h, c) to the next (h, c).
        x: inputs (B, T, D).
        state: initial (h, c), each (B, H).

    Returns:
        (output, (h_n, c_n)): all hidden states (B, T, H), and the last states (B, H).

    Example:
        >>> zeros = torch.zeros(2, 4)
        >>> output, (h_n, c_n) = unroll(nn.LSTMCell(3, 4), torch.zeros(2, 5, 3), (zeros, zeros))
        >>> tuple(output.shape), tuple(h_n.shape)
        ((2, 5, 4), (2, 4))
    """
    ### BEGIN SOLUTION
    h, c = state
    outputs = []
    for t in range(x.shape[1]):
        h, c = cell(x[:, t], (h, c))
        outputs.append(h)
    return torch.stack(outputs, dim=1), (h, c)
    ### END SOLUTION


class StackedLSTM(nn.Module):
    """LSTM layers on top of each other, each made of one nn.LSTMCell in self.cells.

    Args:
        input_size: D.
        hidden_size: H, of every layer.
        layers: number of layers.

    Example:
        >>> stack = StackedLSTM(3, 4, layers=2)
        >>> tuple(stack(torch.zeros(2, 5, 3)).shape), sum(p.numel() for p in stack.parameters())
        ((2, 5, 4), 304)
    """

    def __init__(self, input_size, hidden_size, layers):
        super().__init__()
        ### BEGIN SOLUTION
        self.hidden_size = hidden_size
        self.cells = nn.ModuleList()
        for layer in range(layers):
            self.cells.append(nn.LSTMCell(hidden_size if layer else input_size, hidden_size))
        ### END SOLUTION

    def forward(self, x):
        """Inputs x (B, T, D) to the hidden states of the last layer (B, T, H)."""
        ### BEGIN SOLUTION
        for cell in self.cells:
            zeros = x.new_zeros(len(x), self.hidden_size)
            x, _ = unroll(cell, x, (zeros, zeros))
        return x
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-unroll", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks the outputs, the last states and the gradient of x for an nn.LSTMCell over five steps.
### AUTOTEST judge("torch.unroll", unroll)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.unroll", unroll, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test-stack", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks the number of parameters and the outputs of one, two and three layers.
### AUTOTEST judge("torch.StackedLSTM", StackedLSTM)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.StackedLSTM", StackedLSTM, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-bias", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 3: the forget bias (3 points, 10 minutes)
#
# At PyTorch's default initialisation every forget gate starts near $\sigma(0) = 0.5$, so each step keeps about half of the cell state. A positive bias opens the gates from the start (Gers, Schmidhuber and Cummins 2000; Jozefowicz, Zaremba and Sutskever 2015). Two things can go wrong: the block, and the second bias vector. PyTorch *adds* `bias_ih` and `bias_hh`, so the gate's bias is their sum, and the sum shall be `value`.
#
# Write in place, under `torch.no_grad()`, since parameters that require gradients refuse to be written to otherwise.


# %% nbgrader={"grade": false, "grade_id": "bias", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gate_block(bias, gate):
    """One gate's block of a stacked bias, as a view: writing into it writes into the bias.

    Args:
        bias: tensor (4H,), blocks in the order i, f, g, o.
        gate: "i", "f", "g" or "o".

    Returns:
        A view of shape (H,).

    Example:
        >>> gate_block(torch.arange(8.0), "g").tolist()
        [4.0, 5.0]
    """
    ### BEGIN SOLUTION
    hidden = bias.shape[0] // 4
    k = "ifgo".index(gate)
    return bias[k * hidden : (k + 1) * hidden]
    ### END SOLUTION


def set_forget_bias(bias_ih, bias_hh, value):
    """Make the forget gate's bias, the sum of two, equal to value. In place; the other gates keep theirs.

    Args:
        bias_ih, bias_hh: the two stacked bias parameters (4H,).
        value: the bias that the forget gates shall have.

    Example:
        >>> layer = nn.LSTM(3, 2)
        >>> set_forget_bias(layer.bias_ih_l0, layer.bias_hh_l0, 1.0)
        >>> (layer.bias_ih_l0 + layer.bias_hh_l0)[2:4].tolist()
        [1.0, 1.0]
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        gate_block(bias_ih, "f").fill_(value)
        gate_block(bias_hh, "f").fill_(0.0)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-block", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Checks the blocks of a bias for three units.
### AUTOTEST gate_block(torch.arange(12.0), "f"); gate_block(torch.arange(12.0), "o")
### BEGIN HIDDEN TESTS
### AUTOTEST gate_block(torch.arange(20.0), "i"); gate_block(torch.arange(20.0), "g")
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test-bias", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks the sum of the two biases after the call, and that the other gates' biases are as before.
### AUTOTEST judge("torch.set_forget_bias", set_forget_bias)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.set_forget_bias", set_forget_bias, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-train", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 4: one update (3 points, 10 minutes)
#
# Gradients of recurrent nets can be very large at single updates. Clipping by the *global norm* shortens the whole gradient to length `clip` when it is longer and keeps its direction (Pascanu, Mikolov and Bengio 2013). It only helps if it happens before the update. The loss is cross-entropy, which takes raw scores. This exercise needs none of the others.


# %% nbgrader={"grade": false, "grade_id": "train", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_step(model, optimizer, x, y, clip):
    """One update of a classifier: loss, gradients, clipping by global norm, step.

    Args:
        model: maps x to scores (B, classes).
        optimizer: a torch optimiser over the model's parameters.
        x: a batch of inputs.
        y: the right classes (B,), int64.
        clip: largest global gradient norm.

    Returns:
        The loss before the update, a float, in nats.

    Example:
        >>> model = nn.Linear(2, 4, bias=False)
        >>> _ = nn.init.zeros_(model.weight)
        >>> loss = train_step(model, torch.optim.SGD(model.parameters(), lr=1.0), torch.ones(3, 2), torch.tensor([0, 1, 2]), 1.0)
        >>> round(loss, 4)  # the logarithm of 4
        1.3863
    """
    ### BEGIN SOLUTION
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return loss.item()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-train", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks the losses and the weights after one and after three updates, with and without clipping.
### AUTOTEST judge("torch.train_step", train_step)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.train_step", train_step, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-remember", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 5: learn to remember (3 points, 20 minutes)
#
# `remember_first(batch, steps, symbols, generator=...)` draws sequences that show one of 8 symbols at the first step and nothing after it; the target is that symbol. Nothing has to be computed, only kept, for `steps - 1` steps.
#
# Build `LastStepClassifier(nn.LSTM(8, 32, batch_first=True), 32, 8)`, draw its parameters with `redraw(model, generator)` so that the generator decides them, set the forget bias, and train with Adam at a learning rate of 0.01 for at most 200 updates on batches of 64, clipped at 1. Drawing everything from `generator` makes the run repeatable.
#
# The test asks for 95 percent of held-out symbols at 20 steps; chance is 12 percent. It trains up to three times, from different seeds, and the best run counts. Try forget biases of 0, 1 and 3 and write down what you see: the last question asks about it. Training takes about a second. This exercise calls your `set_forget_bias` and `train_step`.


# %% nbgrader={"grade": false, "grade_id": "remember", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_to_remember(steps, generator):
    """Build and train a classifier for remember_first.

    Args:
        steps: sequence length.
        generator: the torch.Generator that every random number comes from.

    Returns:
        The trained model: scores (B, 8) for sequences (B, steps, 8).

    Example:
        >>> model = train_to_remember(5, torch.Generator().manual_seed(0))
        >>> x, y = remember_first(100, 5, 8, generator=torch.Generator().manual_seed(1))
        >>> accuracy(model(x), y) > 0.95
        True
    """
    ### BEGIN SOLUTION
    layer = nn.LSTM(8, 32, batch_first=True)
    model = LastStepClassifier(layer, 32, 8)
    redraw(model, generator)
    set_forget_bias(layer.bias_ih_l0, layer.bias_hh_l0, 3.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(200):
        x, y = remember_first(64, steps, 8, generator=generator)
        train_step(model, optimizer, x, y, 1.0)
    return model
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-remember", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks the accuracy on 512 held-out sequences of 20 steps: the best of up to three trainings counts.
### AUTOTEST judge("torch.train_to_remember", train_to_remember)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.train_to_remember", train_to_remember, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## In your own words (4 points, 15 minutes)
#
# A person reads what you write here and gives the points. Three to six sentences are enough.

# %% [markdown] nbgrader={"grade": false, "grade_id": "question-initialisation", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **Question (4 points).** What did you see at 20 steps with forget biases of 0, 1 and 3? Explain it with the share of the cell state that is left after 20 steps at the start of training, and with the gradient that reaches the first step. What does your experiment *not* show?
#
# ### BEGIN MARK SCHEME
# 1 point: the observation, with numbers: near chance at 0, partly learnt at 1, learnt at 3.
#
# 1 point: the share left at the start, about 0.5^20 = 1e-6, 0.73^20 = 0.002 and 0.95^20 = 0.38.
#
# 1 point: the gradient along the cell state shrinks by the same factors, so at 0 the first step gets next to none.
#
# 1 point: a limit of the experiment: one task, one learning rate, few seeds; another rate or more updates may learn it at a lower bias; it does not follow that default LSTMs cannot remember.
# ### END MARK SCHEME

# %% [markdown] nbgrader={"grade": true, "grade_id": "words-initialisation", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# With bias 0 the accuracy stays near chance, with 1 it lies somewhere between a quarter and all, depending on the seed, and with 3 every run reaches 100 percent. At the start of training the three keep about a millionth, 0.2 percent and 38 percent of the cell state over 20 steps. The gradient that goes back along the cell state is multiplied by the same forget gates, so with bias 0 the first step, the only one that matters, receives next to nothing. The experiment uses one task, one learning rate and a few seeds. It does not show that a default LSTM can never learn this: with a smaller rate and more updates some runs do.
# ### END SOLUTION
