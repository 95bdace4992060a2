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
# # Tagging with PyTorch, from both sides
#
# You will train a network that gives every time step a label, on sequences of different lengths, and on a task that one direction cannot solve. PyTorch has the layer ready. What is left to you is what people get wrong around it: packing a batch so that nobody reads the padding, the shape of the states, and a loss that counts real steps only.
#
# You need PyTorch and the chapter *Two directions*; the last question is about choosing a model, which the course ends with. Plan for 120 minutes. There are 28 points: 20 are given by the test cells, 8 for answers in your own words.
#
# Each function is followed by a test cell that stays silent or tells you what is not right yet. To see where you stand, save the notebook and run `python -m refcells.check torch_tagging.ipynb` in a terminal.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from refcells.tasks import tagging, tagging_baseline
from refcells.training import accuracy, redraw

torch.set_num_threads(1)  # the models are small, and one thread repeats to the last bit

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-pack", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 1: pad, and pack (5 points, 25 minutes)
#
# A tensor has one number of time steps, sentences have many. So the shorter ones are *padded* with zeros behind their end, and the lengths are kept beside them: x is (B, T, D), `lengths` (B,).
#
# A layer that is given x alone would read the zeros, and a step with input 0 still moves its state; its backward direction would even begin with them. `pack_padded_sequence` turns x and the lengths into a *packed sequence* that holds the real steps only, the layer takes it in place of a tensor, and `pad_packed_sequence` turns the outputs back. Mind the arguments of both: without `batch_first=True` the first axis is taken for time; without `enforce_sorted=False` a batch has to come in decreasing order of length; and the outputs are padded to the longest sequence of the batch, which can be shorter than x, unless `total_length` says otherwise.
#
# The layer in the test is an `nn.GRU` with two directions, one or two layers, and `batch_first=True`. It returns `(output, h_n)`.


# %% nbgrader={"grade": false, "grade_id": "pack", "locked": false, "schema_version": 3, "solution": true, "task": false}
def pad(sequences):
    """Sequences of different lengths as one padded batch.

    Args:
        sequences: a list of B tensors (T_k, D), in any order of length.

    Returns:
        (x, lengths): x (B, T, D) with T the largest T_k, in the order of the list, 0 behind each sequence; and the
        lengths (B,), int64.

    Example:
        >>> x, lengths = pad([torch.ones(1, 2), torch.ones(3, 2)])
        >>> tuple(x.shape), x[0, :, 0].tolist(), lengths.tolist()
        ((2, 3, 2), [1.0, 0.0, 0.0], [1, 3])
    """
    ### BEGIN SOLUTION
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    return nn.utils.rnn.pad_sequence(sequences, batch_first=True), lengths
    ### END SOLUTION


def run_packed(layer, x, lengths):
    """Run a batch-first recurrent layer over a padded batch so that it reads the real steps only.

    Args:
        layer: maps a packed sequence to (packed output, h_n).
        x: padded batch (B, T, D).
        lengths: number of real steps of each sequence (B,), in any order.

    Returns:
        (output, h_n): outputs (B, T, width), with as many steps as x and 0 at padded ones, and h_n as the layer gives it.

    Example:
        >>> layer = nn.GRU(2, 4, batch_first=True, bidirectional=True)
        >>> output, h_n = run_packed(layer, torch.ones(3, 6, 2), torch.tensor([2, 5, 4]))
        >>> tuple(output.shape), tuple(h_n.shape), output[0, 2:].abs().sum().item()
        ((3, 6, 8), (2, 3, 4), 0.0)
    """
    ### BEGIN SOLUTION
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    output, h_n = layer(packed)
    output, _ = pad_packed_sequence(output, batch_first=True, total_length=x.shape[1])
    return output, h_n
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-pad", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks the batch and the lengths for sequences of equal and of different lengths, sorted and not.
### AUTOTEST judge("tagging.pad", pad)
### AUTOTEST pad([torch.ones(1, 2), torch.ones(3, 2)])
### BEGIN HIDDEN TESTS
### AUTOTEST judge("tagging.pad", pad, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test-pack", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks outputs and states of a bidirectional GRU for lengths in any order, and any numbers in the padding.
### AUTOTEST judge("tagging.run_packed", run_packed)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("tagging.run_packed", run_packed, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-states", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 2: states are never batch first (3 points, 15 minutes)
#
# `batch_first=True` concerns inputs and outputs. The states $h_0$ and $h_n$ always have the shape (layers × directions, B, H), layer by layer, and within a layer the forward direction first: with two directions, `h_n[-2]` and `h_n[-1]` belong to the last layer. `view` or `reshape` to (B, ...) runs without an error and mixes the sequences of the batch.
#
# Write both ends. `start_state` makes an initial state out of one start vector for each layer and direction, which could be a parameter that is learnt. `summary` gives one vector for each sequence, out of what a bidirectional layer returns. This exercise needs none of the others.


# %% nbgrader={"grade": false, "grade_id": "states", "locked": false, "schema_version": 3, "solution": true, "task": false}
def start_state(start, batch):
    """An initial state for a batch in which every sequence starts alike.

    Args:
        start: one vector a layer and direction (layers * directions, H).
        batch: number of sequences B.

    Returns:
        The initial state h_0 (layers * directions, B, H).

    Example:
        >>> start_state(torch.tensor([[1.0], [2.0]]), 3)[:, :, 0].tolist()
        [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    """
    ### BEGIN SOLUTION
    return start.unsqueeze(1).repeat(1, batch, 1)
    ### END SOLUTION


def summary(output, h_n):
    """One vector for each sequence: both directions' last states of the last layer, forward half first.

    Args:
        output: outputs of a bidirectional layer (B, T, 2H).
        h_n: its last hidden states (layers * 2, B, H).

    Returns:
        A tensor (B, 2H).

    Example:
        >>> layer = nn.GRU(3, 4, num_layers=2, batch_first=True, bidirectional=True)
        >>> output, h_n = layer(torch.ones(2, 5, 3))
        >>> both = summary(output, h_n)
        >>> torch.equal(both[:, :4], output[:, -1, :4]), torch.equal(both[:, 4:], output[:, 0, 4:])
        (True, True)
    """
    ### BEGIN SOLUTION
    return torch.cat([h_n[-2], h_n[-1]], dim=1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-start", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Checks the initial state for one, two and three layers and batches of other sizes.
### AUTOTEST judge("tagging.start_state", start_state)
### AUTOTEST start_state(torch.tensor([[1.0], [2.0]]), 3)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("tagging.start_state", start_state, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test-summary", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks the summary from the outputs and states of one layer and of three.
### AUTOTEST judge("bidirectional.summary", summary)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("bidirectional.summary", summary, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-mask", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 3: count real steps only (5 points, 20 minutes)
#
# A tagger scores every step, (B, T, K), and the targets are classes, (B, T). At padded steps there is nothing to be right about, and a score that counts them flatters or punishes the network for nothing. A *mask* says which steps count. With the mask $m$, true at $t \le L$, the loss is
#
# $$-\frac{\sum_{b,t} m_{bt} \ln p_{bt}(y_{bt})}{\sum_{b,t} m_{bt}}, \qquad p_{bt} = \operatorname{softmax}(\text{scores}_{bt}),$$
#
# the mean over all real steps of the batch, and the accuracy is a mean over the same steps. What stands in `y` at padded steps may be -100 or a class; it must not matter. `nn.functional.cross_entropy` takes raw scores; `nll_loss` would need their log-softmax. This exercise needs none of the others.


# %% nbgrader={"grade": false, "grade_id": "mask", "locked": false, "schema_version": 3, "solution": true, "task": false}
def step_mask(lengths, steps):
    """Which steps of a padded batch are real.

    Args:
        lengths: number of real steps of each sequence (B,).
        steps: number of steps T of the batch.

    Returns:
        A bool tensor (B, T), True at real steps.

    Example:
        >>> step_mask(torch.tensor([1, 3]), 3).tolist()
        [[True, False, False], [True, True, True]]
    """
    ### BEGIN SOLUTION
    return torch.arange(steps) < lengths[:, None]
    ### END SOLUTION


def masked_loss(scores, y, mask):
    """Cross-entropy in nats, the mean over all real steps of the batch.

    Args:
        scores: raw scores (B, T, K).
        y: classes (B, T), int64; anything at padded steps.
        mask: bool (B, T), True at real steps.

    Returns:
        The loss, a tensor with one number, to call backward on.

    Example:
        >>> mask = torch.tensor([[True, True, False]])
        >>> loss = masked_loss(torch.zeros(1, 3, 4, requires_grad=True), torch.tensor([[0, 3, -100]]), mask)
        >>> round(loss.item(), 4)  # the logarithm of 4
        1.3863
    """
    ### BEGIN SOLUTION
    return nn.functional.cross_entropy(scores[mask], y[mask])
    ### END SOLUTION


def masked_accuracy(scores, y, mask):
    """Share of real steps whose largest score is at the right class.

    Args:
        scores, y, mask: as in masked_loss.

    Returns:
        A float between 0 and 1.

    Example:
        >>> scores = torch.tensor([[[0.0, 1.0], [0.0, 1.0], [5.0, 1.0]]])
        >>> masked_accuracy(scores, torch.tensor([[1, 0, 0]]), torch.tensor([[True, True, False]]))
        0.5
    """
    ### BEGIN SOLUTION
    right = scores.argmax(dim=2) == y
    return right[mask].double().mean().item()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-mask", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Checks the mask of full and of different lengths, and of more steps than the longest has.
### AUTOTEST judge("tagging.step_mask", step_mask)
### AUTOTEST step_mask(torch.tensor([1, 3]), 3).long()
### BEGIN HIDDEN TESTS
### AUTOTEST judge("tagging.step_mask", step_mask, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test-loss", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks the loss and its gradient for full sequences, and with 0 and -100 as targets at padded steps.
### AUTOTEST judge("tagging.masked_loss", masked_loss)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("tagging.masked_loss", masked_loss, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test-accuracy", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Checks the accuracy for full sequences, and with 0 and -100 as targets at padded steps.
### AUTOTEST judge("tagging.masked_accuracy", masked_accuracy)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("tagging.masked_accuracy", masked_accuracy, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-tagger", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 4: a tagger that padding cannot move (4 points, 15 minutes)
#
# Put a linear layer on the outputs of a bidirectional GRU, step by step: scores$_t = W [\overrightarrow h_t, \overleftarrow h_t] + b$. Call the two parts `layer`, an `nn.GRU` with one layer, and `linear`; the test loads weights under these names.
#
# A tagger that respects lengths is *invariant to padding*: a sentence gets the same scores alone, in a batch with longer ones, with zeros behind it, and with anything else behind it. That is worth testing in every network of your own, since padding that leaks in shows in no error message, only in answers that depend on who else was in the batch. This exercise calls your `run_packed`.


# %% nbgrader={"grade": false, "grade_id": "tagger", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Tagger(nn.Module):
    """Scores for every time step of padded sequences, from both sides.

    Args:
        input_size: D.
        hidden_size: H, the width of each direction.
        classes: K.

    Example:
        >>> tagger = Tagger(2, 4, 5)
        >>> x = torch.ones(3, 6, 2)
        >>> scores = tagger(x, torch.tensor([2, 6, 4]))
        >>> alone = tagger(x[:1, :2], torch.tensor([2]))
        >>> tuple(scores.shape), torch.allclose(scores[0, :2], alone[0], atol=1e-6)
        ((3, 6, 5), True)
    """

    def __init__(self, input_size, hidden_size, classes):
        super().__init__()
        ### BEGIN SOLUTION
        self.layer = nn.GRU(input_size, hidden_size, batch_first=True, bidirectional=True)
        self.linear = nn.Linear(2 * hidden_size, classes)
        ### END SOLUTION

    def forward(self, x, lengths):
        """Scores (B, T, K) of a padded batch x (B, T, D) with lengths (B,)."""
        ### BEGIN SOLUTION
        output, _ = run_packed(self.layer, x, lengths)
        return self.linear(output)
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-tagger", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Checks the scores at real steps: full sequences, any padding, more padding, and one sequence alone.
### AUTOTEST judge("tagging.Tagger", Tagger)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("tagging.Tagger", Tagger, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-train", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 5: what one direction cannot know (3 points, 15 minutes)
#
# `tagging(batch, steps, generator=..., shortest=...)` draws sequences `(x, y, lengths)` in which some steps show one of 2 symbols and the others are silent. The tag of a step is the pair of the latest symbol up to it and the earliest symbol from it on, one of 4 classes. From the left, the first of the pair is known and the second has to be guessed wherever nothing is shown. `tagging_baseline(12)` is the accuracy that one direction can expect at best on full sequences of 12 steps: 71 percent.
#
# Build `Tagger(2, 16, 4)`, draw its parameters with `redraw(model, generator)`, and train it with Adam for at most 150 updates, on batches of 64 sequences of 4 to `steps` steps. A learning rate of 0.02 and gradients clipped at 1 are a good start. Draw everything from `generator`, so that the run can be repeated.
#
# The test asks for 95 percent of held-out tags. It trains up to three times, from different seeds, and the best run counts. Training takes a few seconds. When it works, try a GRU with one direction in a cell of your own, and see where it stops. This exercise calls your `Tagger`, `step_mask` and `masked_loss`.


# %% nbgrader={"grade": false, "grade_id": "train", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_tagger(steps, generator):
    """Build and train a tagger.

    Args:
        steps: number of steps of the longest sequence possible; the shortest has 4.
        generator: the torch.Generator that every random number comes from.

    Returns:
        The trained model: scores (B, T, 4) for sequences x (B, T, 2) and lengths (B,).

    Example:
        >>> model = train_tagger(8, torch.Generator().manual_seed(0))
        >>> x, y, lengths = tagging(200, 8, generator=torch.Generator().manual_seed(1), shortest=4)
        >>> accuracy(model(x, lengths), y) > 0.95
        True
    """
    ### BEGIN SOLUTION
    model = Tagger(2, 16, 4)
    redraw(model, generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(100):
        x, y, lengths = tagging(64, steps, generator=generator, shortest=4)
        loss = masked_loss(model(x, lengths), y, step_mask(lengths, steps))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-train", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks the accuracy on 512 held-out sequences of 4 to 12 steps: the best of up to three trainings counts.
### AUTOTEST judge("tagging.train_tagger", train_tagger)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("tagging.train_tagger", train_tagger, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## In your own words (8 points, 30 minutes)
#
# A person reads what you write here and gives the points. Two to four sentences for each of the four cases are enough.

# %% [markdown] nbgrader={"grade": false, "grade_id": "question-choosing", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **Question (8 points, 2 for each case).** Choose a model, and say why. Name the property of the case that decides, and one alternative that you turned down. More than one choice can be right; a choice without a reason is not.
#
# (a) A wake word on a wristwatch: audio arrives as a stream, 100 frames a second, all day; an answer is due within a few frames, and there are 50 kB of working memory.
#
# (b) A library marks the names of people and places in letters, sentence by sentence, about 25 words each, overnight on a server.
#
# (c) Court decisions of about 20,000 words are to be sorted into twelve kinds. The sentence that decides may stand anywhere. There is one graphics card, and three thousand decisions are labelled.
#
# (d) A shop has two years of weekly sales, 104 numbers, and wants the next four weeks.
#
# ### BEGIN MARK SCHEME
# 2 points: (a) a small GRU, LSTM or other causal recurrent model (1); constant memory and constant work a step, and no future to wait for, so no backward direction (1). Accept a causal convolution, or causal attention over a short window with its cache, if the memory is accounted for. That a Transformer cannot stream is wrong and costs a point.
#
# 2 points: (b) a bidirectional LSTM or GRU, or a Transformer encoder, pretrained if one is at hand (1); the whole sentence is there, a name often shows by what follows, and at 25 words neither the steps nor the square of the length matters (1).
#
# 2 points: (c) not one walk over 20,000 steps and not full attention over them: parts that are read separately and pooled, attention of limited reach, a state-space model, or a bag of words as a first answer (1); for the reason that counts, such as 400 million pairs of words for full attention, or one state and one chain of gradients over 20,000 steps, or few labels (1).
#
# 2 points: (d) no network first: the last value, the same week of last year, exponential smoothing or another model of a few parameters (1); 104 numbers do not feed thousands of weights, and a network would have to beat the naive forecast on held-out weeks with several seeds (1).
# ### END MARK SCHEME

# %% [markdown] nbgrader={"grade": true, "grade_id": "words-choosing", "locked": false, "points": 8, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# (a) A small GRU in one direction. The device gets one frame at a time and must answer at once, so there is no future to read; the state has a fixed size whatever the length of the day, and every frame costs the same. Causal attention could stream too, but its cache grows with the window that it looks back on, and 50 kB are soon full.
#
# (b) A bidirectional LSTM or GRU with a tag for every word. The sentence is complete before the work starts, and whether a word is a name is often decided by the word after it. A Transformer encoder would do as well, and better if a pretrained one is at hand; with 25 words the square of the length costs nothing.
#
# (c) Cut each decision into parts of a few hundred words, read each with the same encoder, and pool the results. Full attention would compare 400 million pairs of words, and one recurrent state would have to carry a sentence over up to 20,000 steps, with gradients through all of them. With three thousand labels I would first see what a bag of words reaches.
#
# (d) No network to begin with: the forecast of the same weeks of last year, or exponential smoothing. A GRU has thousands of weights for 104 numbers and would learn the noise. If I tried one, it would be tiny, and it would have to beat the naive forecast on the last weeks, held out, with several seeds.
# ### END SOLUTION
