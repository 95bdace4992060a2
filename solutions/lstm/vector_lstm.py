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
# # The LSTM in NumPy, forwards and backwards
#
# One unit showed what the gates do. Now H units read a batch of B sequences at once, and the four gates' weights are stacked in one matrix. Then comes the part that most texts leave to a library: you will carry the gradient back through a step, and through a whole sequence, by hand.
#
# You need NumPy and the chapter *The LSTM*. Plan for 130 minutes. There are 28 points: 20 are given by the test cells, 8 for answers in your own words.
#
# Arrays are batch first and states are row vectors: x is (B, D), h and c are (B, H), a sequence is (B, T, D). Weights have PyTorch's layout: $W_x$ is (4H, D), $W_h$ is (4H, H), $b$ is (4H,), with the blocks of the gates stacked in the order **i, f, g, o**. So a step's pre-activations are $a = x W_x^\top + h W_h^\top + b$, with shape (B, 4H).
#
# Each function is followed by a test cell that stays silent or tells you what is not right yet. To see where you stand, save the notebook and run `python -m refcells.check vector_lstm.ipynb` in a terminal.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import numpy as np

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-stack", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 1: four blocks in one array (2 points, 10 minutes)
#
# Four gates have four weight matrices. Stacked along their first axis they are one array, and one matrix product computes all four pre-activations. The order of the blocks is a convention, and every library has its own; a wrong order gives no error, only wrong numbers. Ours is PyTorch's: i, f, g, o.
#
# Write the stacking, and count what has been stacked: how many numbers do $W_x$, $W_h$ and $b$ hold together, for D inputs and H hidden units?


# %% nbgrader={"grade": false, "grade_id": "stack", "locked": false, "schema_version": 3, "solution": true, "task": false}
def stack_gates(i, f, g, o):
    """Stack the blocks of the four gates along the first axis, in the order i, f, g, o.

    Args:
        i, f, g, o: arrays of equal shape, (H, D), (H, H) or (H,).

    Returns:
        An array of shape (4H, D), (4H, H) or (4H,).

    Example:
        >>> stack_gates(np.array([1.0]), np.array([2.0]), np.array([3.0]), np.array([4.0])).tolist()
        [1.0, 2.0, 3.0, 4.0]
    """
    ### BEGIN SOLUTION
    return np.concatenate([i, f, g, o], axis=0)
    ### END SOLUTION


def count_parameters(input_size, hidden_size):
    """Number of numbers in W_x, W_h and b of one LSTM layer.

    Args:
        input_size: D.
        hidden_size: H.

    Returns:
        An int.

    Example:
        >>> count_parameters(1, 1)
        12
    """
    ### BEGIN SOLUTION
    return 4 * hidden_size * (input_size + hidden_size + 1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-stack", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Checks the order of the blocks and the axis.
### AUTOTEST judge("vector.stack_gates", stack_gates)
### AUTOTEST stack_gates(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]), np.array([[5.0, 6.0]]), np.array([[7.0, 8.0]]))
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.stack_gates", stack_gates, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test-count", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Checks three counts; the answers are hidden behind a hash.
### HASHED AUTOTEST count_parameters(3, 4); count_parameters(64, 128); count_parameters(1, 32)
### BEGIN HIDDEN TESTS
### HASHED AUTOTEST count_parameters(7, 5); count_parameters(10, 1)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-step", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 2: one step for a batch (5 points, 20 minutes)
#
# $$a = x_t W_x^\top + h_{t-1} W_h^\top + b = [a_i, a_f, a_g, a_o]$$
# $$i = \sigma(a_i), \quad f = \sigma(a_f), \quad g = \tanh(a_g), \quad o = \sigma(a_o), \qquad c_t = f \odot c_{t-1} + i \odot g, \quad h_t = o \odot \tanh(c_t)$$
#
# | array | $x_t$ | $h_{t-1}, c_{t-1}$ | $a$ | each block of $a$ | $h_t, c_t$ |
# | --- | --- | --- | --- | --- | --- |
# | shape | (B, D) | (B, H) | (B, 4H) | (B, H) | (B, H) |
#
# One of the five points is for extreme numbers: pre-activations of $\pm 1000$ must give the right result and no overflow warning. The identity $\sigma(a) = \tfrac12 (1 + \tanh \tfrac a2)$ may help.


# %% nbgrader={"grade": false, "grade_id": "step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sigmoid(a):
    """Logistic sigmoid of an array, elementwise, without overflow.

    Example:
        >>> sigmoid(np.array([0.0, 1000.0, -1000.0])).tolist()
        [0.5, 1.0, 0.0]
    """
    ### BEGIN SOLUTION
    return 0.5 * (1.0 + np.tanh(0.5 * a))
    ### END SOLUTION


def lstm_step(x, h_prev, c_prev, W_x, W_h, b):
    """One time step of an LSTM for a batch.

    Args:
        x: inputs (B, D).
        h_prev: previous hidden states (B, H).
        c_prev: previous cell states (B, H).
        W_x: (4H, D), blocks i, f, g, o.
        W_h: (4H, H), likewise.
        b: (4H,), likewise.

    Returns:
        (h, c), two arrays of shape (B, H).

    Example:
        >>> one = np.ones((1, 1))
        >>> h, c = lstm_step(0 * one, 0 * one, 0.8 * one, np.ones((4, 1)), np.ones((4, 1)), np.array([0.2, 1.0, 0.9, 0.7]))
        >>> round(float(h[0, 0]), 4), round(float(c[0, 0]), 4)
        (0.5028, 0.9787)
    """
    ### BEGIN SOLUTION
    a = x @ W_x.T + h_prev @ W_h.T + b
    a_i, a_f, a_g, a_o = np.split(a, 4, axis=1)
    i, f, g, o = sigmoid(a_i), sigmoid(a_f), np.tanh(a_g), sigmoid(a_o)
    c = f * c_prev + i * g
    h = o * np.tanh(c)
    return h, c
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-step", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Checks one step with only the biases, only x, only h_prev, saturated gates, everything at once, and a batch of one.
### AUTOTEST judge("vector.lstm_step", lstm_step)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.lstm_step", lstm_step, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test-extremes", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Checks pre-activations around +-1000, where a warning counts as wrong.
### AUTOTEST judge("vector.lstm_step_extremes", lstm_step)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.lstm_step_extremes", lstm_step, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-forward", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 3: a whole sequence (3 points, 10 minutes)
#
# Walk over the time axis, carry both states on, and collect the hidden states. The result has the shape (B, T, H): batch first, then time. Stack along the right axis; a reshape would give the same shape and mix the sequences of the batch. This exercise calls your `lstm_step`.


# %% nbgrader={"grade": false, "grade_id": "forward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def lstm_forward(x, W_x, W_h, b, h0, c0):
    """Walk an LSTM over a batch of sequences.

    Args:
        x: inputs (B, T, D).
        W_x, W_h, b: weights as in lstm_step.
        h0: initial hidden states (B, H).
        c0: initial cell states (B, H).

    Returns:
        (output, h_n, c_n): all hidden states (B, T, H), the last hidden state (B, H), the last cell state (B, H).

    Example:
        >>> x, zeros = np.ones((2, 3, 1)), np.zeros((2, 4))
        >>> output, h_n, c_n = lstm_forward(x, np.ones((16, 1)), np.ones((16, 4)), np.zeros(16), zeros, zeros)
        >>> output.shape, h_n.shape, c_n.shape
        ((2, 3, 4), (2, 4), (2, 4))
    """
    ### BEGIN SOLUTION
    h, c = h0, c0
    output = []
    for t in range(x.shape[1]):
        h, c = lstm_step(x[:, t], h, c, W_x, W_h, b)
        output.append(h)
    return np.stack(output, axis=1), h, c
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-forward", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks five steps from zero and from other initial states, and a saturated copy.
### AUTOTEST judge("vector.lstm_forward", lstm_forward)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.lstm_forward", lstm_forward, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-step-backward", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 4: back through one step (5 points, 35 minutes)
#
# Write $d_h$ for the gradient of a loss with respect to $h_t$, and so on: the gradient of a thing has that thing's shape. A step receives $d_h$ and $d_c$ and passes on the gradients of everything that went into it.
#
# Start at the end of the step. The cell state is reached by two paths, the one that comes from the next step and the one through $h_t = o \odot \tanh(c_t)$, and they add up:
#
# $$\delta = d_c + d_h \odot o \odot (1 - \tanh^2 c_t).$$
#
# From there each gate's pre-activation gets what it multiplied, times the derivative of its own function, which is $s(1-s)$ for a sigmoid of value $s$ and $1 - g^2$ for a tanh of value $g$. For the forget gate, for example, $\delta_{a_f} = \delta \odot c_{t-1} \odot f \odot (1 - f)$. Stack the four blocks as $\delta_a$ (B, 4H), and the rest is linear algebra:
#
# $$d_x = \delta_a W_x, \quad d_{h_{t-1}} = \delta_a W_h, \quad d_{W_x} = \delta_a^\top x_t, \quad d_{W_h} = \delta_a^\top h_{t-1}, \quad d_b = \sum_{\text{batch}} \delta_a.$$
#
# One gradient is still missing in this list: that of $c_{t-1}$. Compute the forward quantities again from the arguments; nothing is stored for you. This exercise calls your `sigmoid`.


# %% nbgrader={"grade": false, "grade_id": "step-backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def lstm_step_backward(d_h, d_c, x, h_prev, c_prev, W_x, W_h, b):
    """Backward pass of one LSTM step.

    Args:
        d_h: gradient of the loss with respect to h (B, H).
        d_c: gradient of the loss with respect to c (B, H), not counting the path through h.
        x, h_prev, c_prev, W_x, W_h, b: the arguments of the forward step.

    Returns:
        (d_x, d_h_prev, d_c_prev, d_W_x, d_W_h, d_b), each in the shape of what it belongs to.

    Example:
        >>> one = np.ones((1, 1))
        >>> open_gate = np.array([-30.0, 30.0, 0.0, 0.0])
        >>> grads = lstm_step_backward(0 * one, one, one, one, one, np.zeros((4, 1)), np.zeros((4, 1)), open_gate)
        >>> round(float(grads[2][0, 0]), 4)
        1.0
    """
    ### BEGIN SOLUTION
    a = x @ W_x.T + h_prev @ W_h.T + b
    a_i, a_f, a_g, a_o = np.split(a, 4, axis=1)
    i, f, g, o = sigmoid(a_i), sigmoid(a_f), np.tanh(a_g), sigmoid(a_o)
    tanh_c = np.tanh(f * c_prev + i * g)
    delta = d_c + d_h * o * (1 - tanh_c**2)
    d_a = np.concatenate(
        [
            delta * g * i * (1 - i),
            delta * c_prev * f * (1 - f),
            delta * i * (1 - g**2),
            d_h * tanh_c * o * (1 - o),
        ],
        axis=1,
    )
    return d_a @ W_x, d_a @ W_h, delta * f, d_a.T @ x, d_a.T @ h_prev, d_a.sum(axis=0)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-step-backward", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Checks all six gradients, for a gradient of c alone, of h alone, of both, and from an empty cell state.
### AUTOTEST judge("vector.lstm_step_backward", lstm_step_backward)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.lstm_step_backward", lstm_step_backward, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-backward", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 5: backpropagation through time (5 points, 30 minutes)
#
# Run the sequence forwards and keep the states. Then walk from the last step to the first. At step $t$ the gradient of $h_t$ has two sources, the loss at that step and the step after it; at the last step only the first. The gradients of $h$ and $c$ that a step passes on go to the step before it, and what is left after the first step belongs to $h_0$ and $c_0$. The weights were used at every step, so their gradients are sums over the steps.
#
# The loss may look at every output (`d_output`) and at the last cell state (`d_c_n`). This exercise calls your `lstm_step` and `lstm_step_backward`.


# %% nbgrader={"grade": false, "grade_id": "backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def lstm_backward(d_output, d_c_n, x, W_x, W_h, b, h0, c0):
    """Backpropagation through time for an LSTM.

    Args:
        d_output: gradient of the loss with respect to the outputs (B, T, H).
        d_c_n: gradient of the loss with respect to the last cell state (B, H).
        x, W_x, W_h, b, h0, c0: the arguments of lstm_forward.

    Returns:
        (d_x, d_W_x, d_W_h, d_b, d_h0, d_c0), each in the shape of what it belongs to.

    Example:
        >>> x, zeros = np.ones((2, 3, 1)), np.zeros((2, 4))
        >>> grads = lstm_backward(np.ones((2, 3, 4)), zeros, x, np.ones((16, 1)), np.ones((16, 4)), np.zeros(16), zeros, zeros)
        >>> [d.shape for d in grads]
        [(2, 3, 1), (16, 1), (16, 4), (16,), (2, 4), (2, 4)]
    """
    ### BEGIN SOLUTION
    steps = x.shape[1]
    states = [(h0, c0)]
    for t in range(steps):
        states.append(lstm_step(x[:, t], *states[-1], W_x, W_h, b))
    d_x, d_W_x, d_W_h, d_b = np.zeros_like(x), np.zeros_like(W_x), np.zeros_like(W_h), np.zeros_like(b)
    d_h, d_c = np.zeros_like(h0), d_c_n
    for t in reversed(range(steps)):
        h_prev, c_prev = states[t]
        step = lstm_step_backward(d_h + d_output[:, t], d_c, x[:, t], h_prev, c_prev, W_x, W_h, b)
        d_x[:, t], d_h, d_c = step[:3]
        d_W_x += step[3]
        d_W_h += step[4]
        d_b += step[5]
    return d_x, d_W_x, d_W_h, d_b, d_h, d_c
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-backward", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Checks all six gradients for losses on the last output, on the last cell state, and on every output.
### AUTOTEST judge("vector.lstm_backward", lstm_backward)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.lstm_backward", lstm_backward, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## In your own words (8 points, 25 minutes)
#
# A person reads what you write here and gives the points. Three to six sentences are enough.

# %% [markdown] nbgrader={"grade": false, "grade_id": "question-direct-path", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **Question 1 (4 points).** It is often written that $\partial c_t / \partial c_{t-1} = f_t$. Look at your `lstm_step_backward`: which line gives this term, and by which other ways does $c_{t-1}$ influence $c_t$ once the sequence has more than one step? When is the short formula a good description, and when is it not?
#
# ### BEGIN MARK SCHEME
# 1 point: the direct term is the gradient of c_prev, delta * f, with the gates held fixed.
#
# 1 point: c_{t-1} also shapes h_{t-1} = o_{t-1} * tanh(c_{t-1}), which enters all of the next step's gates and its candidate (through d_a @ W_h).
#
# 1 point: good when the recurrent weights are small or the gates are saturated (their derivatives are near 0).
#
# 1 point: not good for large recurrent weights, and over many steps the error compounds; accept any correct statement about the full Jacobian.
# ### END MARK SCHEME

# %% [markdown] nbgrader={"grade": true, "grade_id": "words-direct-path", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# The term f is the gradient returned for c_prev, delta * f: it follows c along the additive line, with the gates held fixed. But the cell state before also decides h before, which is o * tanh(c), and that hidden state enters all three gates and the candidate of the next step. In the code this path is d_a @ W_h, which meets the cell state again one step earlier, in the line for delta. The short formula is good when the gates are saturated, so that their derivatives are close to 0, or when the recurrent weights are small. With large recurrent weights it is not, and over many steps the difference multiplies up.
# ### END SOLUTION

# %% [markdown] nbgrader={"grade": false, "grade_id": "question-two-angles", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **Question 2 (4 points).** Why does a cell state help with long dependencies? Answer from two angles: forwards, what happens to a stored number on its way through many steps of an LSTM and of a plain RNN; and backwards, what happens to a gradient on its way back. Then say what has to hold for the help to arrive.
#
# ### BEGIN MARK SCHEME
# 1 point: forwards, the cell state is carried by an additive line: what is kept is scaled by f and something is added, elementwise. A plain RNN sends the whole state through a matrix and a tanh at every step, which mixes and squashes it.
#
# 1 point: backwards, along the direct path the gradient is multiplied by f at each step, elementwise; in a plain RNN by diag(1 - h^2) W_h, whose product over many steps shrinks or grows exponentially except in special cases.
#
# 1 point: that both angles are the same factor, or that forgetting in the forward direction and vanishing in the backward direction go together.
#
# 1 point: the condition: forget gates near 1 where something is to be kept. At default initialisation they are near 0.5, and then the direct path vanishes too. Claiming that an LSTM cannot have vanishing gradients costs this point.
# ### END MARK SCHEME

# %% [markdown] nbgrader={"grade": true, "grade_id": "words-two-angles", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# Forwards, a number in the cell state is only scaled by its forget gate and added to, unit by unit; with f near 1 and i near 0 it arrives unchanged. In a plain RNN the whole state goes through a matrix and a tanh at every step, so what was stored is mixed with everything else and squashed again and again. Backwards, the gradient along the cell state is multiplied by the same forget gates, one factor a step, while in a plain RNN it meets the matrix diag(1 - h^2) W_h each time, and a product of many such matrices vanishes or explodes. The two angles are one: the share of a memory that survives is the share of the gradient that comes back. None of this helps by itself. The gates have to be near 1 where something must be kept, and a fresh LSTM has them near 0.5, where the direct path vanishes as well.
# ### END SOLUTION
