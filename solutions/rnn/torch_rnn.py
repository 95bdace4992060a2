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
# # The recurrent cell in PyTorch
#
# Here the cell becomes a module: its weights are parameters, PyTorch computes the gradients, and it can be trained. You will write it so that it equals `nn.RNNCell`, walk it by hand as `nn.RNN` walks it, compute a loss at every step, and train a network that has to keep one symbol in mind.
#
# You need PyTorch and the chapter *The RNN*. Plan for 90 minutes. There are 22 points: 18 are given by the test cells, 4 for an answer in your own words.
#
# Each function is followed by a test cell that stays silent or tells you what is not right yet. To see where you stand, save the notebook and run `python -m refcells.check torch_rnn.ipynb` in a terminal.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch
from torch import nn

from refcells.tasks import remember_first
from refcells.training import LastStepClassifier, accuracy, redraw

torch.set_num_threads(1)  # the models are small, and one thread repeats to the last bit

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-cell", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 1: a cell as a module (6 points, 20 minutes)
#
# $$h_t = \tanh(x_t W_{ih}^\top + b_{ih} + h_{t-1} W_{hh}^\top + b_{hh})$$
#
# | parameter | `weight_ih` | `weight_hh` | `bias_ih` | `bias_hh` |
# | --- | --- | --- | --- | --- |
# | shape | (H, D) | (H, H) | (H,) | (H,) |
#
# PyTorch has two bias vectors because cuDNN has; only their sum matters. Draw all parameters uniformly from $\pm 1/\sqrt H$, as PyTorch does. With these names and shapes, `load_state_dict` takes the weights of an `nn.RNNCell` as they are. You may take its first parameters, but the step has to be your own: when it is graded, an answer that derives from `nn.RNNCell`, or computes with it, with `nn.RNN` or with the functions behind them, gets no points.


# %% nbgrader={"grade": false, "grade_id": "cell", "locked": false, "schema_version": 3, "solution": true, "task": false}
class TanhRNNCell(nn.Module):
    """A plain recurrent cell with the parameters of nn.RNNCell.

    Args:
        input_size: D.
        hidden_size: H.

    Example:
        >>> cell, like = TanhRNNCell(3, 4), nn.RNNCell(3, 4)
        >>> _ = cell.load_state_dict(like.state_dict())
        >>> x, h = torch.ones(2, 3), torch.ones(2, 4)
        >>> torch.allclose(cell(x, h), like(x, h))
        True
    """

    def __init__(self, input_size, hidden_size):
        super().__init__()
        ### BEGIN SOLUTION
        bound = hidden_size**-0.5

        def drawn(*shape):
            return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound))

        self.weight_ih = drawn(hidden_size, input_size)
        self.weight_hh = drawn(hidden_size, hidden_size)
        self.bias_ih = drawn(hidden_size)
        self.bias_hh = drawn(hidden_size)
        ### END SOLUTION

    def forward(self, x, h):
        """One step: x (B, D) and the state h (B, H) to the next state (B, H)."""
        ### BEGIN SOLUTION
        a = x @ self.weight_ih.T + self.bias_ih + h @ self.weight_hh.T + self.bias_hh
        return torch.tanh(a)
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-parameters", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Checks the names and shapes of the parameters, and the range they are drawn from.
### AUTOTEST judge("torch.TanhRNNCell_parameters", TanhRNNCell)


# %% nbgrader={"grade": true, "grade_id": "test-cell", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Checks one step with weights from nn.RNNCell's state dict: only x, only h, one bias, everything.
### AUTOTEST judge("torch.TanhRNNCell", TanhRNNCell)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.TanhRNNCell", TanhRNNCell, seed=HIDDEN_SEED)
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test-gradients", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Checks that gradients reach the input, the state and every parameter.
### AUTOTEST judge("torch.TanhRNNCell_gradients", TanhRNNCell)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.TanhRNNCell_gradients", TanhRNNCell, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-unroll", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 2: cell and layer (5 points, 20 minutes)
#
# `nn.RNNCell` takes one step, `nn.RNN` walks a whole sequence in one call. Most of the time the layer is what you want: it is faster. Where something has to happen between two steps, you walk the cell yourself.
#
# Write both ways, and they give the same numbers. `unroll` walks any cell over sequences (B, T, D). `as_layer` makes the `nn.RNN` that computes the same in one call. Two things differ there: PyTorch's layers put time first unless you ask for batch first, and the names of a layer's parameters end in the layer's number, `weight_ih_l0` and so on. The tests use an `nn.RNNCell`, so this exercise needs none of the others.


# %% nbgrader={"grade": false, "grade_id": "unroll", "locked": false, "schema_version": 3, "solution": true, "task": false}
def unroll(cell, x, h0):
    """Walk a cell over a batch of sequences.

    Args:
        cell: a module that maps x_t (B, D) and h (B, H) to the next h.
        x: inputs (B, T, D).
        h0: initial states (B, H).

    Returns:
        (output, h_n): all hidden states (B, T, H), and the last one (B, H).

    Example:
        >>> output, h_n = unroll(nn.RNNCell(3, 4), torch.zeros(2, 5, 3), torch.zeros(2, 4))
        >>> tuple(output.shape), tuple(h_n.shape)
        ((2, 5, 4), (2, 4))
    """
    ### BEGIN SOLUTION
    h = h0
    outputs = []
    for t in range(x.shape[1]):
        h = cell(x[:, t], h)
        outputs.append(h)
    return torch.stack(outputs, dim=1), h
    ### END SOLUTION


def as_layer(cell):
    """The batch-first layer that computes what a walk of the cell computes.

    Args:
        cell: an nn.RNNCell, which knows its input_size and hidden_size.

    Returns:
        An nn.RNN of one layer with the cell's weights.

    Example:
        >>> cell, x, h0 = nn.RNNCell(3, 4), torch.ones(2, 5, 3), torch.zeros(2, 4)
        >>> output, h_n = as_layer(cell)(x, h0[None])  # a layer's states have an axis for the layers in front
        >>> torch.allclose(output[:, 0], cell(x[:, 0], h0)), tuple(h_n.shape)
        (True, (1, 2, 4))
    """
    ### BEGIN SOLUTION
    layer = nn.RNN(cell.input_size, cell.hidden_size, batch_first=True)
    layer.load_state_dict({f"{name}_l0": value for name, value in cell.state_dict().items()})
    return layer
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-unroll", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks the outputs, the last state and the gradient of x for an nn.RNNCell over five steps.
### AUTOTEST judge("torch.unroll_rnn", unroll)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.unroll_rnn", unroll, seed=HIDDEN_SEED)
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test-layer", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks that the layer's outputs and last state are those of the cell, from several initial states.
### AUTOTEST judge("torch.as_layer", as_layer)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.as_layer", as_layer, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-loss", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 3: a loss at every step (4 points, 15 minutes)
#
# A network that answers at every step gives scores (B, T, K), and the targets are class numbers (B, T). The loss is the mean of the cross-entropies,
#
# $$L = -\frac{1}{N} \sum_{(b, t)} \ln \text{softmax}(s_{b, t})_{y_{b, t}},$$
#
# over the N steps that have a target. Padded steps have the target -100, which PyTorch's `cross_entropy` leaves out by default. It takes raw scores, and it wants the classes on the *second* axis, (B, K, T). A reshape to that shape runs without an error and mixes steps and classes.


# %% nbgrader={"grade": false, "grade_id": "loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sequence_loss(scores, targets):
    """Mean cross-entropy over all steps that have a target.

    Args:
        scores: raw scores (B, T, K).
        targets: class numbers (B, T), int64; -100 where there is no target.

    Returns:
        The loss in nats: a tensor with one number, which backward() can start from.

    Example:
        >>> round(sequence_loss(torch.zeros(2, 3, 4), torch.tensor([[0, 1, 2], [3, -100, -100]])).item(), 4)  # ln 4
        1.3863
    """
    ### BEGIN SOLUTION
    return nn.functional.cross_entropy(scores.transpose(1, 2), targets)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-loss", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Checks the loss and its gradient for a single step, a batch of one, several steps, and padded ones.
### AUTOTEST judge("torch.sequence_loss", sequence_loss)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.sequence_loss", sequence_loss, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-remember", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 4: keep one symbol in mind (3 points, 20 minutes)
#
# `remember_first(batch, steps, symbols, generator=...)` draws sequences that show one of 8 symbols at the first step and nothing after it; the target is that symbol.
#
# Build `LastStepClassifier(nn.RNN(8, 32, batch_first=True), 32, 8)`, draw its parameters with `redraw(model, generator)` so that the generator decides them, and train it with Adam at a learning rate of 0.01 for at most 150 updates on batches of 32. An update is: scores, cross-entropy, gradients set to zero, `backward()`, `step()`. Drawing everything from `generator` makes the run repeatable.
#
# The test asks for 95 percent of held-out symbols at 6 steps; chance is 12 percent. It trains up to three times, from different seeds, and the best run counts. Training takes about a second. Then try 20 steps in a cell of your own, and both lengths with `distractors=True` (training and measuring), where the later steps show random symbols that do not count. Write down what you see: the last question asks about it.


# %% nbgrader={"grade": false, "grade_id": "remember", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_to_remember(steps, generator):
    """Build and train a plain RNN for remember_first.

    Args:
        steps: sequence length.
        generator: the torch.Generator that every random number comes from.

    Returns:
        The trained model: scores (B, 8) for sequences (B, steps, 8).

    Example:
        >>> model = train_to_remember(4, torch.Generator().manual_seed(0))
        >>> x, y = remember_first(100, 4, 8, generator=torch.Generator().manual_seed(1))
        >>> accuracy(model(x), y) > 0.95
        True
    """
    ### BEGIN SOLUTION
    model = LastStepClassifier(nn.RNN(8, 32, batch_first=True), 32, 8)
    redraw(model, generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(150):
        x, y = remember_first(32, steps, 8, generator=generator)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-remember", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks the accuracy on 512 held-out sequences of 6 steps: the best of up to three trainings counts.
### AUTOTEST judge("torch.train_rnn_to_remember", train_to_remember)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.train_rnn_to_remember", train_to_remember, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## In your own words (4 points, 15 minutes)
#
# A person reads what you write here and gives the points. Three to six sentences are enough.

# %% [markdown] nbgrader={"grade": false, "grade_id": "question-selection", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **Question (4 points).** What did you see at 6 and at 20 steps, without and with distractors? Which of the two defects of the plain cell, forced compression and no selection, does the difference between silence and distractors show, and why? What does your experiment *not* show?
#
# ### BEGIN MARK SCHEME
# 1 point: the observation, with numbers: with silence all or nearly all symbols at 6 steps, and in most runs at 20 steps too; with distractors all at 6 steps, and clearly less, with large differences between runs, at 20.
#
# 1 point: no selection: the later symbols enter the state through the same weights as the first, and nothing in the cell can close the door to them.
#
# 1 point: why silence is easier: with an input of 0 the state follows tanh(h W_h^T + b) alone, which can hold a value; or a like explanation.
#
# 1 point: a limit of the experiment: one task, one size, one learning rate, 150 updates, few seeds; it does not follow that a plain RNN cannot learn it at all.
# ### END MARK SCHEME

# %% [markdown] nbgrader={"grade": true, "grade_id": "words-selection", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# With silence every run names all symbols at 6 steps, and at 20 steps most runs do too. With distractors 6 steps are still learnt by every run, but at 20 steps my runs ended anywhere between chance and 90 percent. The difference shows the lack of selection: the task is to keep the first symbol and to ignore the others, but a distractor enters the state through the same W_x as the symbol that counts, and no part of the cell can decide to leave it out. In silence there is nothing to leave out: the state only has to be carried through W_h and tanh, and the training can find weights that hold it. I used one task, 32 units, one learning rate and 150 updates with five seeds; a longer training or another rate may learn it, so it does not show that a plain RNN never can.
# ### END SOLUTION
