"""Nine students hand in the LSTM assignment: one is right, one hands in the release, seven make real mistakes."""

from classroom.students.kinds import Edit, Student, student

STUDENTS = [
    student("perfect"),
    Student("untouched", words=None, blank=True),
    student(
        "h-without-tanh",
        Edit("scalar_lstm", "update", "h = o * math.tanh(c)", "h = o * c"),
        Edit("vector_lstm", "step", "h = o * np.tanh(c)", "h = o * c"),
        loses=(
            "scalar_lstm/test-update",
            "scalar_lstm/test-step",
            "scalar_lstm/test-forward",
            "vector_lstm/test-step",
            "vector_lstm/test-extremes",
            "vector_lstm/test-forward",
            # BPTT recomputes the states with the wrong step.
            "vector_lstm/test-backward",
        ),
        words=0.5,
    ),
    student(
        "gates-swapped",
        Edit("scalar_lstm", "gates", "a_i, a_f, a_g, a_o = (", "a_f, a_i, a_g, a_o = ("),
        Edit("torch_lstm", "cell", "a_i, a_f, a_g, a_o = a.chunk", "a_f, a_i, a_g, a_o = a.chunk"),
        loses=(
            "scalar_lstm/test-gates",
            "scalar_lstm/test-step",
            "scalar_lstm/test-forward",
            "torch_lstm/test-cell",
            "torch_lstm/test-gradients",
        ),
    ),
    student(
        "state-not-carried",
        Edit("scalar_lstm", "forward", "h, c = lstm_step(x, h, c, w_x", "h, c = lstm_step(x, h0, c0, w_x"),
        Edit("vector_lstm", "forward", "lstm_step(x[:, t], h, c, W_x", "lstm_step(x[:, t], h0, c0, W_x"),
        Edit("torch_lstm", "unroll", "cell(x[:, t], (h, c))", "cell(x[:, t], state)"),
        loses=(
            "scalar_lstm/test-forward",
            "vector_lstm/test-forward",
            "torch_lstm/test-unroll",
            # The stack walks with the wrong unroll.
            "torch_lstm/test-stack",
        ),
    ),
    student(
        "gradient-not-accumulated",
        Edit("vector_lstm", "step-backward", "delta = d_c + d_h * o", "delta = d_h * o"),
        Edit("vector_lstm", "backward", "d_W_h += step[4]", "d_W_h = step[4]"),
        loses=("vector_lstm/test-step-backward", "vector_lstm/test-backward"),
        words=0.75,
    ),
    student(
        "sigmoid-overflows",
        Edit(
            "scalar_lstm",
            "sigmoid",
            "if a >= 0:\n        return 1.0 / (1.0 + math.exp(-a))\n    e = math.exp(a)\n    return e / (1.0 + e)",
            "return 1.0 / (1.0 + math.exp(-a))",
        ),
        Edit("vector_lstm", "step", "return 0.5 * (1.0 + np.tanh(0.5 * a))", "return 1 / (1 + np.exp(-a))"),
        loses=("scalar_lstm/test-sigmoid", "vector_lstm/test-extremes"),
        words=0.0,
    ),
    student(
        "clipped-too-late",
        Edit(
            "torch_lstm",
            "train",
            "nn.utils.clip_grad_norm_(model.parameters(), clip)\n    optimizer.step()",
            "optimizer.step()\n    nn.utils.clip_grad_norm_(model.parameters(), clip)",
        ),
        Edit(
            "torch_lstm",
            "bias",
            'gate_block(bias_hh, "f").fill_(0.0)',
            'gate_block(bias_hh, "f").fill_(value)',
        ),
        loses=("torch_lstm/test-train", "torch_lstm/test-bias"),
        words=None,
    ),
    student(
        "blocks-in-another-order",
        Edit("vector_lstm", "stack", "[i, f, g, o]", "[i, o, f, g]"),
        Edit("vector_lstm", "step", "a_i, a_f, a_g, a_o = np.split", "a_i, a_o, a_f, a_g = np.split"),
        loses=(
            "vector_lstm/test-stack",
            "vector_lstm/test-step",
            "vector_lstm/test-extremes",
            "vector_lstm/test-forward",
            "vector_lstm/test-backward",
        ),
    ),
]

FEEDBACK = [
    ("gates-swapped", "scalar_lstm", "the input gate and the forget gate are swapped"),
    ("h-without-tanh", "vector_lstm", "h is o * c, without the tanh"),
    ("gradient-not-accumulated", "vector_lstm", "the gradient of c takes the path through h alone"),
    ("sigmoid-overflows", "vector_lstm", "overflow encountered in exp"),
    ("clipped-too-late", "torch_lstm", "or only after optimizer.step()"),
    ("untouched", "torch_lstm", "it is not written yet"),
]
