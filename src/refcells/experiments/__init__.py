"""Experiments that take minutes: run once by `make experiments`, kept as data, read and plotted by the pages.

A module of this package holds experiments and lists them in `EXPERIMENTS`. An experiment is a function of plain settings that
returns plain results, in *parts* that can be run by themselves: that is how a test reruns a sample of what is
kept.
"""

from refcells.experiments.record import Experiment, Recorded, experiments, load, run

__all__ = ["Experiment", "Recorded", "experiments", "load", "run"]
