"""Grading a class: every submission gets an answer, in parallel, and an interrupted run goes on where it stopped.

`repair` makes a notebook that can be graded out of what came, `work` grades one notebook in a worker, `store` is the one
writer to the gradebook, `run` brings them together.
"""

from classroom.grading.repair import Repaired, Unreadable, repair
from classroom.grading.run import grade_class, grade_each
from classroom.grading.work import Master, Result, Task, grade_one

__all__ = [
    "Master",
    "Repaired",
    "Result",
    "Task",
    "Unreadable",
    "grade_class",
    "grade_each",
    "grade_one",
    "repair",
]
