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
# # Backpropagation through time, by hand
#
# A weight of a recurrent network is used at every step, and the state that it makes is used by every later step. Here you carry a gradient back through one step, then through a whole sequence; you check it by measuring; and you look at what becomes of a gradient's size on its way.
#
# You need NumPy and the chapter *Backpropagation through time*. Plan for 150 minutes. There are 26 points: 20 are given by the test cells, 6 for two answers in your own words.
#
# Arrays are batch first and states are row vectors: x is (B, D), h is (B, H), a sequence is (B, T, D). $W_x$ is (H, D), $W_h$ is (H, H), $b$ is (H,). The forward step is given. Write $d_h$ for the gradient of a loss with respect to h: it has h's shape, and the same holds for every other array.
#
# Each function is followed by a test cell that stays silent or tells you what is not right yet. To see where you stand, save the notebook and run `python -m refcells.check bptt.ipynb` in a terminal.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import numpy as np


def rnn_step(x, h_prev, W_x, W_h, b):
    """One step of a plain RNN: inputs (..., D) and states (..., H) to the new states (..., H)."""
    return np.tanh(x @ W_x.T + h_prev @ W_h.T + b)


# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-step-backward", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 1: back through one step (4 points, 25 minutes)
#
# Forwards, $a = x W_x^\top + h_{t-1} W_h^\top + b$ and $h_t = \tanh a$. Given $d_h$, the gradient of the loss with respect to $h_t$, the gradient of the pre-activation is
#
# $$d_a = d_h \odot (1 - h_t^2),$$
#
# since the derivative of tanh, written with its *value*, is $1 - \tanh^2$. The rest is linear algebra. An array that was multiplied by a weight gets $d_a$ times that weight, a weight gets $d_a$ times what it multiplied, summed over the batch:
#
# $$d_x = d_a W_x, \quad d_{h_{t-1}} = d_a W_h, \quad d_{W_x} = d_a^\top x, \quad d_{W_h} = d_a^\top h_{t-1}, \quad d_b = \sum_{\text{batch}} d_a.$$
#
# The shapes leave little choice, except for $W_h$, which is square. Compute the forward quantities again from the arguments; nothing is stored for you.


# %% nbgrader={"grade": false, "grade_id": "step-backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rnn_step_backward(d_h, x, h_prev, W_x, W_h, b):
    """Backward pass of one step of a plain RNN.

    Args:
        d_h: gradient of the loss with respect to the new state (B, H).
        x, h_prev, W_x, W_h, b: the arguments of the forward step.

    Returns:
        (d_x, d_h_prev, d_W_x, d_W_h, d_b), each in the shape of what it belongs to.

    Example:
        >>> one = np.ones((1, 1))
        >>> grads = rnn_step_backward(one, 0 * one, 0 * one, 2 * one, 3 * one, np.zeros(1))
        >>> [float(d.sum()) for d in grads]
        [2.0, 3.0, 0.0, 0.0, 1.0]
    """
    ### BEGIN SOLUTION
    h = rnn_step(x, h_prev, W_x, W_h, b)
    d_a = d_h * (1 - h**2)
    return d_a @ W_x, d_a @ W_h, d_a.T @ x, d_a.T @ h_prev, d_a.sum(axis=0)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-step-backward", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Checks all five gradients, for a batch of one, from a state of zero, and for everything at once.
### AUTOTEST judge("vector.rnn_step_backward", rnn_step_backward)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.rnn_step_backward", rnn_step_backward, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-backward", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 2: back through time (5 points, 35 minutes)
#
# Run the sequence forwards and keep the states. Then walk from the last step to the first. The gradient of $h_t$ has two sources, the loss at that step and the step after it:
#
# $$d_{h_t} = d_{\text{output}, t} + d_{h_t}^{\,\text{from step } t+1},$$
#
# at the last step only the first. Each step's weights' gradients are *added* to those of the other steps, because the weight was used at all of them. What is left after the first step belongs to $h_0$. This exercise calls your `rnn_step_backward`.


# %% nbgrader={"grade": false, "grade_id": "backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rnn_backward(d_output, x, W_x, W_h, b, h0):
    """Backpropagation through time for a plain RNN.

    Args:
        d_output: gradient of the loss with respect to the outputs, which are all hidden states (B, T, H).
        x: inputs (B, T, D).
        W_x, W_h, b: weights.
        h0: initial hidden states (B, H).

    Returns:
        (d_x, d_W_x, d_W_h, d_b, d_h0), each in the shape of what it belongs to.

    Example:
        >>> x, h0 = np.ones((2, 3, 1)), np.zeros((2, 4))
        >>> grads = rnn_backward(np.ones((2, 3, 4)), x, np.ones((4, 1)), np.ones((4, 4)), np.zeros(4), h0)
        >>> [d.shape for d in grads]
        [(2, 3, 1), (4, 1), (4, 4), (4,), (2, 4)]
    """
    ### BEGIN SOLUTION
    steps = x.shape[1]
    states = [h0]
    for t in range(steps):
        states.append(rnn_step(x[:, t], states[-1], W_x, W_h, b))
    d_x, d_W_x, d_W_h, d_b = np.zeros_like(x), np.zeros_like(W_x), np.zeros_like(W_h), np.zeros_like(b)
    d_h = np.zeros_like(h0)
    for t in reversed(range(steps)):
        step = rnn_step_backward(d_h + d_output[:, t], x[:, t], states[t], W_x, W_h, b)
        d_x[:, t], d_h = step[:2]
        d_W_x += step[2]
        d_W_h += step[3]
        d_b += step[4]
    return d_x, d_W_x, d_W_h, d_b, d_h
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-backward", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Checks all five gradients for a single step, a loss on the last output, and a loss on every output.
### AUTOTEST judge("vector.rnn_backward", rnn_backward)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.rnn_backward", rnn_backward, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-check", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 3: check a gradient (5 points, 30 minutes)
#
# A derivative can be measured. Move one entry of an array a little up and a little down, and look at the loss:
#
# $$\frac{\partial f}{\partial x_k} \approx \frac{f(x + \varepsilon e_k) - f(x - \varepsilon e_k)}{2 \varepsilon}$$
#
# This is a *central difference*; its error falls with $\varepsilon^2$, until rounding takes over. Whether two gradients agree is a question of their distance relative to their size:
#
# $$\text{error}(p, q) = \frac{\lVert p - q \rVert}{\lVert p \rVert + \lVert q \rVert},$$
#
# with the Euclidean norm over all entries: 0 if they are equal, 1 if they are opposite. Two gradients that are both 0 are equal, so their error is 0. With $\varepsilon = 10^{-5}$ in float64, an error below about $10^{-7}$ is agreement. The test uses large $\varepsilon$ too, to tell kinds of differences apart.
#
# This exercise needs none of the others. Afterwards, check your `rnn_backward` with it, in a cell of your own.


# %% nbgrader={"grade": false, "grade_id": "check", "locked": false, "schema_version": 3, "solution": true, "task": false}
def numeric_gradient(f, x, eps):
    """Gradient of f at x by central differences.

    Args:
        f: takes an array of x's shape and returns one number.
        x: an array of floats of any shape; it holds the same numbers after the call.
        eps: how far each entry is moved to each side.

    Returns:
        An array of x's shape.

    Example:
        >>> numeric_gradient(lambda v: v[0] ** 2 + 3 * v[1], np.array([1.0, 5.0]), 1e-5).round(6).tolist()
        [2.0, 3.0]
    """
    ### BEGIN SOLUTION
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[index] += eps
        down[index] -= eps
        gradient[index] = (f(up) - f(down)) / (2 * eps)
    return gradient
    ### END SOLUTION


def relative_error(analytic, numeric):
    """Distance of two gradients relative to the sum of their norms; 0 if both are 0.

    Args:
        analytic, numeric: arrays of equal shape.

    Returns:
        A float from 0 to 1.

    Example:
        >>> relative_error(np.array([3.0, 4.0]), np.array([6.0, 8.0])) == 5 / 15
        True
    """
    ### BEGIN SOLUTION
    size = np.linalg.norm(analytic) + np.linalg.norm(numeric)
    if size == 0.0:
        return 0.0
    return float(np.linalg.norm(analytic - numeric) / size)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-numeric", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks central differences of a cubic function of a vector and of a matrix, and that x is left as it was.
### AUTOTEST judge("vector.numeric_gradient", numeric_gradient)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.numeric_gradient", numeric_gradient, seed=HIDDEN_SEED)
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test-error", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks the error of equal, different, opposite, tiny and vanished gradients; a warning counts as wrong.
### AUTOTEST judge("vector.relative_error", relative_error)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.relative_error", relative_error, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-jacobian", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 4: what becomes of a gradient with the lag (6 points, 40 minutes)
#
# How much does the last state depend on a state k steps before? For one sequence the answer is a product of k Jacobians:
#
# $$J_t = \frac{\mathrm{d} h_t}{\mathrm{d} h_{t-1}} = \text{diag}(1 - h_t^2)\, W_h, \qquad \frac{\mathrm{d} h_T}{\mathrm{d} h_{T-k}} = J_T \, J_{T-1} \cdots J_{T-k+1}.$$
#
# In $J_t$, row i and column j hold $\mathrm{d} h_t[i] / \mathrm{d} h_{t-1}[j]$. Its size is measured by the *spectral norm*, the largest singular value: the most that the matrix can lengthen a vector (`np.linalg.norm(matrix, 2)`).
#
# Here there is one sequence and no batch: x is (T, D), a state is (H,). Start with the identity, walk from the last step to the first, multiply one more Jacobian on the right side at each step, and note the norm. This exercise calls nothing but its own functions and the given `rnn_step`.


# %% nbgrader={"grade": false, "grade_id": "jacobian", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rnn_step_jacobian(x, h_prev, W_x, W_h, b):
    """Jacobian of one step with respect to the previous state, for one sequence.

    Args:
        x: input (D,).
        h_prev: previous state (H,).
        W_x, W_h, b: weights.

    Returns:
        Array (H, H); entry [i, j] is the derivative of the new state's entry i by h_prev[j].

    Example:
        >>> rnn_step_jacobian(np.zeros(1), np.zeros(2), np.ones((2, 1)), np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros(2)).tolist()
        [[1.0, 2.0], [3.0, 4.0]]
    """
    ### BEGIN SOLUTION
    h = rnn_step(x, h_prev, W_x, W_h, b)
    return (1 - h**2)[:, None] * W_h
    ### END SOLUTION


def jacobian_norms(x, W_x, W_h, b, h0):
    """Spectral norms of the derivative of the last state by the state k steps before, for k = 1 to T.

    Args:
        x: inputs of one sequence (T, D).
        W_x, W_h, b: weights.
        h0: initial state (H,).

    Returns:
        Array (T,); the first entry is that of lag 1, the last that of h0.

    Example:
        >>> half = np.array([[0.5]])
        >>> jacobian_norms(np.zeros((3, 1)), half, half, np.zeros(1), np.zeros(1)).tolist()
        [0.5, 0.25, 0.125]
    """
    ### BEGIN SOLUTION
    states = [h0]
    for x_t in x:
        states.append(rnn_step(x_t, states[-1], W_x, W_h, b))
    product = np.eye(len(h0))
    norms = []
    for t in reversed(range(len(x))):
        product = product @ rnn_step_jacobian(x[t], states[t], W_x, W_h, b)
        norms.append(np.linalg.norm(product, 2))
    return np.array(norms)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-jacobian", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks one step's Jacobian with only the bias, only x, only h_prev, and everything at once.
### AUTOTEST judge("vector.rnn_step_jacobian", rnn_step_jacobian)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.rnn_step_jacobian", rnn_step_jacobian, seed=HIDDEN_SEED)
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test-norms", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks the norms by lag for a single step, for silence, and for five steps from two initial states.
### AUTOTEST judge("vector.jacobian_norms", jacobian_norms)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.jacobian_norms", jacobian_norms, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## In your own words (6 points, 20 minutes)
#
# A person reads what you write here and gives the points. Three to six sentences for each are enough.

# %% [markdown] nbgrader={"grade": false, "grade_id": "question-derivatives", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **Question (3 points).** Take two steps with one unit: $h_1 = \tanh(w_x x_1 + w_h h_0)$ and $h_2 = \tanh(w_x x_2 + w_h h_1)$. What is the *immediate* derivative of $h_2$ with respect to $w_h$, what is the *total* one, and where in your `rnn_backward` does each of the terms of the total derivative appear?
#
# ### BEGIN MARK SCHEME
# 1 point: the immediate derivative holds h_1 fixed: (1 - h_2^2) h_1.
#
# 1 point: the total one adds the path through h_1: (1 - h_2^2) (h_1 + w_h (1 - h_1^2) h_0).
#
# 1 point: each pass of the loop adds one term, d_a.T @ h_prev: that of step 2 is the immediate one, that of step 1 the second, after d_h went through d_a @ W_h.
# ### END MARK SCHEME

# %% [markdown] nbgrader={"grade": true, "grade_id": "words-derivatives", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# The immediate derivative treats h_1 as a given number: (1 - h_2^2) h_1. The total one also counts that w_h made h_1, so it is (1 - h_2^2) (h_1 + w_h (1 - h_1^2) h_0). In rnn_backward the first pass of the loop, at step 2, adds the immediate term to d_W_h: d_a.T @ h_prev with h_prev = h_1. The gradient d_a @ W_h that it hands on is (1 - h_2^2) w_h, and the second pass, at step 1, multiplies it by (1 - h_1^2) and h_0 and adds the second term.
# ### END SOLUTION

# %% [markdown] nbgrader={"grade": false, "grade_id": "question-explodes", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **Question (3 points).** Draw $W_h$ at random and multiply it by 0.5, 1, 2 and 4, and look at `jacobian_norms` over 30 steps, once with small inputs and once with large ones. When does the gradient vanish, when does it explode, and why can the same $W_h$ do either? Is a spectral norm of $W_h$ above 1 enough for it to explode?
#
# ### BEGIN MARK SCHEME
# 1 point: what was seen, with numbers and with the size and the scale of W_h: a decay by a steady factor for small weights, growth for large ones with small inputs.
#
# 1 point: every factor is diag(1 - h^2) W_h: large inputs saturate tanh, 1 - h^2 falls towards 0, and the same W_h lets the gradient vanish.
#
# 1 point: no: a norm above 1 is necessary for growth (below 1 every product shrinks) and not sufficient: the derivatives of tanh are at most 1, and over many steps without saturation the spectral radius counts, which can be below 1 while the norm is above.
# ### END MARK SCHEME

# %% [markdown] nbgrader={"grade": true, "grade_id": "words-explodes", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# I drew three matrices W_h (8, 8) with entries of standard deviation 1/sqrt(8); their spectral norms were 1.6 to 1.7 and their spectral radii 0.7 to 1.0. With small inputs and 0.5 times W_h the norm at lag 30 was below 1e-8, although it began near 0.8; times 2 and times 4 it reached some tens to some thousands. With large inputs it fell below 1e-8 for all of them, also for 4 times W_h. Each factor is diag(1 - h^2) W_h: large inputs push the states to -1 and 1, where 1 - h^2 is close to 0, and then even a large W_h shortens every vector. A spectral norm above 1 is needed for growth, since with a norm below 1 every factor shortens. It is not enough: my second matrix has a norm of 1.7 and its gradient vanishes at small inputs, because its radius is 0.7, and in a long product of nearly equal factors it is the radius that decides.
# ### END SOLUTION
