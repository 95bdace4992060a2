"""What the course's test cells call: a comparison with the reference cell, and a message that says what is wrong.

`judge` compares a student's function with the reference of the same name. `check`, `hashed` and `show` are what the
`### AUTOTEST` directives of a notebook become. The part that judges scalars needs neither NumPy nor torch.
"""

from refcells.autotest.directives import check, hashed, kind, show
from refcells.autotest.verdict import Verdict, WrongAnswer, judge

__all__ = ["Verdict", "WrongAnswer", "check", "hashed", "judge", "kind", "show"]
