"""Five students hand in the BPTT assignment: one is right, one hands in the release, three make real mistakes."""

from classroom.students.kinds import Edit, Student, student

STUDENTS = [
    student("perfect"),
    Student("untouched", words=None, blank=True),
    student(
        "later-steps-forgotten",
        Edit("bptt", "backward", "d_h + d_output[:, t], x[:, t]", "d_output[:, t], x[:, t]"),
        Edit("bptt", "jacobian", "(1 - h**2)[:, None] * W_h", "(1 - h**2) * W_h"),
        Edit("truncated_bptt", "chunks", "state = state.detach()", "state = None"),
        loses=(
            "bptt/test-backward",
            "bptt/test-jacobian",
            "bptt/test-norms",
            "truncated_bptt/test-chunks",
            "truncated_bptt/test-last",
        ),
        words=0.5,
    ),
    student(
        "not-accumulated",
        Edit("bptt", "step-backward", "d_a = d_h * (1 - h**2)", "d_a = d_h * (1 - np.tanh(h) ** 2)"),
        Edit("bptt", "check", "/ (2 * eps)", "/ eps"),
        Edit("truncated_bptt", "train", "        optimizer.zero_grad()\n", ""),
        loses=(
            "bptt/test-step-backward",
            # BPTT calls the step's backward pass.
            "bptt/test-backward",
            "bptt/test-numeric",
            "truncated_bptt/test-train",
        ),
    ),
    student(
        "detach-dropped",
        Edit("bptt", "backward", "d_W_h += step[3]", "d_W_h = step[3]"),
        Edit("truncated_bptt", "chunks", "state = state.detach()", "state.detach()"),
        Edit("truncated_bptt", "train", "state = state.detach()", "state.detach()"),
        loses=(
            "bptt/test-backward",
            "truncated_bptt/test-chunks",
            "truncated_bptt/test-last",
            "truncated_bptt/test-train",
        ),
        words=None,
    ),
]

FEEDBACK = [
    ("later-steps-forgotten", "bptt", "the gradient of h_prev is not carried to the step before"),
    ("later-steps-forgotten", "bptt", "the derivatives of tanh scale the columns"),
    ("later-steps-forgotten", "truncated_bptt", "every chunk starts from a state of zero"),
    ("not-accumulated", "bptt", "the derivative is taken at the state's value"),
    ("not-accumulated", "bptt", "the difference is divided by eps"),
    ("not-accumulated", "truncated_bptt", "each update also repeats the ones before it"),
    ("detach-dropped", "bptt", "the gradient of W_h is that of one step alone"),
    ("detach-dropped", "truncated_bptt", "state.detach() alone changes nothing"),
    ("untouched", "bptt", "it is not written yet"),
]
