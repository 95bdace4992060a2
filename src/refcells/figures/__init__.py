"""Every diagram and plot in the book, each a function that returns a matplotlib figure.

The figures are drawn from the course's own cells, in one style (`refcells.figures.style`). What a plot shows
is measured by `refcells.figures.measure` and handed over as data, so that a page can quote the same numbers.
"""

from refcells.figures.bidirectional import confusions, recall_by_tag, reversals, two_directions, which_state
from refcells.figures.bptt import (
    clipping_runs,
    clipping_surface,
    difference_error,
    jacobian_chain,
    rnn_gradient_by_lag,
    transient_growth,
    truncated_windows,
    two_paths,
    unrolled_gradients,
)
from refcells.figures.choosing import (
    chain_and_attention,
    cost_by_length,
    forecast_errors,
    step_cost,
    timeline,
)
from refcells.figures.curves import content_times_control, gate_curves, kept_share, without_forget_gate
from refcells.figures.diagrams import lstm_cell, rnn_cell, two_states
from refcells.figures.grading import class_growth, grading_rates, more_workers
from refcells.figures.gru import (
    blend_against_full,
    blended_paths,
    dynamic_gates,
    gradient_of_all_cells,
    gru_cell,
    sweep_map,
    three_cells,
)
from refcells.figures.plots import direct_against_full, gate_heatmap, gradient_by_lag
from refcells.figures.practice import dropout_masks, padded_batches, training_curves, tuning_grid
from refcells.figures.remember import accuracy_by_length, rates_by_length
from refcells.figures.rnn import (
    echoes,
    loss_by_context,
    rnn_unrolled,
    sequence_tasks,
    text_heatmap,
    three_readers,
)
from refcells.figures.style import CourseFigure

__all__ = [
    "CourseFigure",
    "accuracy_by_length",
    "blend_against_full",
    "blended_paths",
    "chain_and_attention",
    "class_growth",
    "clipping_runs",
    "clipping_surface",
    "confusions",
    "content_times_control",
    "cost_by_length",
    "difference_error",
    "direct_against_full",
    "dropout_masks",
    "dynamic_gates",
    "echoes",
    "forecast_errors",
    "gate_curves",
    "gate_heatmap",
    "gradient_by_lag",
    "gradient_of_all_cells",
    "grading_rates",
    "gru_cell",
    "jacobian_chain",
    "kept_share",
    "loss_by_context",
    "lstm_cell",
    "more_workers",
    "padded_batches",
    "rates_by_length",
    "recall_by_tag",
    "reversals",
    "rnn_cell",
    "rnn_gradient_by_lag",
    "rnn_unrolled",
    "sequence_tasks",
    "step_cost",
    "sweep_map",
    "text_heatmap",
    "three_cells",
    "three_readers",
    "timeline",
    "training_curves",
    "transient_growth",
    "truncated_windows",
    "tuning_grid",
    "two_directions",
    "two_paths",
    "two_states",
    "unrolled_gradients",
    "which_state",
    "without_forget_gate",
]
