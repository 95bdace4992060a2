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
        loses=(
            "vector_gru/test-step",
            "vector_gru/test-extremes",
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
        loses=("vector_gru/test-step-backward", "vector_gru/test-jacobian"),
        words=None,
    ),
]

FEEDBACK = [
    ("z-the-other-way", "scalar_gru", "in this course it is the share that is written"),
    ("pytorch-from-memory", "vector_gru", "the reset gate is applied after the matrix product"),
    ("paths-forgotten", "vector_gru", "lacks the paths through the two gates"),
    ("untouched", "vector_gru", "it is not written yet"),
]
