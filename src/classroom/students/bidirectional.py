"""Six students hand in the bidirectional assignment: one is right, one hands in the release, four make real mistakes."""

from classroom.students.kinds import Edit, Student, student

STUDENTS = [
    student("perfect"),
    Student("untouched", words=None, blank=True),
    student(
        "starts-in-the-padding",
        Edit(
            "bidirectional",
            "reverse",
            "turned[row, :length] = x[row, :length][::-1]",
            "turned[row] = x[row][::-1]",
        ),
        Edit(
            "torch_tagging",
            "pack",
            "packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)\n"
            "    output, h_n = layer(packed)\n"
            "    output, _ = pad_packed_sequence(output, batch_first=True, total_length=x.shape[1])\n",
            "output, h_n = layer(x)\n",
        ),
        loses=(
            "bidirectional/test-reverse",
            "bidirectional/test-forward",
            "torch_tagging/test-pack",
            "torch_tagging/test-tagger",
        ),
        words=0.5,
    ),
    student(
        "takes-the-last-output",
        Edit(
            "bidirectional",
            "last",
            "output[:, 0, hidden:]",
            "output[np.arange(len(output)), lengths - 1, hidden:]",
        ),
        Edit("torch_tagging", "states", "torch.cat([h_n[-2], h_n[-1]], dim=1)", "output[:, -1]"),
        loses=("bidirectional/test-last", "torch_tagging/test-summary"),
        words=0.25,
    ),
    student(
        "does-not-put-back",
        Edit("bidirectional", "forward", "[there, reverse(back, lengths)]", "[there, back]"),
        Edit(
            "torch_tagging",
            "pack",
            "packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)",
            "order = torch.argsort(lengths, descending=True, stable=True)\n"
            "    packed = pack_padded_sequence(x[order], lengths[order], batch_first=True)",
        ),
        loses=(
            "bidirectional/test-forward",
            "torch_tagging/test-pack",
            "torch_tagging/test-tagger",
            # Trained on scores that belong to other sequences, it learns next to nothing.
            "torch_tagging/test-train",
        ),
        words=0.75,
    ),
    student(
        "counts-the-padding",
        Edit(
            "torch_tagging",
            "mask",
            "nn.functional.cross_entropy(scores[mask], y[mask])",
            "nn.functional.cross_entropy(scores.flatten(0, 1), y.flatten())",
        ),
        Edit("torch_tagging", "mask", "right[mask]", "right"),
        loses=("torch_tagging/test-loss", "torch_tagging/test-accuracy"),
        words=None,
    ),
]

FEEDBACK = [
    ("starts-in-the-padding", "bidirectional", "the backward direction would start in the padding"),
    ("starts-in-the-padding", "torch_tagging", "the layer reads the padded batch as it is"),
    ("takes-the-last-output", "bidirectional", "both halves are taken at each sequence's last step"),
    ("takes-the-last-output", "torch_tagging", "output[:, -1] is taken"),
    ("does-not-put-back", "bidirectional", "are not put back in the order of time"),
    ("does-not-put-back", "torch_tagging", "the batch was sorted by length and not put back"),
    ("counts-the-padding", "torch_tagging", "the mask is not used"),
]
