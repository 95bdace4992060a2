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
# # Two directions in NumPy
#
# A network that reads from the left knows, at each word, what came before it. Whether *bank* is a place to sit or a place for money is often said afterwards. So let a second network read from the right, and put the two side by side. That is the whole idea, and most of what goes wrong with it is bookkeeping: where a padded sequence ends, in which order the second network's outputs stand, and which of them has read everything.
#
# You need NumPy, the plain RNN's step, and the chapter *Two directions*. Plan for 95 minutes. There are 22 points: 18 are given by the test cells, 4 for an answer in your own words.
#
# A batch holds sequences of different lengths, padded to T time steps: x is (B, T, D), and `lengths` (B,) says how many steps of each are real. The padding stands behind the sequence, and it may hold anything. No result may depend on what it holds.
#
# Each function is followed by a test cell that stays silent or tells you what is not right yet. To see where you stand, save the notebook and run `python -m refcells.check bidirectional.ipynb` in a terminal.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import numpy as np

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-reverse", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 1: backwards, within the length (3 points, 15 minutes)
#
# A network that reads from the right is a network that reads from the left, fed with the reversed sequence. In a padded batch, `x[:, ::-1]` is not that: it begins with the padding. What is asked for is
#
# $$y_t = x_{L + 1 - t} \text{ for } t \le L, \qquad y_t = x_t \text{ for } t > L,$$
#
# with $L$ the length of that sequence, and $t$ counted from 1. The padding stays where it is. Reversed twice, a sequence is itself again, and exercise 3 will use that. Leave the argument as it came; the caller still needs it.


# %% nbgrader={"grade": false, "grade_id": "reverse", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reverse(x, lengths):
    """Each sequence backwards within its own length; the padding stays where it is.

    Args:
        x: padded sequences (B, T, D).
        lengths: number of real steps of each sequence (B,), whole numbers from 1 to T.

    Returns:
        A new array (B, T, D).

    Example:
        >>> x = np.array([[[1.0], [2.0], [3.0], [0.0]]])
        >>> reverse(x, np.array([3]))[0, :, 0].tolist()
        [3.0, 2.0, 1.0, 0.0]
    """
    ### BEGIN SOLUTION
    turned = x.copy()
    for row, length in enumerate(lengths):
        turned[row, :length] = x[row, :length][::-1]
    return turned
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-reverse", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks full sequences, different lengths, and a sequence of a single step.
### AUTOTEST judge("bidirectional.reverse", reverse)
### AUTOTEST reverse(np.arange(8.0).reshape(1, 4, 2), np.array([3]))
### BEGIN HIDDEN TESTS
### AUTOTEST judge("bidirectional.reverse", reverse, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-walk", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 2: a walk that stops in time (4 points, 20 minutes)
#
# Now the network itself, a plain RNN that starts from a state of zero; if you did the RNN's assignment, you have met it there, and here it becomes one half of something. At a real step it moves on, at a padded step it holds its state:
#
# $$h_t = \begin{cases} \tanh(x_t W_x^\top + h_{t-1} W_h^\top + b) & t \le L \\ h_{t-1} & t > L \end{cases} \qquad \text{output}_t = \begin{cases} h_t & t \le L \\ 0 & t > L \end{cases}$$
#
# | array | $x_t$ | $W_x$ | $W_h$ | $b$ | $h_t$ | output |
# | --- | --- | --- | --- | --- | --- | --- |
# | shape | (B, D) | (H, D) | (H, H) | (H,) | (B, H) | (B, T, H) |
#
# Then the state after the last step of the array is the state at the end of each sequence, whatever its length. This is also what PyTorch's packed sequences give. Setting the padding to zero is not enough, by the way: a step with $x_t = 0$ still moves the state, by $b$ and by $h_{t-1} W_h^\top$.


# %% nbgrader={"grade": false, "grade_id": "walk", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rnn_walk(x, lengths, W_x, W_h, b):
    """Walk a plain RNN over padded sequences, from a state of zero.

    Args:
        x: padded sequences (B, T, D).
        lengths: number of real steps of each sequence (B,).
        W_x: (H, D).
        W_h: (H, H).
        b: (H,).

    Returns:
        (output, h_n): outputs (B, T, H), 0 at padded steps, and the state at the end of each sequence (B, H).

    Example:
        >>> x = np.array([[[1.0], [9.0]], [[1.0], [1.0]]])
        >>> output, h_n = rnn_walk(x, np.array([1, 2]), np.ones((1, 1)), np.ones((1, 1)), np.zeros(1))
        >>> np.round(output[:, :, 0], 4).tolist(), np.round(h_n[:, 0], 4).tolist()
        ([[0.7616, 0.0], [0.7616, 0.9427]], [0.7616, 0.9427])
    """
    ### BEGIN SOLUTION
    h = np.zeros((x.shape[0], W_h.shape[0]))
    output = np.zeros((x.shape[0], x.shape[1], W_h.shape[0]))
    for t in range(x.shape[1]):
        alive = (t < lengths)[:, None]
        h = np.where(alive, np.tanh(x[:, t] @ W_x.T + h @ W_h.T + b), h)
        output[:, t] = np.where(alive, h, 0.0)
    return output, h
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-walk", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Checks a single step, full sequences, and different lengths with zeros and with other numbers in the padding.
### AUTOTEST judge("bidirectional.rnn_walk", rnn_walk)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("bidirectional.rnn_walk", rnn_walk, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-forward", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 3: from both ends (5 points, 20 minutes)
#
# Two RNNs with weights of their own read the same sequences, one from each end:
#
# $$\overrightarrow h_t = \text{step}(x_t, \overrightarrow h_{t-1}), \qquad \overleftarrow h_t = \text{step}'(x_t, \overleftarrow h_{t+1}), \qquad \text{output}_t = [\overrightarrow h_t, \overleftarrow h_t].$$
#
# The backward direction is a walk over the reversed sequences, and its outputs come in the order in which it read: they have to be put back in the order of time, so that $\overleftarrow h_t$ stands beside $\overrightarrow h_t$. The summary of a sequence is what each direction knows after *its own* last step, $[\overrightarrow h_L, \overleftarrow h_1]$. This exercise calls your `reverse` and `rnn_walk`.


# %% nbgrader={"grade": false, "grade_id": "forward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def bidirectional_forward(x, lengths, forward, backward):
    """Two plain RNNs over the same padded sequences, one from each end.

    Args:
        x: padded sequences (B, T, D).
        lengths: number of real steps of each sequence (B,).
        forward: (W_x, W_h, b) of the forward direction.
        backward: (W_x, W_h, b) of the backward direction.

    Returns:
        (output, summary): outputs (B, T, 2H) in the order of time, forward half first, 0 at padded steps; and both
        directions' last states (B, 2H), forward half first.

    Example:
        >>> x, weights = np.array([[[1.0], [0.0]]]), (np.ones((1, 1)), np.ones((1, 1)), np.zeros(1))
        >>> output, summary = bidirectional_forward(x, np.array([2]), weights, weights)
        >>> np.round(output[0], 4).tolist(), np.round(summary[0], 4).tolist()
        ([[0.7616, 0.7616], [0.642, 0.0]], [0.642, 0.7616])
    """
    ### BEGIN SOLUTION
    there, last_there = rnn_walk(x, lengths, *forward)
    back, last_back = rnn_walk(reverse(x, lengths), lengths, *backward)
    output = np.concatenate([there, reverse(back, lengths)], axis=2)
    return output, np.concatenate([last_there, last_back], axis=1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-forward", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Checks outputs and summary for a single step, for full sequences, and for different lengths in no order.
### AUTOTEST judge("bidirectional.bidirectional_forward", bidirectional_forward)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("bidirectional.bidirectional_forward", bidirectional_forward, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-merge", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 4: side by side, or mixed (2 points, 10 minutes)
#
# Concatenation keeps both directions apart and doubles the width. Other ways of merging keep the width and mix them:
#
# | mode | 'concat' | 'sum' | 'mean' | 'product' |
# | --- | --- | --- | --- | --- |
# | result | $[\overrightarrow h, \overleftarrow h]$ | $\overrightarrow h + \overleftarrow h$ | $\tfrac12(\overrightarrow h + \overleftarrow h)$ | $\overrightarrow h \odot \overleftarrow h$ |
# | width | 2H | H | H | H |
#
# The features are the last axis, in a sequence (B, T, H) and in a state (B, H) alike. This exercise needs none of the others.


# %% nbgrader={"grade": false, "grade_id": "merge", "locked": false, "schema_version": 3, "solution": true, "task": false}
def merge(forward, backward, mode):
    """Two directions' values as one array.

    Args:
        forward: values of the forward direction, (B, T, H) or (B, H).
        backward: values of the backward direction, in the order of time, of the same shape.
        mode: "concat", "sum", "mean" or "product".

    Returns:
        An array (..., 2H) for "concat", forward half first, and (..., H) for the others.

    Example:
        >>> merge(np.array([[1.0, 2.0]]), np.array([[3.0, 5.0]]), "mean").tolist()
        [[2.0, 3.5]]
    """
    ### BEGIN SOLUTION
    if mode == "concat":
        return np.concatenate([forward, backward], axis=-1)
    if mode == "sum":
        return forward + backward
    if mode == "mean":
        return (forward + backward) / 2
    return forward * backward
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-merge", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks each of the four modes for sequences, and the concatenation of states.
### AUTOTEST judge("bidirectional.merge", merge)
### AUTOTEST merge(np.array([[1.0, 2.0]]), np.array([[3.0, 5.0]]), "concat"); merge(np.array([[1.0, 2.0]]), np.array([[3.0, 5.0]]), "product")
### BEGIN HIDDEN TESTS
### AUTOTEST judge("bidirectional.merge", merge, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-last", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 5: which state has read everything? (4 points, 15 minutes)
#
# Often only the merged outputs are at hand, (B, T, 2H), and one vector is wanted for each sequence. `output[:, -1]` is the popular choice and the wrong one. In a padded batch it is 0 for all but the longest sequences. And at the last real step only the forward half has read the whole sequence; the backward half has just begun.
#
# Take each half where its direction finished: $[\overrightarrow h_L, \overleftarrow h_1]$. This exercise needs none of the others; the test gives you the outputs.


# %% nbgrader={"grade": false, "grade_id": "last", "locked": false, "schema_version": 3, "solution": true, "task": false}
def last_state(output, lengths):
    """The summary of each sequence, read off the concatenated outputs of two directions.

    Args:
        output: outputs (B, T, 2H) in the order of time, forward half first, padded behind each sequence.
        lengths: number of real steps of each sequence (B,).

    Returns:
        Both directions' last states (B, 2H), forward half first.

    Example:
        >>> output = np.array([[[1.0, 10.0], [2.0, 20.0], [0.0, 0.0]]])
        >>> last_state(output, np.array([2])).tolist()
        [[2.0, 10.0]]
    """
    ### BEGIN SOLUTION
    hidden = output.shape[2] // 2
    ends = output[np.arange(len(output)), lengths - 1, :hidden]
    return np.concatenate([ends, output[:, 0, hidden:]], axis=1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-last", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Checks the summary for a single step, for full sequences, and for different lengths.
### AUTOTEST judge("bidirectional.last_state", last_state)
### AUTOTEST last_state(np.arange(16.0).reshape(1, 4, 4), np.array([3]))
### BEGIN HIDDEN TESTS
### AUTOTEST judge("bidirectional.last_state", last_state, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## In your own words (4 points, 15 minutes)
#
# A person reads what you write here and gives the points. Three to six sentences are enough.

# %% [markdown] nbgrader={"grade": false, "grade_id": "question-both-ends", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **Question (4 points).** A colleague sorts film reviews into good and bad with a bidirectional network and feeds `output[:, -1]` to the classifier. It reaches a fair accuracy, so nobody looks again. What does each half of `output[:, -1]` hold, in a review that fills the array and in a shorter one that is padded? Why can the accuracy be fair all the same? And why can the same network, with the summary put right, still not be used to write a review word by word?
#
# ### BEGIN MARK SCHEME
# 1 point: in a full review the forward half has read everything, the backward half only the last word.
#
# 1 point: in a padded review both halves are 0 (with lengths, as here and in packed sequences), or they belong to the padding if the network read it.
#
# 1 point: the forward half alone can be a good summary, at least in the longest sequences of each batch, so the fault shows as a loss of accuracy and not as an error; a held-out comparison with the right summary would show it.
#
# 1 point: writing means predicting the next word from those before it; the backward direction needs the words that are not written yet, and in training it would see the very word that is to be predicted.
# ### END MARK SCHEME

# %% [markdown] nbgrader={"grade": true, "grade_id": "words-both-ends", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# In a review that fills the array the forward half of output[:, -1] has read all of it, and the backward half has read one word, the last. In a shorter one the last step is padding, so both halves are 0, or, if the padding was read, the states of a network that has read nothing but padding backwards. The forward half of the long reviews can carry the classifier quite far, which is why nothing crashes and the accuracy is fair; only a comparison with the right summary on held-out reviews shows what is lost. To write a review, the next word has to be predicted from the words before it. The backward direction starts at the end of the sentence, which does not exist yet; and trained on finished sentences it would have read the word that it is asked to predict.
# ### END SOLUTION
