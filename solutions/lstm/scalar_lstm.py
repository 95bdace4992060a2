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
# # The LSTM with one unit
#
# Before any matrix appears, you will build an LSTM whose input, hidden state and cell state are single numbers. At this size every gate can be set by hand and every result checked with a pocket calculator, and nothing of the mechanism is missing.
#
# You need Python's floats and the chapter *The LSTM*. Plan for 50 minutes. There are 20 points: 14 are given by the test cells, 6 for answers in your own words.
#
# Write your code where a function says `raise NotImplementedError`. Each function is followed by a test cell: run it, and it either stays silent or tells you what is not right yet. The test cells are locked; your instructor runs them again, with other numbers. To see where you stand, save the notebook and run `python -m refcells.check scalar_lstm.ipynb` in a terminal.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-sigmoid", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 1: the gate's own function (2 points, 5 minutes)
#
# A gate answers the question *how much?* with a number between 0 and 1. The function that turns any number $a$, the *pre-activation*, into such a share is the logistic sigmoid
#
# $$\sigma(a) = \frac{1}{1 + e^{-a}}.$$
#
# Typed in as it stands, it breaks: at $a = -1000$ it asks for $e^{1000}$, and no float is that large. Saturated gates are not an accident in an LSTM, they are how it remembers. So your sigmoid has to work for every float. Multiplying numerator and denominator by $e^{a}$ gives a second form of the same function; think about which of the two is safe for which sign of $a$.


# %% nbgrader={"grade": false, "grade_id": "sigmoid", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sigmoid(a):
    """Logistic sigmoid of a float, without overflow.

    Args:
        a: pre-activation, any float.

    Returns:
        A float between 0 and 1.

    Example:
        >>> round(sigmoid(1.0), 4)
        0.7311
    """
    ### BEGIN SOLUTION
    if a >= 0:
        return 1.0 / (1.0 + math.exp(-a))
    e = math.exp(a)
    return e / (1.0 + e)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-sigmoid", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks sigmoid at 0, at moderate numbers and far out, where the textbook formula overflows.
### AUTOTEST judge("scalar.sigmoid", sigmoid)
### AUTOTEST sigmoid(1.0); sigmoid(0.2); sigmoid(0.7)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("scalar.sigmoid", sigmoid, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-gates", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 2: three gates and a candidate (3 points, 10 minutes)
#
# Four numbers are computed from the same two, the input $x_t$ and the previous hidden state $h_{t-1}$:
#
# $$i = \sigma(w_{xi} x_t + w_{hi} h_{t-1} + b_i), \qquad f = \sigma(w_{xf} x_t + w_{hf} h_{t-1} + b_f),$$
# $$g = \tanh(w_{xg} x_t + w_{hg} h_{t-1} + b_g), \qquad o = \sigma(w_{xo} x_t + w_{ho} h_{t-1} + b_o).$$
#
# $i$, $f$ and $o$ are gates: shares, so they go through the sigmoid. $g$ is the candidate: content, which may be negative, so it goes through tanh. The weights come as three lists of four numbers, in PyTorch's order **i, f, g, o**. This exercise calls your `sigmoid`.


# %% nbgrader={"grade": false, "grade_id": "gates", "locked": false, "schema_version": 3, "solution": true, "task": false}
def lstm_gates(x, h_prev, w_x, w_h, b):
    """Input gate, forget gate, candidate and output gate of a one-unit LSTM.

    Args:
        x: input, a float.
        h_prev: previous hidden state, a float.
        w_x: four input weights, for i, f, g, o.
        w_h: four recurrent weights, in the same order.
        b: four biases, in the same order.

    Returns:
        (i, f, g, o), four floats.

    Example:
        >>> i, f, g, o = lstm_gates(0.0, 0.0, [1, 1, 1, 1], [1, 1, 1, 1], [0.2, 1.0, 0.9, 0.7])
        >>> round(i, 4), round(f, 4), round(g, 4), round(o, 4)
        (0.5498, 0.7311, 0.7163, 0.6682)
    """
    ### BEGIN SOLUTION
    a_i, a_f, a_g, a_o = (w_x[k] * x + w_h[k] * h_prev + b[k] for k in range(4))
    return sigmoid(a_i), sigmoid(a_f), math.tanh(a_g), sigmoid(a_o)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-gates", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks the four numbers with only the biases, only x, only h_prev, and all of them.
### AUTOTEST judge("scalar.lstm_gates", lstm_gates)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("scalar.lstm_gates", lstm_gates, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-update", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 3: keep, write, show (3 points, 5 minutes)
#
# This is the line that the LSTM was invented for:
#
# $$c_t = f\, c_{t-1} + i\, g, \qquad h_t = o \tanh(c_t).$$
#
# What is kept of the old cell state and what is written to it are *added*. The cell state itself goes through no function at all on its way to the next step; only the part that is shown, $h_t$, passes a tanh. With $f = 1$ and $i = 0$ the new cell state is the old one, to the last bit.


# %% nbgrader={"grade": false, "grade_id": "update", "locked": false, "schema_version": 3, "solution": true, "task": false}
def lstm_update(i, f, g, o, c_prev):
    """New hidden state and new cell state for given gates.

    Args:
        i: input gate, how much of the candidate is written.
        f: forget gate, how much of the old cell state is kept.
        g: candidate, what would be written.
        o: output gate, how much of the new cell state is shown.
        c_prev: old cell state.

    Returns:
        (h, c), two floats.

    Example:
        >>> h, c = lstm_update(i=0.5, f=0.5, g=1.0, o=1.0, c_prev=2.0)
        >>> c, round(h, 4)
        (1.5, 0.9051)
    """
    ### BEGIN SOLUTION
    c = f * c_prev + i * g
    h = o * math.tanh(c)
    return h, c
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-update", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Checks the update at the chapter's hand-set gates, at open and closed gates, and at random ones.
### AUTOTEST judge("scalar.lstm_update", lstm_update)
### AUTOTEST lstm_update(0.5498, 0.7311, 0.7163, 0.6682, 0.8)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("scalar.lstm_update", lstm_update, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-forward", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 4: a step, and a walk (4 points, 10 minutes)
#
# A step is the two functions above, one after the other. A walk over a sequence $x_1, \dots, x_T$ takes that step $T$ times, and each step starts from the states that the last one left. Both states are carried on: $h$ because the next gates look at it, $c$ because it is the memory. This exercise calls your `lstm_gates` and `lstm_update`.


# %% nbgrader={"grade": false, "grade_id": "forward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def lstm_step(x, h_prev, c_prev, w_x, w_h, b):
    """One time step of a one-unit LSTM.

    Args:
        x: input, a float.
        h_prev: previous hidden state.
        c_prev: previous cell state.
        w_x, w_h, b: four numbers each, for i, f, g, o.

    Returns:
        (h, c), two floats.

    Example:
        >>> h, c = lstm_step(1.2, 0.5, 0.8, [0.0] * 4, [0.0] * 4, [0.2, 1.0, 0.9, 0.7])
        >>> round(h, 4), round(c, 4)
        (0.5028, 0.9787)
    """
    ### BEGIN SOLUTION
    i, f, g, o = lstm_gates(x, h_prev, w_x, w_h, b)
    return lstm_update(i, f, g, o, c_prev)
    ### END SOLUTION


def lstm_forward(xs, w_x, w_h, b, h0=0.0, c0=0.0):
    """Walk a one-unit LSTM over a sequence.

    Args:
        xs: inputs, a list of T floats.
        w_x, w_h, b: four numbers each, for i, f, g, o.
        h0: hidden state before the first step.
        c0: cell state before the first step.

    Returns:
        (hs, cs), two lists of T floats: the states after each step.

    Example:
        >>> hs, cs = lstm_forward([1.0, 0.0], [0.0] * 4, [0.0] * 4, [0.0, 0.0, 1.0, 0.0])
        >>> [round(c, 4) for c in cs]
        [0.3808, 0.5712]
    """
    ### BEGIN SOLUTION
    h, c = h0, c0
    hs, cs = [], []
    for x in xs:
        h, c = lstm_step(x, h, c, w_x, w_h, b)
        hs.append(h)
        cs.append(c)
    return hs, cs
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-step", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks one step with zero states, with saturated gates, and with everything at once.
### AUTOTEST judge("scalar.lstm_step", lstm_step)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("scalar.lstm_step", lstm_step, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test-forward", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks a short sequence, from zero and from other initial states.
### AUTOTEST judge("scalar.lstm_forward", lstm_forward)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("scalar.lstm_forward", lstm_forward, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-half", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## Exercise 5: how long does a gate hold? (2 points, 10 minutes)
#
# Suppose nothing is written any more ($i = 0$) and the forget gate stays where it is, at $f = \sigma(a_f)$. After $n$ steps $f^n$ of the cell state is left. Count the steps until *at most half* is left: the smallest whole number $n$ with $f^n \le \tfrac12$.
#
# The numbers are worth remembering. A fresh LSTM has forget gates with $a_f$ near 0; the usual remedy, a forget bias of 1, has $a_f$ near 1. This exercise calls your `sigmoid`.


# %% nbgrader={"grade": false, "grade_id": "half", "locked": false, "schema_version": 3, "solution": true, "task": false}
def steps_to_half(a_f):
    """Number of steps until a constant forget gate has let at least half of the cell state go.

    Args:
        a_f: pre-activation of the forget gate, a float.

    Returns:
        The smallest int n with sigmoid(a_f) ** n <= 0.5.

    Example:
        >>> steps_to_half(0.0)
        1
    """
    ### BEGIN SOLUTION
    f = sigmoid(a_f)
    n = 0
    while f**n > 0.5:
        n += 1
    return n
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test-half", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Checks whole numbers of steps; the first three answers are hidden behind a hash.
### AUTOTEST judge("scalar.steps_to_half", steps_to_half)
### HASHED AUTOTEST steps_to_half(1.0); steps_to_half(3.0); steps_to_half(5.0)
### BEGIN HIDDEN TESTS
### AUTOTEST judge("scalar.steps_to_half", steps_to_half, seed=HIDDEN_SEED)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": false, "grade_id": "lead-words", "locked": true, "schema_version": 3, "solution": false, "task": false}
# ## In your own words (6 points, 10 minutes)
#
# A person reads what you write here and gives the points. Two to five sentences are enough.

# %% [markdown] nbgrader={"grade": false, "grade_id": "question-content-control", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **Question 1 (3 points).** The product $i\,g$ is a single number in the end. Why does the LSTM compute it from two: what does each of them decide, and what could a cell with only one of them not do as easily?
#
# ### BEGIN MARK SCHEME
# 1 point: g is content (what would be written, with its sign), i is control (how much of it, between 0 and 1).
#
# 1 point: both depend on x and h and could be merged in principle; keeping them apart is a choice of parameterisation.
#
# 1 point: an example of what the split makes easy, such as leaving the memory alone at a step whatever the candidate is (i near 0), without having to drive the content itself to 0. Claiming that the two are statistically independent, or that a merged cell could not represent the same functions, costs this point.
# ### END MARK SCHEME

# %% [markdown] nbgrader={"grade": true, "grade_id": "words-content-control", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# The candidate g is what would be written, a number with a sign; the input gate i is how much of it, a share between 0 and 1. One unit could compute the product directly, since both come from the same x and h, so the split is a choice of how to parameterise the cell and not a necessity. It makes one thing easy: at a step that does not matter the cell closes i and leaves its memory alone, whatever the candidate happens to be. A single merged number would have to become 0 exactly there, by the same weights that decide its content everywhere else.
# ### END SOLUTION

# %% [markdown] nbgrader={"grade": false, "grade_id": "question-two-states", "locked": true, "schema_version": 3, "solution": false, "task": false}
# **Question 2 (3 points).** Use your answers to exercise 5: what happens in 20 steps to something that a fresh LSTM with $a_f = 0$ has stored, and what with $a_f = 5$? Does either number say what the LSTM can learn to do?
#
# ### BEGIN MARK SCHEME
# 1 point: a_f = 0 keeps 0.5 per step, about one millionth after 20 steps.
#
# 1 point: a_f = 5 keeps 0.9933 per step, about 87 percent after 20 steps (half after 104).
#
# 1 point: no: these are the gates at the start. Training can move the gate, the gate depends on x and h, and what is learnt also depends on the learning rate.
# ### END MARK SCHEME

# %% [markdown] nbgrader={"grade": true, "grade_id": "words-two-states", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# With a_f = 0 the gate keeps half at each step, so after 20 steps about one millionth is left; with a_f = 5 it keeps 0.9933 a step and about 87 percent after 20. Neither number says what can be learnt. They describe the gate before training: training can open it, and while the sequence runs it moves with x and h. How fast that happens depends on the learning rate too.
# ### END SOLUTION
