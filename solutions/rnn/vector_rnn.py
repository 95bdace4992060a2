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
# # The recurrent cell in NumPy
#
# A recurrent network reads a sequence one step at a time and keeps a single thing between steps: the hidden state. Here you write that step for a batch, walk it over sequences, also over sequences of different lengths, and put a layer on top that turns states into probabilities.
#
# You need NumPy and the chapter *The RNN*. Plan for 90 minutes. There are 23 points: 19 are given by the test cells, 4 for an answer in your own words.
#
# Arrays are batch first and states are row vectors: x is (B, D), h is (B, H), a sequence is (B, T, D). Weights have PyTorch's layout: $W_x$ is (H, D), $W_h$ is (H, H), $b$ is (H,).
#
# Each function is followed by a test cell that stays silent or tells you what is not right yet. To see where you stand, save the notebook and run `python -m refcells.check vector_rnn.ipynb` in a terminal.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import numpy as np

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-step", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 1: one step for a batch (4 points, 15 minutes)
#
# The new state is made of the input and of the old state, squeezed between -1 and 1:
#
# $$h_t = \tanh(x_t W_x^\top + h_{t-1} W_h^\top + b)$$
#
# | array | $x_t$ | $h_{t-1}$, $h_t$ | $W_x$ | $W_h$ | $b$ |
# | --- | --- | --- | --- | --- | --- |
# | shape | (B, D) | (B, H) | (H, D) | (H, H) | (H,) |
#
# Mind the transposes. $W_h$ is square, so without its transpose the shapes still fit, and the numbers are wrong.


# %% nbgrader={"grade": false, "grade_id": "step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rnn_step(x, h_prev, W_x, W_h, b):
    """One time step of a plain RNN for a batch.

    Args:
        x: inputs (B, D).
        h_prev: previous hidden states (B, H).
        W_x: input weights (H, D).
        W_h: recurrent weights (H, H).
        b: biases (H,).

    Returns:
        The new hidden states (B, H).

    Example:
        >>> h = rnn_step(np.array([[1.0]]), np.array([[0.5]]), np.array([[0.5]]), np.array([[2.0]]), np.array([-1.0]))
        >>> round(float(h[0, 0]), 4)
        0.4621
    """
    ### BEGIN SOLUTION
    return np.tanh(x @ W_x.T + h_prev @ W_h.T + b)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-step", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Checks one step with only the bias, only x, only h_prev, everything at once, and a batch of one.
### AUTOTEST judge("vector.rnn_step", rnn_step)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.rnn_step", rnn_step, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-forward", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 2: a whole sequence (3 points, 10 minutes)
#
# The same step with the same weights is taken T times, and each new state goes into the next step. Collect the states along the time axis: the result is (B, T, H). Stack along the right axis; a reshape would give the same shape and mix the sequences of the batch. This exercise calls your `rnn_step`.


# %% nbgrader={"grade": false, "grade_id": "forward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rnn_forward(x, W_x, W_h, b, h0):
    """Walk a plain RNN over a batch of sequences of equal length.

    Args:
        x: inputs (B, T, D).
        W_x, W_h, b: weights as in rnn_step.
        h0: initial hidden states (B, H).

    Returns:
        (output, h_n): all hidden states (B, T, H), and the last hidden state (B, H).

    Example:
        >>> output, h_n = rnn_forward(np.ones((2, 3, 1)), np.ones((4, 1)), np.ones((4, 4)), np.zeros(4), np.zeros((2, 4)))
        >>> output.shape, h_n.shape
        ((2, 3, 4), (2, 4))
    """
    ### BEGIN SOLUTION
    h = h0
    output = []
    for t in range(x.shape[1]):
        h = rnn_step(x[:, t], h, W_x, W_h, b)
        output.append(h)
    return np.stack(output, axis=1), h
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-forward", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks a single step, and five steps from zero and from another initial state.
### AUTOTEST judge("vector.rnn_forward", rnn_forward)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.rnn_forward", rnn_forward, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-padded", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 3: sequences of different lengths (5 points, 20 minutes)
#
# Sequences of a batch seldom have one length. The shorter ones are padded at the end, and `lengths` says where each one stops: row k has the steps 0 to `lengths[k] - 1`. The padding must not change anything:
#
# $$h_t = \begin{cases} \text{step}(x_t, h_{t-1}) & t < \text{length} \\ h_{t-1} & \text{else} \end{cases} \qquad \text{output}_t = \begin{cases} h_t & t < \text{length} \\ 0 & \text{else} \end{cases} \qquad t = 0, \dots, T-1$$
#
# So a padded step holds the state, and its output is 0, as PyTorch's packed sequences give it. A padding of zeros does not do this by itself: the bias and $W_h$ still move the state. This exercise calls your `rnn_step`.


# %% nbgrader={"grade": false, "grade_id": "padded", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rnn_forward_padded(x, lengths, W_x, W_h, b, h0):
    """Walk a plain RNN over a batch of padded sequences.

    Args:
        x: inputs (B, T, D), padded to T steps.
        lengths: number of steps of each sequence (B,), whole numbers from 1 to T.
        W_x, W_h, b: weights as in rnn_step.
        h0: initial hidden states (B, H).

    Returns:
        (output, h_n): hidden states (B, T, H), 0 at padded steps, and the state after each sequence's own last step (B, H).

    Example:
        >>> one = np.ones((2, 3, 1))
        >>> output, h_n = rnn_forward_padded(one, np.array([3, 1]), one[0, :1], one[0, :1], np.zeros(1), np.zeros((2, 1)))
        >>> output[:, :, 0].round(2).tolist(), h_n[:, 0].round(2).tolist()
        ([[0.76, 0.94, 0.96], [0.76, 0.0, 0.0]], [0.96, 0.76])
    """
    ### BEGIN SOLUTION
    h = h0
    output = []
    for t in range(x.shape[1]):
        alive = (t < lengths)[:, None]
        new = rnn_step(x[:, t], h, W_x, W_h, b)
        h = np.where(alive, new, h)
        output.append(np.where(alive, new, 0.0))
    return np.stack(output, axis=1), h
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-padded", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Checks full lengths, three lengths with a padding of zeros and of other numbers, and much padding.
### AUTOTEST judge("vector.rnn_forward_padded", rnn_forward_padded)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.rnn_forward_padded", rnn_forward_padded, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-output", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 4: from states to answers (5 points, 25 minutes)
#
# An output layer reads states. With a score for each of K classes, $s = h W_y^\top + b_y$, the probabilities are
#
# $$\text{softmax}(s)_k = \frac{e^{s_k}}{\sum_j e^{s_j}}.$$
#
# Read at every step, the network is *many to many*: a tag for each word, the next character after each character. Read at the last step alone, it is *many to one*: a verdict on the whole sequence. The weights of the output layer are the same at all steps.
#
# | array | states | $W_y$ | $b_y$ | probabilities |
# | --- | --- | --- | --- | --- |
# | many to many | (B, T, H) | (K, H) | (K,) | (B, T, K) |
# | many to one | (B, T, H) and `lengths` | (K, H) | (K,) | (B, K) |
#
# The exponential of 1000 overflows. Subtracting the largest score of each row first changes nothing in the quotient and keeps every exponent at or below 0. For many to one, read each sequence's own last step, not the last column of the array.


# %% nbgrader={"grade": false, "grade_id": "output", "locked": false, "schema_version": 3, "solution": true, "task": false}
def softmax(scores):
    """Probabilities along the last axis, without overflow.

    Args:
        scores: an array (..., K).

    Returns:
        An array of the same shape; along the last axis it adds up to 1.

    Example:
        >>> softmax(np.array([[0.0, 0.0], [1000.0, 0.0]])).tolist()
        [[0.5, 0.5], [1.0, 0.0]]
    """
    ### BEGIN SOLUTION
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
    ### END SOLUTION


def read_every_step(output, W_y, b_y):
    """Many to many: class probabilities at every step.

    Args:
        output: hidden states (B, T, H).
        W_y: weights of the output layer (K, H).
        b_y: its biases (K,).

    Returns:
        Probabilities (B, T, K).

    Example:
        >>> read_every_step(np.zeros((1, 2, 3)), np.ones((2, 3)), np.zeros(2)).tolist()
        [[[0.5, 0.5], [0.5, 0.5]]]
    """
    ### BEGIN SOLUTION
    return softmax(output @ W_y.T + b_y)
    ### END SOLUTION


def read_last_step(output, lengths, W_y, b_y):
    """Many to one: class probabilities from each sequence's own last step.

    Args:
        output: hidden states (B, T, H), padded to T steps.
        lengths: number of steps of each sequence (B,), whole numbers from 1 to T.
        W_y, b_y: the output layer, as in read_every_step.

    Returns:
        Probabilities (B, K).

    Example:
        >>> states = np.array([[[50.0], [0.0]], [[0.0], [50.0]]])
        >>> read_last_step(states, np.array([1, 2]), np.array([[1.0], [0.0]]), np.zeros(2)).round(2).tolist()
        [[1.0, 0.0], [1.0, 0.0]]
    """
    ### BEGIN SOLUTION
    last = output[np.arange(len(output)), lengths - 1]
    return softmax(last @ W_y.T + b_y)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-softmax", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Checks scores with two and with three axes, and scores around +-1000, where a warning counts as wrong.
### AUTOTEST judge("vector.softmax", softmax)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.softmax", softmax, seed=HIDDEN_SEED)
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test-every", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks the probabilities at every step, with and without a bias, and for a batch of one.
### AUTOTEST judge("vector.read_every_step", read_every_step)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.read_every_step", read_every_step, seed=HIDDEN_SEED)
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test-last", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks the probabilities after the last step, for full lengths and for three different ones.
### AUTOTEST judge("vector.read_last_step", read_last_step)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.read_last_step", read_last_step, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-count", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 5: how many numbers are learnt (2 points, 5 minutes)
#
# Count what a network of one recurrent layer and an output layer learns: $W_x$, $W_h$ and $b$, then $W_y$ and $b_y$, for D inputs, H hidden units and K classes. One number is missing from the arguments on purpose: the sequence length. The same weights are used at every step.


# %% nbgrader={"grade": false, "grade_id": "count", "locked": false, "schema_version": 3, "solution": true, "task": false}
def count_parameters(input_size, hidden_size, classes):
    """Number of numbers that a plain RNN and its output layer learn.

    Args:
        input_size: D.
        hidden_size: H.
        classes: K.

    Returns:
        An int.

    Example:
        >>> count_parameters(1, 1, 1)
        5
    """
    ### BEGIN SOLUTION
    recurrent = hidden_size * (input_size + hidden_size + 1)
    return recurrent + classes * (hidden_size + 1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-count", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks three counts; the answers are hidden behind a hash.
### HASHED AUTOTEST count_parameters(3, 4, 2); count_parameters(64, 128, 10); count_parameters(1, 32, 8)
### BEGIN HIDDEN TESTS
### HASHED AUTOTEST count_parameters(7, 5, 3); count_parameters(10, 1, 6)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## In your own words (4 points, 15 minutes)
#
# A person reads what you write here and gives the points. Three to six sentences are enough.

# %% [markdown] nbgrader={"grade": false, "grade_id": "question-defects", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **Question (4 points).** The plain recurrent cell has two defects that the gated cells of later chapters repair: it is forced to compress, and it cannot select. Look at your `rnn_step` and say for each of the two what in this one line causes it. Then invent a sentence, or another sequence, on which they hurt, and say at which step what is lost.
#
# ### BEGIN MARK SCHEME
# 1 point: forced compression: whatever came before has to fit into one vector of H numbers between -1 and 1, and every step writes over the whole of it.
#
# 1 point: no selection: W_x, W_h and b are the same whatever comes in; nothing in the line can decide to skip an input or to protect a number.
#
# 1 point: a sequence of the student's own in which something early is needed late, with material between that does not matter.
#
# 1 point: the step is named, and what happens there: the unimportant input is mixed into the state, and the earlier content is multiplied by W_h and squeezed by tanh once more.
# ### END MARK SCHEME

# %% [markdown] nbgrader={"grade": true, "grade_id": "words-defects", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# Forced compression: the function returns one array with H numbers a sequence, between -1 and 1, and the next step sees nothing else, so all that was read has to fit in there, however long the sequence is. No selection: x @ W_x.T + h_prev @ W_h.T + b uses the same weights at each step, whatever x is; nothing can say that this input does not matter or that this part of the state shall stay. Take 'The key that the man with the two dogs lost yesterday was made of brass'. At the word was, the network needs to know that the subject is a key, singular. At each of the words from that to yesterday, the state has been mixed with a word that says nothing about this, multiplied by W_h and squeezed by tanh, and two dogs even votes for the plural.
# ### END SOLUTION
