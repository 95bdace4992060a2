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
# # The GRU in NumPy, forwards and backwards
#
# With several units the GRU gets a question that one unit could not ask: does the reset gate come before the matrix product or after it? You will write the step that this course uses, walk it over a batch of sequences, carry a gradient back through it, and build the Jacobian that decides what a memory loses at each step.
#
# You need NumPy and the chapter *The GRU*. Plan for 115 minutes. There are 22 points: 18 are given by the test cells, 4 for an answer in your own words.
#
# Arrays are batch first and states are row vectors: x is (B, D), h is (B, H), a sequence is (B, T, D). Weights have PyTorch's layout: $W_x$ is (3H, D), $W_h$ is (3H, H), $b$ is (3H,), with the blocks stacked in the order **r, z, n**. $z$ is the share that is written.
#
# Each function is followed by a test cell that stays silent or tells you what is not right yet. To see where you stand, save the notebook and run `python -m refcells.check vector_gru.ipynb` in a terminal.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import numpy as np

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-step", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 1: one step, reset before the product (5 points, 25 minutes)
#
# $$r = \sigma(x_t W_{xr}^\top + h_{t-1} W_{hr}^\top + b_r), \qquad z = \sigma(x_t W_{xz}^\top + h_{t-1} W_{hz}^\top + b_z)$$
# $$n = \tanh\bigl(x_t W_{xn}^\top + (r \odot h_{t-1}) W_{hn}^\top + b_n\bigr), \qquad h_t = (1 - z) \odot h_{t-1} + z \odot n$$
#
# | array | $x_t$ | $h_{t-1}, h_t$ | each block of $W_x$ | each block of $W_h$ | $r, z, n$ |
# | --- | --- | --- | --- | --- | --- |
# | shape | (B, D) | (B, H) | (H, D) | (H, H) | (B, H) |
#
# The reset gate acts on the old state *before* the product with $W_{hn}$, as in Cho et al. (2014). PyTorch and cuDNN compute $r \odot (h_{t-1} W_{hn}^\top)$ instead, which saves a product and is another cell: no change of weights makes one of the two the other. So the candidate's block cannot go into one product with the gates' blocks here; it has to wait for $r$.
#
# One of the five points is for extreme numbers: pre-activations of $\pm 1000$ must give the right result and no overflow warning.


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


def gru_step(x, h_prev, W_x, W_h, b):
    """One time step of a GRU for a batch, the reset gate before the matrix product.

    Args:
        x: inputs (B, D).
        h_prev: previous hidden states (B, H).
        W_x: (3H, D), blocks r, z, n.
        W_h: (3H, H), likewise.
        b: (3H,), likewise.

    Returns:
        The new hidden states (B, H).

    Example:
        >>> one = np.ones((1, 1))
        >>> h = gru_step(one, 0.5 * one, np.zeros((3, 1)), np.zeros((3, 1)), np.array([0.0, 0.0, 1.0]))
        >>> round(float(h[0, 0]), 4)
        0.6308
    """
    ### BEGIN SOLUTION
    W_xr, W_xz, W_xn = np.split(W_x, 3)
    W_hr, W_hz, W_hn = np.split(W_h, 3)
    b_r, b_z, b_n = np.split(b, 3)
    r = sigmoid(x @ W_xr.T + h_prev @ W_hr.T + b_r)
    z = sigmoid(x @ W_xz.T + h_prev @ W_hz.T + b_z)
    n = np.tanh(x @ W_xn.T + (r * h_prev) @ W_hn.T + b_n)
    return (1 - z) * h_prev + z * n
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-step", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Checks one step with only the biases, only x, only h_prev, saturated gates, everything at once, and a batch of one.
### AUTOTEST judge("vector.gru_step", gru_step)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.gru_step", gru_step, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test-extremes", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Checks pre-activations around +-1000, where a warning counts as wrong.
### AUTOTEST judge("vector.gru_step_extremes", gru_step)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.gru_step_extremes", gru_step, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-forward", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 2: a whole sequence (3 points, 10 minutes)
#
# Walk over the time axis, carry the state on, and collect the hidden states. The result has the shape (B, T, H): batch first, then time. Stack along the right axis; a reshape would give the same shape and mix the sequences of the batch. This exercise calls your `gru_step`.


# %% nbgrader={"grade": false, "grade_id": "forward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gru_forward(x, W_x, W_h, b, h0):
    """Walk a GRU over a batch of sequences.

    Args:
        x: inputs (B, T, D).
        W_x, W_h, b: weights as in gru_step.
        h0: initial hidden states (B, H).

    Returns:
        (output, h_n): all hidden states (B, T, H), and the last one (B, H).

    Example:
        >>> output, h_n = gru_forward(np.ones((2, 3, 1)), np.ones((12, 1)), np.ones((12, 4)), np.zeros(12), np.zeros((2, 4)))
        >>> output.shape, h_n.shape
        ((2, 3, 4), (2, 4))
    """
    ### BEGIN SOLUTION
    h = h0
    output = []
    for t in range(x.shape[1]):
        h = gru_step(x[:, t], h, W_x, W_h, b)
        output.append(h)
    return np.stack(output, axis=1), h
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-forward", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks five steps from zero and from another initial state, and a saturated copy.
### AUTOTEST judge("vector.gru_forward", gru_forward)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.gru_forward", gru_forward, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-step-backward", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 3: back through one step (6 points, 40 minutes)
#
# Write $d_h$ for the gradient of a loss with respect to $h_t$; the gradient of a thing has that thing's shape. Go through the step from its end. The blend hands $d_h$ on to three places, and two of them are behind a function whose derivative is needed: $s (1 - s)$ for a sigmoid of value $s$, $1 - n^2$ for a tanh of value $n$. For the candidate's and the update gate's pre-activations,
#
# $$\delta_n = d_h \odot z \odot (1 - n^2), \qquad \delta_z = d_h \odot (n - h_{t-1}) \odot z \odot (1 - z).$$
#
# The candidate saw the product $r \odot h_{t-1}$. The gradient of that product is $\delta_n W_{hn}$ (B, H), and it goes on to both factors; find $\delta_r$ from there.
#
# The old state $h_{t-1}$ is used in *four* places: in the blend, in the candidate, and in each of the two gates. Its gradient is the sum of four terms. The weights' gradients are as in any layer, $\delta^\top$ times what the weights multiplied, summed over the batch; look up what $W_{hn}$ multiplied. Compute the forward quantities again from the arguments. This exercise calls your `sigmoid`.


# %% nbgrader={"grade": false, "grade_id": "step-backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gru_step_backward(d_h, x, h_prev, W_x, W_h, b):
    """Backward pass of one GRU step.

    Args:
        d_h: gradient of the loss with respect to the new h (B, H).
        x, h_prev, W_x, W_h, b: the arguments of the forward step.

    Returns:
        (d_x, d_h_prev, d_W_x, d_W_h, d_b), each in the shape of what it belongs to.

    Example:
        >>> one = np.ones((1, 1))
        >>> closed = np.array([0.0, -30.0, 0.0])
        >>> grads = gru_step_backward(one, one, one, np.zeros((3, 1)), np.zeros((3, 1)), closed)
        >>> round(float(grads[1][0, 0]), 4)
        1.0
    """
    ### BEGIN SOLUTION
    W_hr, W_hz, W_hn = np.split(W_h, 3)
    a_r, a_z, a_n = np.split(x @ W_x.T + b, 3, axis=1)
    r = sigmoid(a_r + h_prev @ W_hr.T)
    z = sigmoid(a_z + h_prev @ W_hz.T)
    n = np.tanh(a_n + (r * h_prev) @ W_hn.T)
    d_a_n = d_h * z * (1 - n**2)
    d_a_z = d_h * (n - h_prev) * z * (1 - z)
    d_seen = d_a_n @ W_hn
    d_a_r = d_seen * h_prev * r * (1 - r)
    d_a = np.concatenate([d_a_r, d_a_z, d_a_n], axis=1)
    d_h_prev = d_h * (1 - z) + d_seen * r + d_a_r @ W_hr + d_a_z @ W_hz
    d_W_h = np.concatenate([d_a_r.T @ h_prev, d_a_z.T @ h_prev, d_a_n.T @ (r * h_prev)])
    return d_a @ W_x, d_h_prev, d_a.T @ x, d_W_h, d_a.sum(axis=0)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-step-backward", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Checks all five gradients, with z = 0, with r = 0, from a zero state, and with everything at once.
### AUTOTEST judge("vector.gru_step_backward", gru_step_backward)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.gru_step_backward", gru_step_backward, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-jacobian", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 4: the Jacobian of a step (4 points, 25 minutes)
#
# A gradient that goes back $k$ steps is multiplied by $k$ Jacobians. Here is one sequence, so $x$ is (D,) and $h_{t-1}$ is (H,), and the Jacobian is the matrix with $J_{ij} = \mathrm{d} h_t[i] / \mathrm{d} h_{t-1}[j]$. By the product rule it has a direct part and parts that go through the update gate and through the candidate:
#
# $$J = \operatorname{diag}(1 - z) + \operatorname{diag}(n - h_{t-1})\, \frac{\partial z}{\partial h_{t-1}} + \operatorname{diag}(z)\, \frac{\partial n}{\partial h_{t-1}}.$$
#
# The derivative of a gate is $\operatorname{diag}(s \odot (1 - s))\, W$. The candidate's is the one with something inside: it saw $r \odot h_{t-1}$, and $r$ depends on $h_{t-1}$ too. Work it out on paper; you will need it for the question below. Then write it. You can check the result without the test cell: row $i$ is what your backward step returns for the gradient of $h_{t-1}$ when $d_h$ is 1 at unit $i$ and 0 elsewhere. This exercise calls your `sigmoid`.


# %% nbgrader={"grade": false, "grade_id": "jacobian", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gru_step_jacobian(x, h_prev, W_x, W_h, b):
    """Full Jacobian of one GRU step of one sequence, with the gates depending on the state.

    Args:
        x: input (D,).
        h_prev: previous hidden state (H,).
        W_x, W_h, b: weights as in gru_step.

    Returns:
        J (H, H), with J[i, j] the derivative of the new h[i] with respect to h_prev[j].

    Example:
        >>> closed = np.repeat([0.0, -30.0, 0.0], 2)
        >>> gru_step_jacobian(np.ones(1), np.ones(2), np.zeros((6, 1)), np.zeros((6, 2)), closed).round(4).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    ### BEGIN SOLUTION
    W_hr, W_hz, W_hn = np.split(W_h, 3)
    a_r, a_z, a_n = np.split(W_x @ x + b, 3)
    r = sigmoid(a_r + W_hr @ h_prev)
    z = sigmoid(a_z + W_hz @ h_prev)
    n = np.tanh(a_n + W_hn @ (r * h_prev))
    d_z = np.diag(z * (1 - z)) @ W_hz
    d_r = np.diag(r * (1 - r)) @ W_hr
    d_seen = np.diag(r) + np.diag(h_prev) @ d_r
    d_n = np.diag(1 - n**2) @ W_hn @ d_seen
    return np.diag(1 - z) + np.diag(n - h_prev) @ d_z + np.diag(z) @ d_n
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-jacobian", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Checks the Jacobian with z = 0, z = 1, r = 0, without recurrent weights, from a zero state, and with everything.
### AUTOTEST judge("vector.gru_step_jacobian", gru_step_jacobian)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("vector.gru_step_jacobian", gru_step_jacobian, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## In your own words (4 points, 15 minutes)
#
# A person reads what you write here and gives the points. Three to six sentences, and as many formulas as you need.

# %% [markdown] nbgrader={"grade": false, "grade_id": "question-lossless", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **Question (4 points).** Write down the full Jacobian $\mathrm{d} h_t / \mathrm{d} h_{t-1}$ of the GRU with all its terms. Under which condition does a step pass the gradient on *without loss*, that is, when is the Jacobian the identity? Say what becomes of each term then, and whether $z$ being exactly 0, or $z$ being constant, is needed for it. What does the condition cost?
#
# ### BEGIN MARK SCHEME
# 1 point: all terms: diag(1 - z), the path through the update gate diag((n - h_prev) z (1 - z)) W_hz, and the path through the candidate diag(z (1 - n^2)) W_hn (diag(r) + diag(h_prev r (1 - r)) W_hr). Any layout that is used consistently.
#
# 1 point: the condition z near 0 (in PyTorch's convention z near 1): then the first term is the identity.
#
# 1 point: the other terms vanish with it: both carry a factor z, the second one z (1 - z). A sigmoid never is exactly 0, so the loss is small and not none: a factor of about 1 - z a step on the direct path. A small z that is not saturated still leaves the other two terms, in proportion to z.
#
# 1 point: the cost: at z near 0 nothing is written at that step, and the gradients of the weights vanish with z: keeping and learning something new exclude each other for that unit at that step.
# ### END MARK SCHEME

# %% [markdown] nbgrader={"grade": true, "grade_id": "words-lossless", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# J = diag(1 - z) + diag((n - h_prev) * z * (1 - z)) W_hz + diag(z * (1 - n^2)) W_hn (diag(r) + diag(h_prev * r * (1 - r)) W_hr). If z is near 0, the first term is near the identity, and the other two go to zero with it, because both have z as a factor. So the step hands the gradient on as it is. A sigmoid is never exactly 0, so the loss is not none but small, about z for each step on the direct path, and over many steps it multiplies up; z need not be constant, it only has to stay small at all the steps in between. The price is that a unit with z near 0 writes nothing at that step and gets next to no gradient for its weights: it keeps, and does not learn from what it reads.
# ### END SOLUTION
