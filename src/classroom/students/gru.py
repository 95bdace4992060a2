"""Five students hand in the GRU assignment: one is right, one hands in the release, three make real mistakes."""

from classroom.students.kinds import Edit, Student, student

STUDENTS = [
    student("perfect"),
    Student("untouched", words=None, blank=True),
    student(
        "z-the-other-way",
        Edit("scalar_gru", "blend", "return (1 - z) * h_prev + z * n", "return z * h_prev + (1 - z) * n"),
        Edit("vector_gru", "step", "return (1 - z) * h_prev + z * n", "return z * h_prev + (1 - z) * n"),
        loses=(
            "scalar_gru/test-update",
            "scalar_gru/test-step",
            "scalar_gru/test-forward",
            "vector_gru/test-step",
            "vector_gru/test-extremes",
            "vector_gru/test-forward",
        ),
        words=0.5,
    ),
    student(
        "pytorch-from-memory",
        Edit("vector_gru", "step", "(r * h_prev) @ W_hn.T + b_n)", "r * (h_prev @ W_hn.T) + b_n)"),
        Edit("scalar_gru", "gates", "return sigmoid(a_r), sigmoid(a_z)", "return sigmoid(a_z), sigmoid(a_r)"),
        Edit("torch_gru", "cell", "return (1 - z) * n + z * h_prev", "return (1 - z) * h_prev + z * n"),
        Edit(
            "torch_gru",
            "convert",
            "b_xn])\n    return W_x, W_h, b, b_hn.clone()",
            "b_xn + b_hn])\n    return W_x, W_h, b, b_hn.clone()",
        ),
        loses=(
            "torch_gru/test-cell",
            "torch_gru/test-gradients",
            "torch_gru/test-from",
            "vector_gru/test-step",
            "vector_gru/test-forward",
            "scalar_gru/test-gates",
            "scalar_gru/test-step",
            "scalar_gru/test-forward",
        ),
    ),
    student(
        "paths-forgotten",
        Edit("vector_gru", "step-backward", " + d_a_r @ W_hr + d_a_z @ W_hz", ""),
        Edit("vector_gru", "jacobian", "np.diag(r) + np.diag(h_prev) @ d_r", "np.diag(r)"),
        Edit(
            "torch_gru",
            "compare",
            "        redraw(model, generator)\n        set_keep_bias(layer.bias_ih_l0, layer.bias_hh_l0, blocks, bias)",
            "        set_keep_bias(layer.bias_ih_l0, layer.bias_hh_l0, blocks, bias)\n        redraw(model, generator)",
        ),
        loses=("vector_gru/test-step-backward", "vector_gru/test-jacobian", "torch_gru/test-compare"),
        words=None,
    ),
]

FEEDBACK = [
    ("z-the-other-way", "scalar_gru", "in this course it is the share that is written"),
    ("pytorch-from-memory", "vector_gru", "the reset gate is applied after the matrix product"),
    ("paths-forgotten", "vector_gru", "lacks the paths through the two gates"),
    ("pytorch-from-memory", "torch_gru", "two cannot be one number"),
    ("paths-forgotten", "torch_gru", "set before redraw"),
    ("untouched", "vector_gru", "it is not written yet"),
]
