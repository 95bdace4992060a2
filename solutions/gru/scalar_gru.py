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
# # The GRU with one unit
#
# The LSTM has two gates that often do opposite things: one keeps, one writes. The GRU makes them one. You will build it with a single unit, where each gate is one number, and then ask what a blend does to a memory over many steps.
#
# You need Python's floats and the chapter *The GRU*. Plan for 55 minutes. There are 22 points: 16 are given by the test cells, 6 for answers in your own words.
#
# Write your code where a function says `raise NotImplementedError`. Each function is followed by a test cell: run it, and it either stays silent or tells you what is not right yet. The test cells are locked; your instructor runs them again, with other numbers. To see where you stand, save the notebook and run `python -m refcells.check scalar_gru.ipynb` in a terminal.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-gates", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 1: two gates (3 points, 10 minutes)
#
# Both gates are computed from the same two numbers, the input $x_t$ and the previous hidden state $h_{t-1}$:
#
# $$r = \sigma(w_{xr} x_t + w_{hr} h_{t-1} + b_r), \qquad z = \sigma(w_{xz} x_t + w_{hz} h_{t-1} + b_z).$$
#
# The reset gate $r$ says how much of the past the new content may look at. The update gate $z$ says how much of the new content is written. The weights come as three lists of three numbers, in PyTorch's order **r, z, n**; the third belongs to the candidate, which is the next exercise.
#
# A saturated gate is how a memory is kept, so the sigmoid has to work for every float, at $a = -1000$ too. If you have solved the LSTM's first notebook, yours from there will do.


# %% nbgrader={"grade": false, "grade_id": "gates", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sigmoid(a):
    """Logistic sigmoid of a float, without overflow.

    Args:
        a: pre-activation, any float.

    Returns:
        A float between 0 and 1.

    Example:
        >>> round(sigmoid(-0.5), 4)
        0.3775
    """
    ### BEGIN SOLUTION
    if a >= 0:
        return 1.0 / (1.0 + math.exp(-a))
    e = math.exp(a)
    return e / (1.0 + e)
    ### END SOLUTION


def gru_gates(x, h_prev, w_x, w_h, b):
    """Reset gate and update gate of a one-unit GRU.

    Args:
        x: input, a float.
        h_prev: previous hidden state, a float.
        w_x: three input weights, for r, z, n.
        w_h: three recurrent weights, in the same order.
        b: three biases, in the same order.

    Returns:
        (r, z), two floats.

    Example:
        >>> r, z = gru_gates(0.0, 0.0, [1, 1, 1], [1, 1, 1], [-1.0, 2.0, 0.0])
        >>> round(r, 4), round(z, 4)
        (0.2689, 0.8808)
    """
    ### BEGIN SOLUTION
    a_r = w_x[0] * x + w_h[0] * h_prev + b[0]
    a_z = w_x[1] * x + w_h[1] * h_prev + b[1]
    return sigmoid(a_r), sigmoid(a_z)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-sigmoid", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Checks sigmoid at 0, at moderate numbers and far out, where the textbook formula overflows.
### AUTOTEST judge("scalar.sigmoid", sigmoid)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("scalar.sigmoid", sigmoid, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test-gates", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks both gates with only the biases, only x, only h_prev, and all of them.
### AUTOTEST judge("scalar.gru_gates", gru_gates)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("scalar.gru_gates", gru_gates, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-candidate", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 2: a candidate that may look away (2 points, 5 minutes)
#
# A plain RNN always computes its new state from the whole old one. The GRU's candidate sees only the share $r$ of it:
#
# $$n = \tanh\bigl(w_{xn} x_t + w_{hn} (r\, h_{t-1}) + b_n\bigr).$$
#
# At $r = 0$ the candidate is what a unit without a past would compute, at $r = 1$ it is the plain RNN's. The reset gate multiplies the old state and nothing else: not the input, and not the bias. (With one unit $w (r h)$ and $r (w h)$ are the same number. With several they are not, and libraries differ; that is the next notebook's business.)


# %% nbgrader={"grade": false, "grade_id": "candidate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gru_candidate(x, h_prev, r, w_x, w_h, b):
    """Candidate of a one-unit GRU: what would be written.

    Args:
        x: input, a float.
        h_prev: previous hidden state, a float.
        r: reset gate, how much of h_prev the candidate sees.
        w_x, w_h, b: three numbers each, for r, z, n; only the last of each is used.

    Returns:
        n, a float between -1 and 1.

    Example:
        >>> round(gru_candidate(1.0, 0.5, 0.0, [0, 0, 0.8], [0, 0, 2.0], [0, 0, 0.1]), 4)
        0.7163
    """
    ### BEGIN SOLUTION
    return math.tanh(w_x[2] * x + w_h[2] * (r * h_prev) + b[2])
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-candidate", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks the candidate with single terms, with the past reset (r = 0), with r = 1, and with everything.
### AUTOTEST judge("scalar.gru_candidate", gru_candidate)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("scalar.gru_candidate", gru_candidate, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-blend", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 3: a blend, and its two conventions (4 points, 10 minutes)
#
# The new state lies between the old state and the candidate:
#
# $$h_t = (1 - z)\, h_{t-1} + z\, n.$$
#
# In this course $z$ is the share that is *written*, as in Chung et al. (2014). In Cho et al. (2014), PyTorch, Keras and ONNX it is the share that is *kept*: $h_t = z\, h_{t-1} + (1 - z)\, n$. Both are the same family of cells, but weights trained for one are wrong for the other.
#
# Write the blend in this course's convention. Then convert weights: given `w_x`, `w_h`, `b` for one convention, return those with which a cell of the *other* convention computes the same function. Two things help: $1 - \sigma(a) = \sigma(-a)$, and only one of the three blocks means something else in the other convention. The same function converts in both directions.


# %% nbgrader={"grade": false, "grade_id": "blend", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gru_update(z, n, h_prev):
    """New hidden state for a given update gate; z is the share that is written.

    Args:
        z: update gate.
        n: candidate.
        h_prev: old hidden state.

    Returns:
        The new hidden state, a float.

    Example:
        >>> gru_update(z=0.25, n=1.0, h_prev=0.0)
        0.25
    """
    ### BEGIN SOLUTION
    return (1 - z) * h_prev + z * n
    ### END SOLUTION


def convert_update_gate(w_x, w_h, b):
    """Weights of the same function for a GRU whose z is read the other way round.

    Args:
        w_x, w_h, b: lists of three numbers, for r, z, n. They are left as they are.

    Returns:
        (w_x, w_h, b): three new lists of three numbers.

    Example:
        >>> w_x, w_h, b = convert_update_gate([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0])
        >>> w_x[0], w_h[0], b[2]
        (1.0, 4.0, 9.0)
    """
    ### BEGIN SOLUTION
    return (
        [w_x[0], -w_x[1], w_x[2]],
        [w_h[0], -w_h[1], w_h[2]],
        [b[0], -b[1], b[2]],
    )
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-update", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks the blend with nothing written (z = 0), everything written (z = 1), and something between.
### AUTOTEST judge("scalar.gru_update", gru_update)
### AUTOTEST gru_update(0.75, -0.4, 0.8)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("scalar.gru_update", gru_update, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test-convert", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks all nine converted numbers, for weights of 1 and for random ones.
### AUTOTEST judge("scalar.convert_update_gate", convert_update_gate)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("scalar.convert_update_gate", convert_update_gate, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-forward", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 4: a step, and a walk (4 points, 10 minutes)
#
# A step is gates, candidate, blend, one after the other. Both uses of the old state are easy to mix up: the candidate sees $r\,h_{t-1}$, the blend keeps a share of $h_{t-1}$ itself. A walk over a sequence $x_1, \dots, x_T$ takes $T$ steps, each from the state that the last one left. This exercise calls your `gru_gates`, `gru_candidate` and `gru_update`.


# %% nbgrader={"grade": false, "grade_id": "forward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gru_step(x, h_prev, w_x, w_h, b):
    """One time step of a one-unit GRU.

    Args:
        x: input, a float.
        h_prev: previous hidden state.
        w_x, w_h, b: three numbers each, for r, z, n.

    Returns:
        The new hidden state, a float.

    Example:
        >>> round(gru_step(1.0, 0.5, [0.0] * 3, [0.0] * 3, [0.0, 0.0, 1.0]), 4)
        0.6308
    """
    ### BEGIN SOLUTION
    r, z = gru_gates(x, h_prev, w_x, w_h, b)
    n = gru_candidate(x, h_prev, r, w_x, w_h, b)
    return gru_update(z, n, h_prev)
    ### END SOLUTION


def gru_forward(xs, w_x, w_h, b, h0=0.0):
    """Walk a one-unit GRU over a sequence.

    Args:
        xs: inputs, a list of T floats.
        w_x, w_h, b: three numbers each, for r, z, n.
        h0: hidden state before the first step.

    Returns:
        A list of T floats: the hidden state after each step.

    Example:
        >>> hs = gru_forward([1.0, 0.0], [0.0] * 3, [0.0] * 3, [0.0, 0.0, 1.0])
        >>> [round(h, 4) for h in hs]
        [0.3808, 0.5712]
    """
    ### BEGIN SOLUTION
    h = h0
    hs = []
    for x in xs:
        h = gru_step(x, h, w_x, w_h, b)
        hs.append(h)
    return hs
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-step", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks one step from a zero state, with each gate saturated, and with everything at once.
### AUTOTEST judge("scalar.gru_step", gru_step)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("scalar.gru_step", gru_step, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test-forward", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks a short sequence, from zero and from another initial state.
### AUTOTEST judge("scalar.gru_forward", gru_forward)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("scalar.gru_forward", gru_forward, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-shares", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 5: what a state is made of (3 points, 10 minutes)
#
# Put the blend into itself a few times, and the state after $T$ steps is a weighted sum of everything that came before:
#
# $$h_T = s_0\, h_0 + s_1\, n_1 + s_2\, n_2 + \dots + s_T\, n_T.$$
#
# Candidate $n_t$ enters with the share $z_t$, and every later step keeps $1 - z$ of what is there. Given the update gates $z_1, \dots, z_T$, compute the shares $s_0, \dots, s_T$. Add your results up for some lists of your own: the sum is always the same number, and that is what *convex combination* means. This exercise needs none of the others.


# %% nbgrader={"grade": false, "grade_id": "shares", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gru_shares(zs):
    """Shares of the initial state and of each candidate in the last hidden state.

    Args:
        zs: update gates, a list of T floats between 0 and 1.

    Returns:
        A list of T + 1 floats: the share of h_0, then those of n_1, ..., n_T.

    Example:
        >>> gru_shares([0.5, 0.5, 0.5])
        [0.125, 0.125, 0.25, 0.5]
    """
    ### BEGIN SOLUTION
    shares = [1.0]
    for z in zs:
        shares = [(1 - z) * share for share in shares]
        shares.append(z)
    return shares
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-shares", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks the shares after one, two and five steps, with a closed gate and with one that writes everything.
### AUTOTEST judge("scalar.gru_shares", gru_shares)
### AUTOTEST gru_shares([0.25, 0.5])
### BEGIN HIDDEN TESTS
### AUTOTEST judge("scalar.gru_shares", gru_shares, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## In your own words (6 points, 10 minutes)
#
# A person reads what you write here and gives the points. Two to five sentences are enough.

# %% [markdown] nbgrader={"grade": false, "grade_id": "question-finer-control", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **Question 1 (3 points).** It is often said that the GRU gives *finer control of the information flow* than a plain RNN. Say in your own words what is controlled, by which gate, and what *finer* means here. Give one situation, in a sentence or a signal, where the reset gate should be near 0, and one where the update gate should be.
#
# ### BEGIN MARK SCHEME
# 1 point: r controls what the candidate sees of the past, z how much of the candidate is written and, by the same number, how much of the old state is kept.
#
# 1 point: finer means that both are decided anew at each time step, from input and state, for each unit by itself (and between 0 and 1); a plain RNN uses the same weights on the whole past at every step.
#
# 1 point: a fitting example for each: r near 0 at a new beginning (a full stop, a change of topic), where the new content should not depend on the old; z near 0 at a step that does not matter (a filler word, noise), where the memory should stay.
# ### END MARK SCHEME

# %% [markdown] nbgrader={"grade": true, "grade_id": "words-finer-control", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# The reset gate decides how much of the past goes into the new content, the update gate how much of that content is written, and with it how much of the old state stays. A plain RNN has no such choice: at every step the whole old state goes through the same weights. Finer means that the two shares are computed anew at each step, from what is read and what is remembered, and for each unit by itself. At a full stop r may be near 0, since the next sentence begins something new. At a filler word z should be near 0: nothing is worth writing, so the state is left as it is.
# ### END SOLUTION

# %% [markdown] nbgrader={"grade": false, "grade_id": "question-counting", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **Question 2 (3 points).** The shares of exercise 5 add up to 1. Which values can $h_T$ take, then, if $h_0 = 0$ and all candidates lie between $-1$ and 1? Compare with an LSTM's cell state at $f = i = 1$: what can it do over many steps that this state cannot, and what does the GRU get in return for its single gate?
#
# ### BEGIN MARK SCHEME
# 1 point: a weighted mean of numbers between -1 and 1 (and of 0) stays between -1 and 1, for any number of steps.
#
# 1 point: with f = i = 1 the LSTM's cell state adds up what is written, so it can count or accumulate beyond 1.
#
# 1 point: in return: fewer parameters (three blocks instead of four), or a state that stays bounded by construction, or keeping and writing that cannot contradict each other. Claiming that the GRU is better or worse in general costs this point.
# ### END MARK SCHEME

# %% [markdown] nbgrader={"grade": true, "grade_id": "words-counting", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# The state is a weighted mean of the candidates and of the initial state, so it stays between -1 and 1, however long the sequence is. An LSTM with f = i = 1 keeps everything and adds everything: its cell state can grow step by step and count. The GRU cannot, because writing more means keeping less. In return it needs three blocks of weights instead of four, and its state can never run away, so it needs no second tanh in front of what it shows.
# ### END SOLUTION
