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

# %% [markdown]
# # Capstone: (your question, as the title)
#
# *Your name.*
#
# This notebook runs as it is, with a task that is too easy and too few runs to show anything. Make it yours. The page *Capstone* of the course says what is asked, and holds the rubric.
#
# **My question:** (one sentence that can come out either way)

# %%
import matplotlib.pyplot as plt
import torch
from torch import nn

from refcells.tasks import remember_first
from refcells.training import LastStepClassifier, fit, redraw

torch.set_num_threads(1)  # one thread repeats to the last bit

# %% [markdown]
# ## The task, and the trivial answer
#
# (Which task, how long, and why it needs what the question is about.)

# %%
STEPS, SYMBOLS, HIDDEN, UPDATES = 8, 8, 16, 60


def draw(batch, generator):
    """A batch of the task: inputs and targets."""
    return remember_first(batch, STEPS, SYMBOLS, generator=generator)


# Each set has a generator of its own, so none of them is a part of another.
VALIDATION = draw(500, torch.Generator().manual_seed(10_001))
TEST = draw(1000, torch.Generator().manual_seed(10_002))
TRIVIAL = 1 / SYMBOLS

# %% [markdown]
# ## The cells
#
# (Which three, and what is held equal.)

# %%
CELLS = {
    "RNN": lambda: nn.RNN(SYMBOLS, HIDDEN, batch_first=True),
    "GRU": lambda: nn.GRU(SYMBOLS, HIDDEN, batch_first=True),
}


def parameters(cell):
    """How many numbers a cell's layer has."""
    return sum(p.numel() for p in CELLS[cell]().parameters())


def run(cell, lr, seed, held_out):
    """Train one model; gives its metric on the held-out set."""
    generator = torch.Generator().manual_seed(seed)
    model = LastStepClassifier(CELLS[cell](), HIDDEN, SYMBOLS)
    redraw(model, generator)
    history = fit(model, lambda: draw(64, generator), held_out, lr=lr, updates=UPDATES, every=UPDATES)
    return history.metric[-1]


# %% [markdown]
# ## The sweep
#
# Every cell gets the same rates, and the validation set chooses.

# %%
RATES, SWEEP_SEEDS = (0.003, 0.01, 0.03), (1, 2)

sweep = {
    cell: {lr: [run(cell, lr, seed, VALIDATION) for seed in SWEEP_SEEDS] for lr in RATES} for cell in CELLS
}
best = {cell: max(rates, key=lambda lr: sum(rates[lr])) for cell, rates in sweep.items()}
for cell in CELLS:
    edge = "" if best[cell] not in (RATES[0], RATES[-1]) else "  (at the edge: widen the sweep)"
    print(f"{cell}: best rate {best[cell]}{edge}")

# %% [markdown]
# ## The runs that count
#
# New seeds, the chosen rates, and the test set for the first time.

# %%
SEEDS = (101, 102, 103)

final = {cell: [run(cell, best[cell], seed, TEST) for seed in SEEDS] for cell in CELLS}
print(f"{'':10} {'parameters':>10} {'rate':>6}   accuracy of each run")
print(f"{'trivial':10} {'':>10} {'':>6}   {TRIVIAL:.3f}")
for cell, scores in final.items():
    print(
        f"{cell:10} {parameters(cell):>10} {best[cell]:>6}   {'  '.join(f'{s:.3f}' for s in sorted(scores))}"
    )

# %%
figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
for place, scores in enumerate(final.values()):
    axes.plot([place] * len(scores), scores, "o", alpha=0.6)
axes.axhline(TRIVIAL, linestyle="--", color="grey", label="trivial answer")
axes.set_xticks(range(len(final)), list(final))
axes.set_ylabel("accuracy on the test set")
axes.legend()
plt.show()

# %% [markdown]
# ## What it shows
#
# (The answer to the question; the difference against the spread of the seeds.)
#
# ## What it does not show
#
# (At least two things.)
