"""Questions about what a GRU's update gate means: its two conventions, and the shares that a walk leaves of each step."""

import random
from collections.abc import Sequence

from refcells.autotest.compare import Output
from refcells.autotest.mistakes import mistake
from refcells.autotest.verdict import Case, Question

Numbers = list[float]


def convert_update_gate(
    w_x: Sequence[float], w_h: Sequence[float], b: Sequence[float]
) -> tuple[Numbers, Numbers, Numbers]:
    """Weights of the same function for a GRU whose z is read the other way round: z's three numbers negated."""
    sign = (1, -1, 1)
    new_w_x = [s * w for s, w in zip(sign, w_x, strict=True)]
    new_w_h = [s * w for s, w in zip(sign, w_h, strict=True)]
    new_b = [s * w for s, w in zip(sign, b, strict=True)]
    return new_w_x, new_w_h, new_b


def gru_shares(zs: Sequence[float]) -> Numbers:
    """What h_T is made of: the shares of h_0 and of each candidate n_1, ..., n_T; they add up to 1."""
    shares = [1.0]
    for z in zs:
        shares = [(1 - z) * share for share in shares] + [z]
    return shares


# --- cases ----------------------------------------------------------------------------------------------------------


def _convert_cases(seed: int) -> list[Case]:
    rng = random.Random(seed)

    def three() -> Numbers:
        return [rng.choice((-1, 1)) * rng.uniform(0.3, 1.2) for _ in range(3)]

    return [
        Case("weights of 1", ([1.0] * 3, [1.0] * 3, [1.0] * 3)),
        Case("random weights", (three(), three(), three())),
        Case("other random weights", (three(), three(), three())),
    ]


def _shares_cases(seed: int) -> list[Case]:
    rng = random.Random(seed)
    zs = [rng.uniform(0.1, 0.4) for _ in range(5)]
    return [
        Case("a single step", ([rng.uniform(0.6, 0.9)],)),
        Case("two steps", (zs[:2],)),
        Case("a gate that stays closed", ([0.0] * 3,)),
        Case("a step at which everything is written", ([zs[0], 1.0, zs[1]],)),
        Case("five steps", (zs,)),
    ]


# --- mistakes -------------------------------------------------------------------------------------------------------

_SIGN = "sign = (1, -1, 1)"
_X, _H, _B = (f"[s * w for s, w in zip(sign, {name}, strict=True)]" for name in ("w_x", "w_h", "b"))

CONVERT_MISTAKES = (
    mistake(
        "nothing changed",
        "the weights come back as they were; z has to become 1 - z, and 1 - sigmoid(a) is sigmoid(-a).",
        "keras#785",
        convert_update_gate,
        (_SIGN, "sign = (1, 1, 1)"),
    ),
    mistake(
        "bias alone",
        "only z's bias is negated; its whole pre-activation has to change sign, the two weights too.",
        "keras#785",
        convert_update_gate,
        (_X, "list(w_x)"),
        (_H, "list(w_h)"),
    ),
    mistake(
        "bias forgotten",
        "z's weights are negated and its bias is not; the whole pre-activation has to change sign.",
        "keras#785",
        convert_update_gate,
        (_B, "list(b)"),
    ),
    mistake(
        "one minus the weights",
        "z's weights w became 1 - w. It is the gate's value that becomes 1 - z, and the gate is the sigmoid of its "
        "pre-activation.",
        "ageron/handson-ml#563",
        convert_update_gate,
        (_X, "[w_x[0], 1 - w_x[1], w_x[2]]"),
        (_H, "[w_h[0], 1 - w_h[1], w_h[2]]"),
        (_B, "[b[0], 1 - b[1], b[2]]"),
    ),
    mistake(
        "everything negated",
        "all three blocks are negated; the reset gate and the candidate mean the same in both conventions.",
        "keras#785",
        convert_update_gate,
        (_SIGN, "sign = (-1, -1, -1)"),
    ),
    mistake(
        "both gates negated",
        "the reset gate is negated too; it means the same in both conventions.",
        "keras#785",
        convert_update_gate,
        (_SIGN, "sign = (-1, -1, 1)"),
    ),
    mistake(
        "reset gate negated",
        "the first block is negated, which is the reset gate's; the update gate's is the second.",
        "distillpub/post--memorization-in-rnns#24",
        convert_update_gate,
        (_SIGN, "sign = (-1, 1, 1)"),
    ),
    mistake(
        "candidate negated",
        "the third block is negated, which is the candidate's; the update gate's is the second.",
        "distillpub/post--memorization-in-rnns#24",
        convert_update_gate,
        (_SIGN, "sign = (1, 1, -1)"),
    ),
    mistake(
        "r and z exchanged",
        "the blocks of the two gates are exchanged; the order stays r, z, n, and z's block changes sign.",
        "distillpub/post--memorization-in-rnns#24",
        convert_update_gate,
        (_X, "[w_x[1], w_x[0], w_x[2]]"),
        (_H, "[w_h[1], w_h[0], w_h[2]]"),
        (_B, "[b[1], b[0], b[2]]"),
    ),
)

_FADE = "shares = [(1 - z) * share for share in shares] + [z]"

SHARES_MISTAKES = (
    mistake(
        "z reversed",
        "z is taken to be the share that is kept. That is right in the convention of PyTorch, Keras and Cho et al.; in "
        "this course z is the share that is written.",
        "ageron/handson-ml#563, keras#785",
        gru_shares,
        (_FADE, "shares = [z * share for share in shares] + [1 - z]"),
    ),
    mistake(
        "fading left out",
        "each candidate has the share z of its own step; later steps keep only the share 1 - z of that.",
        "mquad/hgru4rec#11",
        gru_shares,
        (_FADE, "shares = [(1 - z) * shares[0], *shares[1:], z]"),
    ),
    mistake(
        "faded by its own gate",
        "each candidate is also multiplied by 1 - z of its own step; it fades from the next step on.",
        "the exercise",
        gru_shares,
        (_FADE, "shares = [(1 - z) * share for share in [*shares, z]]"),
    ),
    mistake(
        "initial state left out",
        "the share of h0 is missing: the list begins with it and has one number more than there are steps.",
        "the exercise",
        gru_shares,
        ("return shares", "return shares[1:]"),
    ),
    mistake(
        "initial state kept whole",
        "the share of h0 does not fade: every step keeps only 1 - z of it.",
        "mquad/hgru4rec#11",
        gru_shares,
        ("return shares", "return [1.0, *shares[1:]]"),
    ),
    mistake(
        "last step first",
        "the shares are in the reverse order: h0 comes first, then n_1 to n_T.",
        "the exercise",
        gru_shares,
        ("return shares", "return shares[::-1]"),
    ),
)

# --- questions ------------------------------------------------------------------------------------------------------

QUESTIONS = {
    question.name: question
    for question in (
        Question(
            "scalar.convert_update_gate",
            convert_update_gate,
            (Output("w_x for r, z, n"), Output("w_h for r, z, n"), Output("b for r, z, n")),
            _convert_cases,
            CONVERT_MISTAKES,
        ),
        Question(
            "scalar.gru_shares",
            gru_shares,
            (Output("list of shares"),),
            _shares_cases,
            SHARES_MISTAKES,
        ),
    )
}
