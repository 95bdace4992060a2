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
# # Truncated backpropagation through time, in PyTorch
#
# A long sequence is read in chunks: the state goes on from one chunk to the next, the gradient stops between them. It is one method call, and there are many ways to get it wrong that raise no error. You will clip gradients, cut them, train with both, and find out exactly which gradients are lost.
#
# You need PyTorch and the chapter *Backpropagation through time*. Plan for 110 minutes. There are 24 points: 20 are given by the test cells, 4 for an answer in your own words.
#
# Sequences are batch first, (B, T, D), and the layers are `nn.RNN` with `batch_first=True`, which take x and a state and return all outputs and the last state. Steps are counted from 0.
#
# Each function is followed by a test cell that stays silent or tells you what is not right yet. To see where you stand, save the notebook and run `python -m refcells.check truncated_bptt.ipynb` in a terminal.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch
from torch import nn

torch.set_num_threads(1)  # the models are small, and one thread repeats to the last bit

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-clip", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 1: clip by the global norm (4 points, 20 minutes)
#
# An exploding gradient points in a useful direction and is far too long. Clipping shortens it (Pascanu, Mikolov and Bengio 2013). The *global norm* is that of all gradients together, as if they were one long vector:
#
# $$n = \sqrt{\textstyle\sum_i \lVert g_i \rVert^2}, \qquad g_i \leftarrow g_i \cdot \min\left(1, \frac{n_{\max}}{n}\right).$$
#
# All gradients get the same factor, so the direction stays. Gradients that are short enough are left as they are, and so are gradients of 0, for which the quotient does not exist. PyTorch has this as `nn.utils.clip_grad_norm_`; write it from its equation.


# %% nbgrader={"grade": false, "grade_id": "clip", "locked": false, "schema_version": 3, "solution": true, "task": false}
def clip_by_global_norm(gradients, most):
    """Gradients with a global norm of at most `most`.

    Args:
        gradients: a list of tensors of any shapes; they are not changed.
        most: largest global norm.

    Returns:
        (clipped, norm): a list of new tensors, and the global norm before clipping, a float.

    Example:
        >>> clipped, norm = clip_by_global_norm([torch.tensor([3.0]), torch.tensor([[4.0]])], 1.0)
        >>> [round(g.item(), 4) for g in clipped], norm
        ([0.6, 0.8], 5.0)
    """
    ### BEGIN SOLUTION
    norm = sum(float((g**2).sum()) for g in gradients) ** 0.5
    scale = min(1.0, most / norm) if norm > 0 else 1.0
    return [g * scale for g in gradients], norm
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-clip", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Checks one and three gradients, too long and short enough, and gradients of zero.
### AUTOTEST judge("torch.clip_by_global_norm", clip_by_global_norm)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.clip_by_global_norm", clip_by_global_norm, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-chunks", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 2: run in chunks (5 points, 20 minutes)
#
# Cut the sequence into chunks of `chunk` steps, the last one perhaps shorter. Each chunk starts from the state that the one before left; the first one starts from zeros. Between two chunks, `state.detach()` gives a tensor with the same numbers and no history.
#
# So two things hold. In the forward pass nothing is lost: the outputs are those of a run in one piece. In the backward pass the gradient of a loss goes back to the start of its own chunk and no further. The test looks at both.


# %% nbgrader={"grade": false, "grade_id": "chunks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def forward_in_chunks(layer, x, chunk):
    """Outputs of a layer that reads a sequence chunk by chunk, without history between the chunks.

    Args:
        layer: a batch-first nn.RNN.
        x: inputs (B, T, D).
        chunk: steps of a chunk.

    Returns:
        The outputs of all steps (B, T, H).

    Example:
        >>> layer, x = nn.RNN(3, 4, batch_first=True), torch.ones(2, 7, 3)
        >>> torch.allclose(forward_in_chunks(layer, x, 3), layer(x)[0], atol=1e-6)
        True
    """
    ### BEGIN SOLUTION
    outputs, state = [], None
    for start in range(0, x.shape[1], chunk):
        output, state = layer(x[:, start : start + chunk], state)
        state = state.detach()
        outputs.append(output)
    return torch.cat(outputs, dim=1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-chunks", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Checks the outputs, and the gradient of x for a loss on all outputs, for four ways to cut six steps.
### AUTOTEST judge("torch.forward_in_chunks", forward_in_chunks)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.forward_in_chunks", forward_in_chunks, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-train", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 3: train in chunks (6 points, 30 minutes)
#
# Now an update is made after every chunk: run the chunk, compute the loss (mean squared error, `nn.functional.mse_loss`, between `readout(output)` and this chunk's targets), clear the old gradients, go back, clip, step. The order matters. Gradients that are clipped after the step come too late, gradients cleared before it are gone, and a state that keeps its history sends the second `backward()` into a graph that has been freed.
#
# Clip by the global norm of the gradients of *both* modules together; `nn.utils.clip_grad_norm_` takes a list of parameters. This exercise needs none of the others.


# %% nbgrader={"grade": false, "grade_id": "train", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_in_chunks(layer, readout, optimizer, x, y, chunk, clip):
    """Truncated BPTT: one pass over a batch of sequences, with an update after each chunk.

    Args:
        layer: a batch-first nn.RNN.
        readout: an nn.Linear that reads the layer's outputs.
        optimizer: a torch optimiser over the parameters of both.
        x: inputs (B, T, D).
        y: targets (B, T, K).
        chunk: steps of a chunk; the last chunk may be shorter.
        clip: largest global norm of a chunk's gradients.

    Returns:
        A list of the chunks' losses, floats, each before its update.

    Example:
        >>> layer, readout = nn.RNN(1, 2, batch_first=True), nn.Linear(2, 1)
        >>> optimizer = torch.optim.SGD([*layer.parameters(), *readout.parameters()], lr=0.1)
        >>> len(train_in_chunks(layer, readout, optimizer, torch.ones(1, 7, 1), torch.ones(1, 7, 1), 3, 1.0))
        3
    """
    ### BEGIN SOLUTION
    parameters = [*layer.parameters(), *readout.parameters()]
    losses, state = [], None
    for start in range(0, x.shape[1], chunk):
        output, state = layer(x[:, start : start + chunk], state)
        state = state.detach()
        loss = nn.functional.mse_loss(readout(output), y[:, start : start + chunk])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()
        losses.append(loss.item())
    return losses
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-train", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Checks the losses and the weights after one, two and three chunks, a shorter last one, and with clipping.
### AUTOTEST judge("torch.train_rnn_in_chunks", train_in_chunks)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.train_rnn_in_chunks", train_in_chunks, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-lost", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 4: which gradients are lost (5 points, 25 minutes)
#
# First measure. `last_step_gradients` runs the layer in chunks, takes the sum of the last step's outputs as the loss, and returns its gradient with respect to x: at which steps is it 0?
#
# Then say it as a rule. Let the loss be at step `target`. Does its gradient reach the input at step `source`? Without truncation it does whenever `source <= target`. And how many of these pairs does truncation lose, in a sequence of `steps` steps? This exercise calls your `forward_in_chunks`.


# %% nbgrader={"grade": false, "grade_id": "lost", "locked": false, "schema_version": 3, "solution": true, "task": false}
def last_step_gradients(layer, x, chunk):
    """Gradient of the sum of the last step's outputs with respect to x, when the layer reads x in chunks.

    Args:
        layer: a batch-first nn.RNN.
        x: inputs (B, T, D), which do not require gradients and are not changed.
        chunk: steps of a chunk.

    Returns:
        A tensor (B, T, D).

    Example:
        >>> gradient = last_step_gradients(nn.RNN(3, 4, batch_first=True), torch.ones(1, 5, 3), 2)
        >>> (gradient != 0).any(dim=2).tolist()  # step 4 is a chunk by itself
        [[False, False, False, False, True]]
    """
    ### BEGIN SOLUTION
    x = x.detach().clone().requires_grad_()
    output = forward_in_chunks(layer, x, chunk)
    output[:, -1].sum().backward()
    return x.grad
    ### END SOLUTION


def gradient_reaches(source, target, chunk):
    """Whether the gradient of a loss at one step reaches the input of another.

    Args:
        source: the input's step, counted from 0.
        target: the loss's step, counted from 0.
        chunk: steps of a chunk.

    Returns:
        True or False.

    Example:
        >>> gradient_reaches(4, 5, 4), gradient_reaches(3, 4, 4)
        (True, False)
    """
    ### BEGIN SOLUTION
    return source <= target and source // chunk == target // chunk
    ### END SOLUTION


def pairs_lost(steps, chunk):
    """How many pairs of steps (source, target) with source <= target have no gradient because of the cuts.

    Args:
        steps: sequence length.
        chunk: steps of a chunk.

    Returns:
        An int.

    Example:
        >>> pairs_lost(4, 2)  # targets 2 and 3 do not reach sources 0 and 1
        4
    """
    ### BEGIN SOLUTION
    whole, rest = divmod(steps, chunk)
    kept = whole * (chunk * (chunk + 1) // 2) + rest * (rest + 1) // 2
    return steps * (steps + 1) // 2 - kept
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-last", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks the gradient of the last step's outputs at all steps, for four ways to cut six steps.
### AUTOTEST judge("torch.last_step_gradients", last_step_gradients)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("torch.last_step_gradients", last_step_gradients, seed=HIDDEN_SEED)
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test-rule", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks the rule and the count on a few steps and chunks; the answers are hidden behind a hash.
### HASHED AUTOTEST gradient_reaches(0, 3, 4); gradient_reaches(3, 4, 4); gradient_reaches(6, 5, 4); gradient_reaches(5, 5, 5)
### HASHED AUTOTEST pairs_lost(12, 4); pairs_lost(10, 10)
### BEGIN HIDDEN TESTS
### HASHED AUTOTEST gradient_reaches(8, 11, 4); gradient_reaches(7, 9, 5); gradient_reaches(9, 10, 5); gradient_reaches(1, 0, 2)
### HASHED AUTOTEST pairs_lost(7, 3); pairs_lost(20, 1); pairs_lost(5, 8)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## In your own words (4 points, 15 minutes)
#
# A person reads what you write here and gives the points. Three to six sentences are enough.

# %% [markdown] nbgrader={"grade": false, "grade_id": "question-truncation", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **Question (4 points).** A colleague says: 'With chunks of 20 steps, a network can never use anything that is more than 20 steps old.' What is right about it, and what is wrong? Say what truncation keeps, what it loses, and what it is good for. How would you find out, for a task of your own, whether the chunks are too short?
#
# ### BEGIN MARK SCHEME
# 1 point: the forward pass keeps the state across chunks, so old information can be used, if the state happens to hold it.
#
# 1 point: the gradient over a cut is lost, so nothing teaches the weights to keep what is needed only in a later chunk; a loss close to a cut sees even less than 20 steps.
#
# 1 point: what it is good for: memory and time of an update do not grow with the length of the sequence, and updates come more often.
#
# 1 point: a test: train with longer chunks, or shift the cuts, and compare held-out losses; or measure gradients by lag in a run without cuts; accept any sound comparison.
# ### END MARK SCHEME

# %% [markdown] nbgrader={"grade": true, "grade_id": "words-truncation", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# It is wrong that the network cannot use it: the state goes on from chunk to chunk without a change, so in the forward pass the outputs are those of an unsplit run, and what the state holds can be old. It is right that nothing teaches it to do so: the gradient of a loss ends where its chunk begins, so the weights never learn that something was worth keeping for the next chunk. It is often even less than 20 steps, since a loss at the second step of a chunk sees two inputs. In return only one chunk's states have to be kept in memory, an update costs the same however long the sequence is, and there are more updates. I would train with chunks of 20 and of 80 steps, from the same seeds and with several of them, and compare the losses on held-out sequences: if the longer chunks are better by more than the seeds differ, 20 was too short.
# ### END SOLUTION
