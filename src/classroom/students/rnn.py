"""Five students hand in the RNN assignment: one is right, one hands in the release, three make real mistakes."""

from classroom.students.kinds import Edit, Student, student

STUDENTS = [
    student("perfect"),
    Student("untouched", words=None, blank=True),
    student(
        "state-not-carried",
        Edit("vector_rnn", "forward", "rnn_step(x[:, t], h, W_x", "rnn_step(x[:, t], h0, W_x"),
        Edit("torch_rnn", "unroll", "h = cell(x[:, t], h)", "h = cell(x[:, t], h0)"),
        loses=("vector_rnn/test-forward", "torch_rnn/test-unroll"),
        words=0.5,
    ),
    student(
        "moves-in-the-padding",
        Edit("vector_rnn", "padded", "h = np.where(alive, new, h)", "h = new"),
        Edit("vector_rnn", "output", "output[np.arange(len(output)), lengths - 1]", "output[:, -1]"),
        Edit("torch_rnn", "loss", "(1, 2), targets)", "(1, 2), targets.clamp(min=0))"),
        loses=("vector_rnn/test-padded", "vector_rnn/test-last", "torch_rnn/test-loss"),
    ),
    student(
        "reshape-for-a-transpose",
        Edit(
            "vector_rnn",
            "forward",
            "np.stack(output, axis=1)",
            "np.array(output).reshape(len(x), -1, len(b))",
        ),
        Edit(
            "torch_rnn",
            "loss",
            "scores.transpose(1, 2)",
            "scores.view(len(scores), scores.shape[2], -1)",
        ),
        loses=("vector_rnn/test-forward", "torch_rnn/test-loss"),
        words=None,
    ),
]

FEEDBACK = [
    ("state-not-carried", "vector_rnn", "every step starts from the initial state again"),
    ("state-not-carried", "torch_rnn", "every step starts from the initial state again"),
    ("moves-in-the-padding", "vector_rnn", "A padding of zeros is not neutral"),
    ("moves-in-the-padding", "vector_rnn", "the last column is read, which is padding"),
    ("moves-in-the-padding", "torch_rnn", "the padded steps count too, as class 0"),
    ("reshape-for-a-transpose", "vector_rnn", "by reshape; that mixes sequences"),
    ("reshape-for-a-transpose", "torch_rnn", "by reshape or view, which mixes steps and classes"),
    ("untouched", "torch_rnn", "it is not written yet"),
]
