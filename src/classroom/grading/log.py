"""What a grader and its workers do, step by step: records of the logger 'classroom.grading'.

With the environment variable COURSE_LOG each process of this machine appends its steps to that file, a line each: when, the
process, the step, what it is about. A step is logged before it is done, so the last line of a process that was killed says
what it was at.
"""

import logging
import os

__all__ = ["LOG", "step"]

LOG = "COURSE_LOG"

_logger = logging.getLogger("classroom.grading")

if _path := os.environ.get(LOG):
    _handler = logging.FileHandler(_path, encoding="utf-8")
    _handler.setFormatter(logging.Formatter("%(created).4f\t%(process)d\t%(message)s"))
    _logger.addHandler(_handler)
    _logger.setLevel(logging.INFO)
    _logger.propagate = False


def step(name: str, about: str = "") -> None:
    """Log what is done next.

    Args:
        name: the step.
        about: a student, a notebook, a cell.
    """
    _logger.info("%s\t%s", name, about)
