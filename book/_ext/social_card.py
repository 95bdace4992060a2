"""The picture that stands for the course where its address is passed on: `python book/_ext/social_card.py` draws it.

It shows the first page's measurement, gradient against lag before any training, with the same style as the book.
"""

from pathlib import Path

import matplotlib
import torch

matplotlib.use("agg")
from refcells import figures
from refcells.figures import measure

CARD = Path(__file__).resolve().parents[1] / "_static" / "card.png"
LAGS = (1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)


def main() -> None:
    """Draw 1200 x 630 pixels, the size that messages show."""
    torch.set_num_threads(1)
    norms = {
        name: [
            measure.gradient_by_lag(name, torch.Generator().manual_seed(seed), lags=LAGS) for seed in range(5)
        ]
        for name in measure.INITIALISATIONS
    }
    figure = figures.gradient_by_lag(LAGS, norms)
    figure.set_layout_engine("none")
    figure.set_size_inches(12, 6.3)
    figure.patch.set(facecolor="white", alpha=1)
    for axes in figure.axes:
        axes.set_position((0.09, 0.13, 0.87, 0.6))
    figure.text(0.05, 0.885, "Learning to Remember", fontsize=34, fontweight="bold", color="#1b2530")
    figure.text(
        0.05, 0.82, "Recurrent networks from scratch: read, complete, grade", fontsize=19, color="#1b2530"
    )
    figure.savefig(CARD, dpi=100, facecolor="white", metadata={"Software": None})


if __name__ == "__main__":
    main()
